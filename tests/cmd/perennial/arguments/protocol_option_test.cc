// Durations in the options of the protocol are written as everywhere in the tool.

#include "cmd/perennial/arguments/protocol_option.h"

#include <string>

#include <gtest/gtest.h>

namespace perennial::tool {
namespace {

TEST(ProtocolOption, DurationsAreSecondsOrMilliseconds) {
  struct Case {
    std::string name;
    std::string text;
    std::string want;
  };
  const Case cases[] = {{"delay", "10", "10"},
                        {"delay", "10s", "10"},
                        {"delay", "0.5", "500ms"},
                        {"ttr", "250ms", "250ms"},
                        {"expire", "1h30m", "5400"},
                        {"expire", "-", "-"},
                        {"expire", "1w", "1w"},
                        {"backoff", "10s:10m", "10:600"},
                        {"backoff", "10:", "10:"},
                        {"rate", "10:1s", "10:1"},
                        {"rate", "1m:1m", "1m:60"},
                        {"idp", "1h:1h", "1h:3600"},
                        {"idp", "k:250ms", "k:250ms"},
                        {"tries", "5s", "5s"},
                        {"match", "age=1h-2h,pri=1-2", "age=3600-7200,pri=1-2"},
                        {"match", "reserves=3-,age=-1d", "reserves=3-,age=-86400"},
                        {"match", "age=250ms-", "age=250ms-"},
                        {"match", "age=60", "age=60"},
                        {"match", "", ""},
                        {"match", "age=1h-,", "age=3600-,"}};
  for (const Case& each : cases)
    EXPECT_EQ(protocol_value(each.name, each.text), each.want) << each.name << " " << each.text;
}

}  // namespace
}  // namespace perennial::tool
