#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/perenniald/http/api/commands.h"
#include "tests/cmd/perenniald/http/port.h"

// Puts whose body is not one JSON document: jobs in lines, and the bytes of one job.
namespace perennial::http {
namespace {

using nlohmann::json;

class Puts : public Port {
 protected:
  Got put(const std::string& type, const std::string& body, const std::string& query = "",
          const std::string& fields = "") {
    return got(
        fmt::format("POST /api/v1/jobs{} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {}\r\n"
                    "{}Content-Length: {}\r\n\r\n{}",
                    query, type, fields, body.size(), body));
  }
  Got lines(const std::string& body, const std::string& fields = "") {
    return put("application/x-ndjson", body, "", fields);
  }
  Got bytes(const std::string& body, const std::string& query = "") {
    return put("application/octet-stream", body, query);
  }
};

// Core says only that there is no space: which limit is named follows from what is shown to be
// reached. The limits themselves are those of core's tests.
TEST_F(Puts, WithoutSpaceNameTheLimitThatIsReached) {
  harness_.set_accepts_puts(false);
  const auto limit = [this](const std::string& body) {
    const Got refused = lines(body);
    EXPECT_EQ(refused.status, 503U);
    return refused.json().value("limit", "");
  };
  const std::string one = "{\"body\":\"a\"}\n";
  EXPECT_EQ(limit(one), "") << "it is another one";
  limits_.tubes_max = 1;
  EXPECT_EQ(limit(one), "tubes_max");
  limits_.keys_max = 1;
  EXPECT_EQ(limit(one), "tubes_max") << "no key is held";
  limits_.memory_bytes_max = 1'000;
  EXPECT_EQ(limit(one), "memory_bytes_max");
  limits_.jobs_max = 1;
  EXPECT_EQ(limit(one), "memory_bytes_max") << "there is a place for one";
  EXPECT_EQ(limit(one + one), "jobs_max");
  const Got refused = bytes("a", "?tube=mail");
  EXPECT_EQ(refused.json()["limit"], "memory_bytes_max");
  EXPECT_THAT(refused.json()["detail"].get<std::string>(), testing::HasSubstr("1000 bytes"));
  accepts_puts_ = false;
  EXPECT_EQ(limit(one + one), "low_water_bytes");
}

TEST_F(Puts, InLinesAreWholeOrNothing) {
  const std::string good = "{\"body\":\"a\",\"tube\":\"mail\"}\r\n\n{\"body\":\"b\",\"tries\":3}\n";
  const Got made = lines(good);
  EXPECT_EQ(made.status, 201U);
  ASSERT_EQ(made.json()["jobs"].size(), 2U);
  EXPECT_EQ(get_from("/api/v1/jobs/1").json()["tube"], "mail");
  EXPECT_EQ(get_from("/api/v1/jobs/2").json()["tries"], 3);
  EXPECT_EQ(lines("{\"body\":\"a\"}").status, 201U);  // Without an end of the line.
  for (const std::string bad : {"", "\n\n", "[]", "{\"body\":\"a\"}{\"body\":\"b\"}", "{\"body\"",
                                "{\"body\":\"a\",\"tries\":0}", "{\"bodies\":\"a\"}", "7"}) {
    EXPECT_EQ(lines(good + bad).status == 201U, bad.empty() || bad == "\n\n") << bad;
  }
  EXPECT_EQ(lines("").status, 400U);
  EXPECT_EQ(lines("{\"body\":\"a\"}\n{").json()["detail"], "Line 2 is no JSON object in UTF-8.");
  std::string many;
  for (size_t i = 0; i < batch_count_max; ++i) many += "{\"body\":\"a\"}\n";
  EXPECT_EQ(lines(many).status, 201U);
  EXPECT_EQ(lines(many + "{\"body\":\"a\"}").status, 400U);
}

TEST_F(Puts, InLinesThatAreSentAgainPutNothing) {
  const std::string key = "Idempotency-Key: order-7\r\n";
  const std::string two = "{\"body\":\"a\"}\n{\"body\":\"b\"}\n";
  EXPECT_EQ(lines(two, key).status, 201U);
  const Got again = lines(two, key);
  EXPECT_EQ(again.status, 200U);
  EXPECT_EQ(again.json()["jobs"][1], (json{{"id", "2"}, {"duplicate", true}}));
  EXPECT_EQ(lines(two, "Idempotency-Key:\r\n").json()["detail"],
            "Job 0 of the lines: Idempotency-Key must have the form of a tube's name.");
}

TEST_F(Puts, OfBytesHaveTheirOptionsInTheQuery) {
  const std::string body("\0\xff\r\n[", 5);
  EXPECT_EQ(bytes(body, "?tube=mail&priority=7&ttr_seconds=1.5&key=5&tries=3").json(),
            (json{{"id", "1"}, {"duplicate", false}}));
  const json job = get_from("/api/v1/jobs/1").json();
  EXPECT_EQ(job["tube"], "mail");
  EXPECT_EQ(job["priority"], 7);
  EXPECT_EQ(job["ttr_seconds"], 1.5);
  EXPECT_EQ(job["key"], "5");
  EXPECT_EQ(job["tries"], 3);
  EXPECT_EQ(get_from("/api/v1/jobs/1/body").body, body);
  EXPECT_EQ(bytes("").status, 201U);
}

// The queue would answer BAD_FORMAT, and take what follows for commands.
TEST_F(Puts, WithATtrThatTheQueueRefusesAreRefused) {
  for (const std::string ttr : {"0.0005", "0.001", "0.009"}) {
    EXPECT_EQ(change("POST", "/api/v1/jobs", R"({"body":"a","ttr_seconds":)" + ttr + "}").status,
              400U)
        << ttr;
    EXPECT_EQ(bytes("a", "?ttr_seconds=" + ttr).status, 400U) << ttr;
    EXPECT_EQ(lines(R"({"body":"a","ttr_seconds":)" + ttr + "}").status, 400U) << ttr;
  }
  EXPECT_EQ(bytes("a", "?ttr_seconds=0.01").status, 201U);
  EXPECT_EQ(bytes("a", "?ttr_seconds=0").status, 201U);
}

// The queue answers such a put with BAD_FORMAT, and then what follows, each with an answer of its
// own.
TEST_F(Puts, ThatTheQueueCannotReadAreAnswered) {
  Put put{.priority = 1, .delay_s = 0, .ttr_s = 0, .body_bytes = 1};
  PutOptions options;
  options.ttr_rest_ns = 1'000'000;
  put.options = options;
  std::vector<QueueCommand> commands;
  commands.push_back({put, "x"});
  size_t replies = 0;
  const std::unique_ptr<Answer> answer = make_command_answer(
      queue_, {.rights = rights_}, std::move(commands), [&](const QueueReplies& all) {
        replies = all.size();
        return refusal_of(all.front());
      });
  answer->wake = [] {};
  EXPECT_EQ(answer->step(), Answer::Step::Waits);
  harness_.pump();
  ASSERT_EQ(answer->step(), Answer::Step::Whole);
  EXPECT_EQ(answer->take().status, Status::BadRequest);
  EXPECT_EQ(replies, 1U);
}

TEST_F(Puts, OfBytesRefuseWhatIsNoOption) {
  for (const std::string query :
       {"priority=a", "priority=-1", "priority=", "tries=0", "tube=a%20b", "ttr_seconds=1e99",
        "priority=1&priority=2", "priority=[1]", "body=a", "count=1", "tube=%zz"}) {
    EXPECT_EQ(bytes("a", "?" + query).status, 400U) << query;
  }
  EXPECT_EQ(put("application/json", "{\"body\":\"a\"}", "?priority=7").status, 400U);
  EXPECT_EQ(put("text/plain", "{\"body\":\"a\"}").status, 415U);
}

}  // namespace
}  // namespace perennial::http
