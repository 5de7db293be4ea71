// Schedules over HTTP, with a calendar that is not the system's: what is set, shown and refused. It
// is blind to real time zones, and to what a server on a disk has after a restart.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cmd/perenniald/http/port.h"

namespace perennial::http {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class SchedulesApi : public Port {
 protected:
  Got put(const std::string& name, const std::string& body) {
    return change("PUT", "/api/v1/schedules/" + name, body);
  }
};

TEST_F(SchedulesApi, AreSetAndShownAsTheyWereSet) {
  const std::string body =
      R"({"tube":"mail","body":"hello","cron":"30 2 * * 1-5","zone":"Europe/Berlin","priority":5,)"
      R"("delay_seconds":1.5,"ttr_seconds":30,"tries":3,"backoff":"5:600","dead":"failed",)"
      R"("expire_seconds":90,"key":"k","key_seconds":9,"key_until":"ttl","concurrency":"c:2",)"
      R"("missed":"7","overlap":"skip","jitter_seconds":300,"paused":true})";
  const Got set = put("nightly", body);
  EXPECT_EQ(set.status, 201U) << set.body;
  const json seen = get_from("/api/v1/schedules/nightly").json();
  const json wanted = json::parse(body);
  for (const auto& [name, value] : wanted.items()) {
    EXPECT_EQ(seen[name], value) << name;
  }
  EXPECT_EQ(seen["bytes"], 5);
  EXPECT_EQ(seen["state"], "paused");
  EXPECT_EQ(seen["at"], nullptr);
  EXPECT_EQ(seen["may"]["manage"], true);
  // What is shown can be set again, without what only says how far it is.
  json again = json::object();
  for (const auto& [name, value] : wanted.items()) again[name] = seen[name];
  EXPECT_EQ(put("nightly", again.dump()).status, 200U);
  EXPECT_EQ(get_from("/api/v1/schedules/nightly").json(), seen);
}

TEST_F(SchedulesApi, ShowHowFarTheyAre) {
  EXPECT_EQ(put("s", R"({"body_base64":"/w==","every_seconds":10})").status, 201U);
  harness_.advance(10 * nanos_per_second);
  const json seen = get_from("/api/v1/schedules/s").json();
  EXPECT_EQ(seen["fired"], 1);
  EXPECT_EQ(seen["last_job"], "1");
  EXPECT_EQ(seen["last_job_state"], "ready");
  EXPECT_EQ(seen["body_base64"], "/w==");
  EXPECT_FALSE(seen.contains("body"));
  EXPECT_EQ(speak("peek 1\r\n"), "FOUND 1 1\r\n\xff\r\n");
  speak("delete 1\r\n");
  EXPECT_EQ(get_from("/api/v1/schedules/s").json()["last_job_state"], nullptr);
}

TEST_F(SchedulesApi, ArePausedRunAndDeleted) {
  put("s", R"({"body":"x","every_seconds":10,"overlap":"skip"})");
  EXPECT_EQ(change("POST", "/api/v1/schedules/s/pause", R"({"paused":true})").json()["paused"],
            true);
  EXPECT_EQ(get_from("/api/v1/schedules/s").json()["state"], "paused");
  EXPECT_EQ(change("POST", "/api/v1/schedules/s/pause", R"({"paused":false})").json()["paused"],
            false);
  EXPECT_EQ(change("POST", "/api/v1/schedules/s/pause", "{}").status, 400U);
  const Got run = change("POST", "/api/v1/schedules/s/run", "{}");
  EXPECT_EQ(run.status, 201U);
  EXPECT_EQ(run.json(), json::parse(R"({"id":"1","duplicate":false})"));
  const Got again = change("POST", "/api/v1/schedules/s/run", "{}");
  EXPECT_EQ(again.status, 200U);
  EXPECT_EQ(again.json(), json::parse(R"({"id":"1","duplicate":true})"));
  EXPECT_EQ(change("DELETE", "/api/v1/schedules/s").json()["deleted"], true);
  for (const char* const method : {"GET", "DELETE"}) {
    EXPECT_EQ(change(method, "/api/v1/schedules/s").status, 404U);
  }
  EXPECT_EQ(change("POST", "/api/v1/schedules/s/run", "{}").status, 404U);
}

TEST_F(SchedulesApi, AreListedInPages) {
  for (const char* const name : {"c", "a", "b"}) {
    put(name, std::string(R"({"body":"x","every_seconds":10,"tube":")") + name + "\"}");
  }
  const json first = get_from("/api/v1/schedules?limit=2").json();
  EXPECT_EQ(first["schedules"].size(), 2U);
  EXPECT_EQ(first["next"], "b");
  const json last = get_from("/api/v1/schedules?limit=2&after=b").json();
  EXPECT_EQ(last["schedules"][0]["name"], "c");
  EXPECT_EQ(last["next"], nullptr);
  EXPECT_EQ(get_from("/api/v1/schedules?tube=b").json()["schedules"].size(), 1U);
}

struct BadCase {
  std::string name;
  std::string body;
  std::string why;
};
class BadSchedule : public SchedulesApi, public testing::WithParamInterface<BadCase> {};

TEST_P(BadSchedule, SaysWhatIsWrong) {
  const Got got = put("s", GetParam().body);
  EXPECT_EQ(got.status, 400U);
  EXPECT_THAT(got.body, HasSubstr(GetParam().why));
  EXPECT_EQ(get_from("/api/v1/schedules/s").status, 404U);
}

const std::vector<BadCase> bad_cases = {
    {"NoTimes", R"({"body":"x"})", "One of every_seconds, cron and at is needed."},
    {"TwoKinds", R"({"body":"x","every_seconds":1,"cron":"@daily"})", "One of every_seconds"},
    {"NoBody", R"({"every_seconds":1})", "Either body or body_base64 is needed."},
    {"TooShort", R"({"body":"x","every_seconds":0.5})", "every_seconds must be 1 or more."},
    {"BadCron", R"({"body":"x","cron":"61 * * * *"})", "cron: "},
    {"UnknownZone", R"({"body":"x","cron":"@daily","zone":"Gone"})", "no time zone 'Gone'"},
    {"ZoneWithoutCron", R"({"body":"x","every_seconds":1,"zone":"UTC"})", "zone belongs to cron."},
    {"AnchorWithoutPeriod", R"({"body":"x","cron":"@daily","anchor":"2026-01-01T00:00:00Z"})",
     "anchor belongs to every_seconds."},
    {"BadTime", R"({"body":"x","at":"tomorrow"})", "at must be a time such as"},
    {"Missed", R"({"body":"x","every_seconds":1,"missed":"some"})", "missed must be"},
    {"MissedTooMany", R"({"body":"x","every_seconds":1,"missed":"1001"})", "missed must be"},
    {"Overlap", R"({"body":"x","every_seconds":1,"overlap":"never"})", "overlap must be"},
    {"Unknown", R"({"body":"x","every_seconds":1,"colour":"red"})", "colour"},
};
INSTANTIATE_TEST_SUITE_P(SchedulesApi, BadSchedule, testing::ValuesIn(bad_cases),
                         [](const auto& tested) { return tested.param.name; });

TEST_F(SchedulesApi, TellWhenOneWouldBeDue) {
  const json times =
      get_from("/api/v1/schedule-times?at=2026-12-24T18:00:00%2B01:00").json()["times"];
  ASSERT_EQ(times.size(), 1U);
  EXPECT_EQ(times[0]["at"], "2026-12-24T17:00:00.000Z");
  EXPECT_EQ(times[0]["local"], "2026-12-24T17:00:00.000+00:00");
  EXPECT_EQ(get_from("/api/v1/schedule-times?every_seconds=60&count=3").json()["times"].size(), 3U);
  EXPECT_EQ(get_from("/api/v1/schedule-times?cron=x").status, 400U);
  EXPECT_EQ(get_from("/api/v1/schedule-times?every_seconds=60&count=101").status, 400U);
}

}  // namespace
}  // namespace perennial::http
