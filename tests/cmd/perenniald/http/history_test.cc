#include "cmd/perenniald/http/api/history.h"

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cmd/perenniald/http/port.h"

namespace perennial::http {
namespace {

constexpr Nanos second = nanos_per_second;

nlohmann::json part_of(const History& history, uint64_t span, Nanos now) {
  HistoryText text(history.server().part(span, now).value());
  while (!text.step()) {
  }
  return nlohmann::json::parse(text.take());
}

class HistoryTest : public Port {
 protected:
  void go_on(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      harness_.advance(second);
      api_.on_time();
    }
  }
  nlohmann::json history(const std::string& query) {
    return get_from("/api/v1/history?" + query).json();
  }
};

TEST_F(HistoryTest, HasCountsAndRates) {
  go_on(1);
  const ConnId conn = harness_.open();
  for (int i = 0; i < 3; ++i) harness_.send(conn, "put 0 0 60 1\r\na\r\n");
  go_on(1);
  harness_.send(conn, "delete 1\r\n");
  go_on(1);
  const nlohmann::json found = history("span=600");
  EXPECT_EQ(found["step_seconds"], 1.0);
  EXPECT_EQ(found["series"]["ready"], (nlohmann::json{3.0, 2.0}));
  EXPECT_EQ(found["series"]["puts"], (nlohmann::json{3.0, 0.0}));
  EXPECT_EQ(found["series"]["deletes"], (nlohmann::json{0.0, 1.0}));
  harness_.advance(second / 4);
  EXPECT_DOUBLE_EQ(history("span=600")["ends_seconds_ago"], 0.25);
}

// The oldest values make way, and coarser ones stay.
TEST_F(HistoryTest, IsBounded) {
  speak("use mail\r\nput 0 0 60 1\r\na\r\n");
  go_on(1'000);
  speak("use mail\r\nput 0 0 60 1\r\na\r\n");
  go_on(1);
  const nlohmann::json ready = history("span=600")["series"]["ready"];
  EXPECT_EQ(ready.size(), 600u);
  EXPECT_EQ(ready[0], 1.0);
  EXPECT_EQ(ready[599], 2.0);
  EXPECT_EQ(history("span=7200")["series"]["ready"].size(), 100u);
  EXPECT_EQ(history("span=86400")["series"]["ready"].size(), 100u);
  EXPECT_EQ(history("span=2592000")["series"]["ready"].size(), 1u);
  EXPECT_GE(history("series=tube:mail&span=3600")["series"]["ready"].size(), 95u);
}

TEST_F(HistoryTest, OfATubeIsForgottenAfterAnHour) {
  speak("use mail\r\nput 0 0 60 1\r\na\r\n");
  go_on(20);
  speak("delete 1\r\n");
  go_on(3'000);
  EXPECT_EQ(get_from("/api/v1/history?series=tube:mail&span=3600").status, 200u);
  go_on(700);
  EXPECT_EQ(get_from("/api/v1/history?series=tube:mail&span=3600").status, 404u);
}

TEST_F(HistoryTest, RemembersTubesThatAreGoneForAnHour) {
  const auto tubes = [&](const std::string& query) {
    return get_from("/api/v1/tubes?" + query).json();
  };
  speak("use mail\r\nput 0 0 60 1\r\na\r\nuse other\r\nput 0 0 60 1\r\na\r\n");
  go_on(5);
  speak("delete 1\r\n");
  harness_.advance(30 * second);
  EXPECT_EQ(tubes("match=mail")["matched"], 0);
  const nlohmann::json found = tubes("gone=yes&sort=ready&order=asc");
  EXPECT_EQ(found["total"], 2);  // And default.
  EXPECT_EQ(found["matched"], 3);
  EXPECT_EQ(found["gone"], 1);
  const nlohmann::json& last_of_none = found["tubes"][1];  // Behind default, which has as many.
  EXPECT_EQ(last_of_none["name"], "mail");
  EXPECT_DOUBLE_EQ(last_of_none["gone_seconds"].get<double>(), 30);
  EXPECT_EQ(last_of_none["puts"], 0);
  EXPECT_FALSE(found["tubes"][0].contains("gone_seconds"));
  EXPECT_EQ(tubes("gone=yes&match=m*")["gone"], 1);
  EXPECT_EQ(tubes("gone=yes&match=x*")["gone"], 0);
  speak("use mail\r\nput 0 0 60 1\r\na\r\n");
  EXPECT_EQ(tubes("gone=yes")["gone"], 0);
  go_on(1);
  speak("delete 3\r\n");
  go_on(3'590);
  EXPECT_EQ(tubes("gone=yes")["gone"], 1);
  go_on(60);
  EXPECT_EQ(tubes("gone=yes")["gone"], 0);
  EXPECT_EQ(get_from("/api/v1/tubes?gone=perhaps").status, 400u);
}

TEST_F(HistoryTest, KnowsTheOldestReadyJobOfAllTubes) {
  const auto oldest = [&] {
    return get_from("/api/v1/server").json()["oldest_ready_seconds"].get<double>();
  };
  go_on(1);
  EXPECT_DOUBLE_EQ(oldest(), 0);
  speak("use mail\r\nput 0 0 60 1\r\na\r\n");
  harness_.advance(5 * second);
  for (int i = 0; i < 2'500; ++i) speak(fmt::format("use t{}\r\nput 0 0 60 1\r\na\r\n", i));
  go_on(4);  // All tubes are looked at.
  EXPECT_DOUBLE_EQ(oldest(), 9);
  harness_.advance(second / 2);
  EXPECT_DOUBLE_EQ(oldest(), 9.5);
  speak("delete 1\r\n");
  go_on(6);
  EXPECT_DOUBLE_EQ(oldest(), 10.5);  // Of the others.
}

// The job that is next is young, and the delay of the oldest does not count. One number everywhere.
TEST_F(HistoryTest, TheOldestReadyJobIsTheSameEverywhere) {
  speak("use mail\r\nput 4000 100 60 1\r\na\r\n");
  go_on(100);
  harness_.advance(1'440 * second);
  speak("use mail\r\nput 0 0 60 1\r\na\r\n");
  go_on(2);
  const double age = 1'442;
  EXPECT_THAT(speak("stats-tube mail\r\n"), testing::HasSubstr("next-ready-age: 1442\n"));
  EXPECT_DOUBLE_EQ(get_from("/api/v1/tubes/mail").json()["oldest_ready_seconds"], age);
  EXPECT_DOUBLE_EQ(get_from("/api/v1/tubes").json()["tubes"][1]["oldest_ready_seconds"], age);
  EXPECT_DOUBLE_EQ(get_from("/api/v1/server").json()["oldest_ready_seconds"], age);
}

TEST_F(HistoryTest, IsThatOfAThousandTubes) {
  History history;
  for (int i = 0; i < 1'500; ++i) speak(fmt::format("use t{}\r\nput 0 0 60 1\r\na\r\n", i));
  for (int i = 0; i < 20; ++i) {
    history.on_second(harness_.core().engine().view(), harness_.now() + i * second);
  }
  EXPECT_EQ(history.tubes(), History::tubes_max);
}

// Who asks for the first time is told what else there is to ask for.
TEST_F(HistoryTest, NamesItsSpans) {
  speak("use mail\r\nput 0 0 60 1\r\na\r\n");
  go_on(20);
  std::set<uint64_t> all;
  for (const std::string series : {"server", "tube:mail"}) {
    const nlohmann::json shortest = history("series=" + series);
    const std::vector<uint64_t> spans = shortest["spans_seconds"];
    ASSERT_GE(spans.size(), 2u) << series;
    EXPECT_EQ(shortest["span_seconds"], spans.front()) << series;
    for (const uint64_t span : spans) {
      const nlohmann::json found = history(fmt::format("series={}&span={}", series, span));
      EXPECT_EQ(found["span_seconds"], span) << series;
      EXPECT_EQ(found["spans_seconds"], spans) << series;
      for (const char* state : {"ready", "reserved", "delayed", "buried"})
        EXPECT_TRUE(found["series"].contains(state)) << series << ' ' << state;
      all.insert(span);
    }
  }
  const nlohmann::json parameters =
      get_from("/api/v1/openapi.json").json()["paths"]["/api/v1/history"]["get"]["parameters"];
  EXPECT_EQ(parameters[1]["schema"]["enum"].get<std::set<uint64_t>>(), all);
}

// ---- Over a restart.

TEST_F(HistoryTest, IsTheSameInAnotherRun) {
  speak("use mail\r\nput 0 0 60 1\r\na\r\n");
  go_on(601);
  const nlohmann::json before = history("span=7200")["series"];
  const auto saved = parse_history(text_of(api_.saved_history()));
  ASSERT_TRUE(saved);
  harness_.advance(35 * second);
  History again;
  again.restore_server(*saved, harness_.now());
  again.on_second(harness_.core().engine().view(), harness_.now());
  const nlohmann::json after = part_of(again, 7'200, harness_.now());
  for (const auto& [name, values] : after["series"].items()) {
    ASSERT_EQ(values.size(), 60U + 3U) << name;  // And the half minute without a server.
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(values[i], i < 60 ? before[name][i] : nlohmann::json()) << name << ' ' << i;
    }
  }
  EXPECT_EQ(after["ends_seconds_ago"], 0.0);
  EXPECT_TRUE(part_of(again, 600, harness_.now())["series"]["ready"].empty());
  // It goes on behind them.
  for (int i = 1; i <= 10; ++i) {
    again.on_second(harness_.core().engine().view(), harness_.now() + i * second);
  }
  EXPECT_EQ(part_of(again, 7'200, harness_.now())["series"]["ready"].back(), 1.0);
}

TEST_F(HistoryTest, HasNothingOfARunThatIsTooLongAgo) {
  go_on(601);
  const SavedHistory saved = api_.saved_history();
  for (const Nanos gone : {86'400 * second, INT64_MAX / 2}) {
    History again;
    again.restore_server(saved, harness_.now() + gone);
    EXPECT_TRUE(part_of(again, 7'200, 0)["series"]["ready"].empty()) << gone;
    EXPECT_TRUE(part_of(again, 86'400, 0)["series"]["ready"].empty()) << gone;
  }
  // The day has it still, of which two hours are the end.
  History late;
  late.restore_server(saved, harness_.now() + 7'200 * second);
  EXPECT_EQ(part_of(late, 7'200, 0)["series"]["ready"],
            nlohmann::json(std::vector<nlohmann::json>(720)));
  EXPECT_EQ(part_of(late, 86'400, 0)["series"]["ready"].size(), 780U);
  // A clock that was set back makes no gap, and is no damage.
  History again;
  again.restore_server(saved, harness_.now() - 86'400 * second);
  EXPECT_EQ(part_of(again, 7'200, 0)["series"]["ready"].size(), 60U);
}

TEST_F(HistoryTest, NeverHasMoreThanItKeeps) {
  SavedHistory saved = {{.step = 10 * second, .last_at = harness_.now(), .columns = {}}};
  saved[0].columns["ready"] = std::vector<float>(5'000, 7);
  saved[0].columns["of_another_version"] = {1};
  History again;
  again.restore_server(saved, harness_.now() + 100 * second);
  const nlohmann::json ready = part_of(again, 7'200, harness_.now())["series"]["ready"];
  ASSERT_EQ(ready.size(), 720U);
  EXPECT_EQ(ready[709], 7.0);
  EXPECT_EQ(ready[710], nlohmann::json());
}

// What a power cut, or a person, has left of the file.
TEST(SavedHistory, IsWholeOrNone) {
  const SavedHistory history = {
      {.step = second, .last_at = 5, .columns = {{"ready", {1, 2.5}}, {"puts", {0, 3}}}}};
  const std::string text = text_of(history);
  const auto parsed = parse_history(text);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->at(0).columns, history[0].columns);
  EXPECT_EQ(parsed->at(0).last_at, 5);
  for (size_t bytes = 0; bytes + 1 < text.size(); ++bytes) {
    EXPECT_FALSE(parse_history(text.substr(0, bytes))) << bytes;
  }
  for (const std::string wrong :
       {"[]", R"({"spans":7})", R"({"spans":[7]})", R"({"spans":[{}]})",
        R"({"spans":[{"step_ns":1,"last_at_ns":1,"series":[]}]})",
        R"({"spans":[{"step_ns":1,"last_at_ns":1,"series":{"ready":["x"]}}]})",
        R"({"spans":[{"step_ns":"1","last_at_ns":1,"series":{}}]})",
        R"({"spans":[{"step_ns":1,"last_at_ns":-9223372036854775808,"series":{}}]})",
        R"({"spans":[{"step_ns":1,"last_at_ns":18446744073709551615,"series":{}}]})"}) {
    EXPECT_FALSE(parse_history(wrong)) << wrong;
  }
}

TEST_F(HistoryTest, RefusesWhatItDoesNotHave) {
  speak("use mail\r\nput 0 0 60 1\r\na\r\n");
  go_on(1);
  const Got wrong = get_from("/api/v1/history?series=tube:mail&span=600");
  EXPECT_EQ(wrong.status, 404u);
  EXPECT_THAT(wrong.json()["detail"].get<std::string>(), testing::HasSubstr("3600, 86400"));
  EXPECT_EQ(get_from("/api/v1/history?series=tube:other").status, 404u);
  EXPECT_EQ(get_from("/api/v1/history?span=5").status, 404u);
  EXPECT_EQ(get_from("/api/v1/history?series=job:1").status, 400u);
  EXPECT_EQ(get_from("/api/v1/history?span=x").status, 400u);
}

}  // namespace
}  // namespace perennial::http
