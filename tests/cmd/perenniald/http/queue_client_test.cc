#include "cmd/perenniald/http/queue_client.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cmd/perenniald/http/port.h"

// What the parts of the server send to the queue, if one of them should forget to check a name.
namespace perennial::http {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class QueueClientTest : public Port {
 protected:
  // The answers to a command, and to one behind it, which shows that nothing else was read.
  std::vector<std::string> answers(const Command& command, const std::string& body = "") {
    const std::unique_ptr<QueueClient> client = queue_.open(rights_, [] {});
    client->send(command, body);
    client->send(ListTubeUsed{});
    harness_.pump();
    std::vector<std::string> answers;
    while (const std::optional<wire::ClientReply> reply = client->take()) {
      answers.push_back(wire::describe(*reply));
    }
    return answers;
  }
};

Put put_into(const std::string& tube, const std::string& body) {
  Put put = {.priority = 0, .delay_s = 0, .ttr_s = 9, .body_bytes = 0};
  put.body_bytes = static_cast<uint32_t>(body.size());
  put.options = PutOptions{.tube = tube};
  return put;
}

TEST_F(QueueClientTest, SendsNoBodyBehindALineThatIsRefused) {
  ASSERT_THAT(speak("put 5 0 9 1\r\na\r\n"), HasSubstr("INSERTED 1"));
  const std::string body = "delete 1\r\nput 0 0 9 1\r\nb";
  const std::string item = "0 0 9 1\r\nb";
  const std::vector<std::string> names = {
      "a b",    "a\r\ndelete 1",          "a\r\nuse b", std::string("a\0", 2),
      "a\x01b", std::string(40'000, 'a'), "-"};
  for (const std::string& name : names) {
    const auto is_refused = ElementsAre("BAD_FORMAT", "USING default");
    EXPECT_THAT(answers(put_into(name, body), body), is_refused) << name;
    EXPECT_THAT(answers(PutBatch{.count = {1},
                                 .bytes = static_cast<uint32_t>(item.size()),
                                 .tube = name,
                                 .items = {}},
                        item),
                is_refused)
        << name;
    EXPECT_THAT(answers(Watch{.tube = name}), is_refused) << name;
    EXPECT_THAT(answers(Use{.tube = name}), is_refused) << name;
    EXPECT_THAT(answers(SetJob{.id = 1, .tube = name}), is_refused) << name;
    EXPECT_THAT(answers(FlushTube{.tube = name}), is_refused) << name;
  }
  EXPECT_THAT(speak("stats\r\n"), HasSubstr("current-jobs-ready: 1\n"));
  EXPECT_THAT(speak("peek 1\r\n"), HasSubstr("FOUND 1 1\r\na"));
}

TEST_F(QueueClientTest, SendsWhatIsOneCommand) {
  const std::string body = "delete 1\r\nput 0 0 9 1\r\nb";
  EXPECT_THAT(answers(put_into("mail", body), body), ElementsAre("INSERTED 1", "USING default"));
  EXPECT_THAT(answers(FlushTube{.tube = "mail"}), ElementsAre("FLUSHED 1", "USING default"));
}

}  // namespace
}  // namespace perennial::http
