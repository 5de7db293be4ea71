#include "cmd/perenniald/http/api/body_text.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cmd/common/base64.h"

namespace perennial::http {
namespace {

struct Made {
  nlohmann::json object;
  int parts = 1;
};

Made made_of(const std::string& body, size_t bytes) {
  BodyText text(body);
  std::string out = "{";
  Made made;
  while (!text.add_some(bytes, out)) ++made.parts;
  made.object = nlohmann::json::parse(out + "}");
  return made;
}

TEST(BodyText, OfASmallBodyIsMadeAtOnce) {
  for (const std::string body : {"", "x", "a \"quoted\" line\n", "hä"}) {
    const Made made = made_of(body, 64);
    EXPECT_EQ(made.object, nlohmann::json({{"body", body}}));
    EXPECT_EQ(made.parts, 1) << body;
  }
  EXPECT_EQ(made_of("\xff", 64).object, nlohmann::json({{"body_base64", "/w=="}}));
}

// The parts are as small as may be, so that characters of each length lie on their ends.
TEST(BodyText, IsTheSameInParts) {
  std::mt19937_64 random(1);
  const std::vector<std::string> characters = {"a", "\"", "\\", "\n", std::string(1, '\0'),
                                               "ä", "€",  "😀"};
  for (int round = 0; round < 300; ++round) {
    std::string body;
    for (size_t left = random() % 200; left > 0; --left)
      body += characters[random() % characters.size()];
    const bool is_damaged = round % 3 == 0 && !body.empty();
    if (is_damaged) body[random() % body.size()] = '\xff';
    const Made made = made_of(body, 16 + random() % 20);
    if (is_damaged) {
      EXPECT_EQ(made.object, nlohmann::json({{"body_base64", common::to_base64(body)}}));
    } else {
      EXPECT_EQ(made.object, nlohmann::json({{"body", body}}));
    }
    EXPECT_GE(made.parts, static_cast<int>(body.size() / 36));
  }
}

// Cut within, each of them would be two texts that are valid, or none.
TEST(BodyText, IsNoTextWhereACharacterIsNotWhole) {
  for (const std::string end :
       {"\xf0", "\xf0\x9f", "\xf0\x9f\x98", "\x80", "\x80\x80\x80\x80\x80"}) {
    for (size_t before = 0; before < 40; ++before) {
      const std::string body = std::string(before, 'x') + end;
      EXPECT_EQ(made_of(body + "yyyy", 16).object.count("body_base64"), 1u) << before;
      EXPECT_EQ(made_of(body, 16).object.count("body_base64"), 1u) << before;
    }
  }
}

}  // namespace
}  // namespace perennial::http
