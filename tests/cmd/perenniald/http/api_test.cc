#include "cmd/perenniald/http/api/api.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/perenniald/http/api/failures.h"
#include "cmd/perenniald/http/api/fields.h"
#include "cmd/perenniald/http/api/job_filter.h"
#include "cmd/perenniald/http/api/note_lines.h"
#include "tests/cmd/perenniald/http/port.h"

namespace perennial::http {
namespace {

using access::Verb;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ApiTest : public Port {
 protected:
  void put(const std::string& tube, const std::string& body, int priority = 0, int delay = 0) {
    const std::string out = speak(fmt::format("use {}\r\nput {} {} 60 {}\r\n{}\r\n", tube, priority,
                                              delay, body.size(), body));
    ASSERT_THAT(out, HasSubstr("INSERTED"));
  }
  // Puts so many jobs and buries them.
  void bury(const std::string& tube, int count) {
    std::string lines = fmt::format("use {0}\r\nwatch {0}\r\nignore default\r\n", tube);
    for (int i = 0; i < count; ++i) lines += "put 1 0 60 1\r\na\r\nreserve\r\n";
    const ConnId conn = harness_.open();
    harness_.send(conn, lines);
    const auto first = static_cast<int>(harness_.core().engine().view().next_id()) - count;
    for (int i = 0; i < count; ++i) harness_.send(conn, fmt::format("bury {} 1\r\n", first + i));
    harness_.close(conn);
  }
  std::vector<std::string> ids(const json& jobs) {
    std::vector<std::string> out;
    for (const json& job : jobs) out.push_back(job.at("id"));
    return out;
  }
  Got operation(const std::string& rest) {
    return change("POST", "/api/v1/operations", "{" + rest + "}");
  }
};

TEST_F(ApiTest, ShowsTheServer) {
  put("mail", "a");
  put("mail", "b", 2000, 100);
  const Got server = get_from("/api/v1/server");
  EXPECT_EQ(server.status, 200u);
  EXPECT_EQ(server.fields.at("content-type"), "application/json");
  EXPECT_EQ(server.fields.at("cache-control"), "no-store");
  const json value = server.json();
  EXPECT_EQ(value["version"], "1.2.3");
  EXPECT_EQ(value["jobs"]["ready"], 1);
  EXPECT_EQ(value["jobs"]["delayed"], 1);
  EXPECT_EQ(value["totals"]["puts"], 2);
  EXPECT_EQ(value["user"], nullptr);
  EXPECT_EQ(value["may"]["admin"], true);
}

TEST_F(ApiTest, ShowsTheServerInDetail) {
  json details = get_from("/api/v1/server/details").json();
  EXPECT_THAT(details["certificates"], IsEmpty());
  EXPECT_EQ(details["descriptors_open"], nullptr);
  facts_.rocksdb_version = "7.8.3";
  facts_.descriptors_open = 40;
  facts_.disk_free_bytes = 1'000'000;
  facts_.reload_success = false;
  const int64_t now = harness_.now() / nanos_per_second;
  facts_.certificates = {{"0.0.0.0:1", now + 86'400}, {"0.0.0.0:2", now - 60}};
  details = get_from("/api/v1/server/details").json();
  EXPECT_EQ(details["rocksdb_version"], "7.8.3");
  EXPECT_EQ(details["descriptors_open"], 40);
  EXPECT_EQ(details["disk_free_bytes"], 1'000'000);
  EXPECT_TRUE(details["disk_free_files"].is_null());
  EXPECT_EQ(details["files_in_use"], false);
  EXPECT_EQ(details["certificates"][0]["listener"], "0.0.0.0:1");
  EXPECT_NEAR(details["certificates"][0]["left_seconds"].get<double>(), 86'400, 1);
  EXPECT_LT(details["certificates"][1]["left_seconds"].get<double>(), 0);
}

TEST_F(ApiTest, ReadsFilesAgain) {
  EXPECT_THAT(change("POST", "/api/v1/reload", "{}").json()["read"], IsEmpty());
  files_ = {{"users.yaml", ""}, {"0.0.0.0:1", "no such file"}};
  const json read = change("POST", "/api/v1/reload", "{}").json()["read"];
  EXPECT_EQ(read, (json{{{"name", "users.yaml"}, {"error", nullptr}},
                        {{"name", "0.0.0.0:1"}, {"error", "no such file"}}}));
  EXPECT_EQ(get_from("/api/v1/reload").status, 405u);
  // Without users there is no audit.
  EXPECT_THAT(get_from("/api/v1/audit").json()["lines"], IsEmpty());
}

TEST_F(ApiTest, KeepsTheNewestLinesOfTheAudit) {
  for (size_t i = 0; i <= AuditLines::kept_max; ++i) {
    audit_lines_.add({.conn = i,
                      .action = "kick",
                      .user = "anna",
                      .from = i % 2 == 0 ? "10.0.0.1" : "",
                      .subject = std::string(1'000, 'x'),
                      .refused = i % 3 == 0},
                     harness_.now());
    harness_.advance(nanos_per_second);
  }
  const json lines = get_from("/api/v1/audit").json()["lines"];
  ASSERT_EQ(lines.size(), AuditLines::kept_max);
  EXPECT_EQ(lines.front()["connection"], "200");
  EXPECT_EQ(lines.front()["from"], "10.0.0.1");
  EXPECT_DOUBLE_EQ(lines.front()["age_seconds"].get<double>(), 1);
  EXPECT_EQ(lines.front()["subject"].get<std::string>().size(), AuditLines::subject_bytes_max);
  EXPECT_EQ(lines.front()["refused"], false);
  EXPECT_EQ(lines.back()["connection"], "1");
  EXPECT_EQ(lines.back()["from"], "unix");
}

TEST_F(ApiTest, ShowsHowLongJobsWaitedAndRan) {
  put("mail", "a");
  put("mail", "b");
  harness_.advance(3 * nanos_per_second);
  const ConnId worker = harness_.open();
  harness_.send(worker, "watch mail\r\nreserve\r\nreserve\r\n");
  harness_.advance(20 * nanos_per_ms);
  harness_.send(worker, "delete 1\r\nbury 2 0\r\n");
  const json times = get_from("/api/v1/work-times").json();
  const std::vector<double> bounds = times["bounds_seconds"];
  const auto bucket = [&](double seconds) {
    return static_cast<size_t>(std::ranges::lower_bound(bounds, seconds) - bounds.begin());
  };
  EXPECT_THAT(bounds, testing::Contains(30.0));
  EXPECT_EQ(times["wait"]["counts"].size(), bounds.size() + 1);
  EXPECT_EQ(times["wait"]["counts"][bucket(3)], 2);
  EXPECT_DOUBLE_EQ(times["wait"]["sum_seconds"], 6.0);
  EXPECT_EQ(times["run"]["deleted"]["counts"][bucket(0.02)], 1);
  EXPECT_EQ(times["run"]["buried"]["counts"][bucket(0.02)], 1);
  EXPECT_DOUBLE_EQ(times["run"]["timeout"]["sum_seconds"], 0.0);
}

// Commands are another number: one may delete many jobs, or none.
TEST_F(ApiTest, CountsJobsAndNotCommands) {
  for (int i = 0; i < 6; ++i) put("mail", "a");
  const ConnId worker = harness_.open();
  harness_.send(worker, "watch mail\r\nreserve-batch 2\r\nreserve-with-timeout 0\r\n");
  harness_.send(worker, "reserve-job 4\r\nreserve-job 4\r\n");
  harness_.send(worker, "delete 77\r\ndelete-batch 1 2 3 77\r\n");
  harness_.send(worker, "flush-tube mail state:ready\r\n");
  api_.on_time();
  const json totals = get_from("/api/v1/server").json()["totals"];
  const json tube = get_from("/api/v1/tubes/mail").json();
  EXPECT_EQ(tube["ready"], 0);
  EXPECT_EQ(totals["reserves"], 4);
  EXPECT_EQ(totals["deletes"], 5);
  EXPECT_EQ(tube["deletes"], totals["deletes"]);
  EXPECT_EQ(tube["puts"], totals["puts"]);
  harness_.advance(nanos_per_second);
  const ConnId other = harness_.open();
  harness_.send(other, "delete 77\r\n");
  api_.on_time();
  EXPECT_EQ(get_from("/api/v1/history").json()["series"]["deletes"].back(), 0.0);
}

TEST_F(ApiTest, CountsParkedJobs) {
  const ConnId worker = harness_.open();
  for (int i = 0; i < 3; ++i) harness_.send(worker, "put 0 0 60 1 con:anna tube:mail\r\na\r\n");
  harness_.send(worker, "watch mail\r\nreserve\r\n");
  EXPECT_EQ(get_from("/api/v1/server").json()["parked"], 2);
  EXPECT_EQ(get_from("/api/v1/tubes/mail").json()["parked"], 2);
  EXPECT_EQ(get_from("/api/v1/server").json()["jobs"]["ready"], 2);
  const json jobs = get_from("/api/v1/tubes/mail/jobs").json()["jobs"];
  EXPECT_EQ(jobs[0]["parked"], false);
  EXPECT_EQ(jobs[1]["parked"], true);
}

TEST_F(ApiTest, ShowsTubesSortedAndInPages) {
  for (int i = 0; i < 1'200; ++i) put(fmt::format("t{:04}", i), "a");
  put("t0007", "b");
  json page = get_from("/api/v1/tubes?sort=ready&order=desc&limit=2").json();
  EXPECT_EQ(page["total"], 1201);  // And default.
  EXPECT_EQ(page["matched"], 1201);
  ASSERT_EQ(page["tubes"].size(), 2u);
  EXPECT_EQ(page["tubes"][0]["name"], "t0007");
  EXPECT_EQ(page["tubes"][0]["ready"], 2);
  EXPECT_EQ(page["tubes"][1]["name"], "t0000");
  page = get_from("/api/v1/tubes?match=t000*&offset=3&limit=2").json();
  EXPECT_EQ(page["matched"], 10);
  EXPECT_EQ(page["tubes"][0]["name"], "t0003");
  EXPECT_EQ(get_from("/api/v1/tubes?order=desc&limit=1").json()["tubes"][0]["name"], "t1199");
  EXPECT_THAT(get_from("/api/v1/tubes?offset=5000").json()["tubes"], IsEmpty());
}

// More tubes than one step looks at, and many with the same number.
TEST_F(ApiTest, SortsMoreTubesThanFitIntoAStep) {
  constexpr int tubes = 1'700;
  std::vector<std::pair<int, std::string>> wanted = {{0, "default"}};
  std::string lines;
  for (int i = 0; i < tubes; ++i) {
    const std::string tube = fmt::format("tube-{}", i * 733 % tubes);
    wanted.emplace_back(i % 3, tube);
    lines += fmt::format("use {}\r\n", tube);
    for (int job = 0; job < i % 3; ++job) lines += "put 1 0 60 1\r\na\r\n";
    // A delayed job, so that the tube stays.
    lines += "put 1 100 60 1\r\na\r\n";
  }
  speak(lines);
  const auto names_of = [&](const std::string& query) {
    std::vector<std::string> names;
    size_t matched = 0;
    do {
      const json page =
          get_from(fmt::format("/api/v1/tubes?{}&limit=600&offset={}", query, names.size())).json();
      matched = page["matched"];
      for (const json& tube : page["tubes"]) names.push_back(tube["name"]);
    } while (names.size() < matched);
    return names;
  };
  const auto in_order = [&](auto before) {
    std::ranges::sort(wanted, before);
    std::vector<std::string> names;
    for (const auto& [ready, name] : wanted) names.push_back(name);
    return names;
  };
  EXPECT_EQ(names_of("sort=name"),
            in_order([](const auto& a, const auto& b) { return a.second < b.second; }));
  EXPECT_EQ(names_of("sort=name&order=desc"),
            in_order([](const auto& a, const auto& b) { return a.second > b.second; }));
  EXPECT_EQ(names_of("sort=ready"), in_order(std::less<>()));
  EXPECT_EQ(names_of("sort=ready&order=desc"), in_order([](const auto& a, const auto& b) {
              return std::pair(-a.first, a.second) < std::pair(-b.first, b.second);
            }));
}

TEST_F(ApiTest, ShowsATubeAndItsSettings) {
  ASSERT_EQ(speak("set-tube mail tries:3 dead:graves rate:5:2\r\n"), "SET\r\n");
  put("mail", "a");
  const json tube = get_from("/api/v1/tubes/mail").json();
  EXPECT_EQ(tube["ready"], 1);
  EXPECT_EQ(tube["settings"]["tries"], 3);
  EXPECT_EQ(tube["may"]["manage"], true);
  EXPECT_EQ(tube["settings"]["dead"], "graves");
  EXPECT_EQ(get_from("/api/v1/tubes/none").status, 404u);
  EXPECT_EQ(get_from("/api/v1/tubes/a%20b").status, 404u);
  EXPECT_EQ(get_from("/api/v1/tubes/%6Dail").json()["name"], "mail");
}

// Clients take the dots for a path, so these names have a dash in front.
TEST_F(ApiTest, HasAPathForTubesNamedLikeOne) {
  int number = 0;
  for (const std::string name : {".", "..", "..."}) {
    put(name, "a");
    const std::string path = "/api/v1/tubes/-" + name;
    EXPECT_EQ(get_from(path).json()["name"], name);
    EXPECT_EQ(ids(get_from(path + "/jobs").json()["jobs"]),
              std::vector<std::string>{fmt::format("{}", ++number)});
    EXPECT_EQ(change("POST", path + "/pause", R"({"seconds":5})").status, 200u);
    EXPECT_GT(get_from(path).json()["pause_left_seconds"], 0);
  }
  EXPECT_EQ(get_from("/api/v1/tubes/-").status, 404u);
  EXPECT_EQ(get_from("/api/v1/tubes/--.").status, 404u);
  put("mail", "a");
  EXPECT_EQ(get_from("/api/v1/tubes/-mail").status, 404u);
}

// The age of the oldest job is that of now, also when nothing has happened for long.
TEST_F(ApiTest, AgesGoOnWithoutCommands) {
  put("mail", "a");
  harness_.advance(90 * nanos_per_second);
  EXPECT_DOUBLE_EQ(get_from("/api/v1/tubes/mail").json()["oldest_ready_seconds"], 90.0);
}

TEST_F(ApiTest, ListsJobsInPages) {
  for (int i = 0; i < 250; ++i) put(i % 2 == 0 ? "even" : "odd", "a", i, i % 5 == 0 ? 1000 : 0);
  std::string after = "0";
  std::vector<std::string> seen;
  for (int pages = 0; pages < 20; ++pages) {
    const json page =
        get_from("/api/v1/tubes/even/jobs?state=ready&limit=30&after=" + after).json();
    std::ranges::copy(ids(page["jobs"]), std::back_inserter(seen));
    if (page["next"].is_null()) break;
    after = page["next"];
  }
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_EQ(seen.front(), "3");
  EXPECT_EQ(seen.back(), "249");
  EXPECT_EQ(get_from("/api/v1/jobs?limit=1000").json()["jobs"].size(), 250u);
  EXPECT_THAT(get_from("/api/v1/tubes/none/jobs").json()["jobs"], IsEmpty());
}

TEST_F(ApiTest, ListsJobsByTheirNumbers) {
  for (int i = 0; i < 6; ++i) {
    put("mail", "a", 10 * i);
    harness_.advance(10 * nanos_per_second);
  }
  // Job 1 is reserved three times, and one of them times out.
  const ConnId worker = harness_.open();
  harness_.send(worker, "reserve-job 1\r\nrelease 1 0 0\r\nreserve-job 1\r\n");
  harness_.advance(61 * nanos_per_second);
  harness_.send(worker, "reserve-job 1\r\nrelease 1 0 0\r\n");
  struct Case {
    const char* filter;
    std::vector<std::string> want;
  };
  const Case cases[] = {
      {"age_seconds_min=101", {"1", "2", "3"}},
      {"age_seconds_min=102", {"1", "2"}},
      {"age_seconds_max=71", {"6"}},
      {"age_seconds_min=71&age_seconds_max=81", {"5", "6"}},
      {"age_seconds_min=72&age_seconds_max=80", {}},
      {"priority_min=20&priority_max=30", {"3", "4"}},
      {"priority_min=20&age_seconds_min=91", {"3", "4"}},
      {"reserves_min=1", {"1"}},
      {"reserves_max=0&priority_min=50", {"6"}},
      {"timeouts_min=1", {"1"}},
      {"timeouts_min=2", {}},
      {"priority_max=10&state=buried", {}},
  };
  for (const Case& each : cases) {
    for (const char* path : {"/api/v1/jobs?", "/api/v1/tubes/mail/jobs?"}) {
      EXPECT_EQ(ids(get_from(std::string(path) + each.filter).json()["jobs"]), each.want)
          << path << each.filter;
    }
  }
}

TEST_F(ApiTest, PagesJobsByTheirNumbers) {
  // A tube whose jobs are collected, and one that is found by a walk over all jobs.
  for (const int count : {250, 2'500}) {
    const std::string tube = fmt::format("t{}", count);
    for (int i = 0; i < count; ++i) put(tube, "a", i % 7);
    for (const int limit : {1, 30, 1'000}) {
      if (count / limit > 500) continue;
      std::string after = "0";
      size_t seen = 0;
      for (int pages = 0; pages < 1'000 && !after.empty(); ++pages) {
        const json page =
            get_from(fmt::format("/api/v1/tubes/{}/jobs?priority_min=3&priority_max=3&limit={}"
                                 "&after={}",
                                 tube, limit, after))
                .json();
        EXPECT_LE(page["jobs"].size(), static_cast<size_t>(limit));
        for (const json& job : page["jobs"]) EXPECT_EQ(job["priority"], 3);
        seen += page["jobs"].size();
        after = page["next"].is_null() ? "" : page["next"].get<std::string>();
      }
      EXPECT_EQ(seen, static_cast<size_t>((count + 3) / 7)) << tube << " by " << limit;
    }
  }
}

// The few jobs of a tube are found among very many of others at once.
TEST_F(ApiTest, FindsFewJobsAmongMany) {
  put("rare", "a");
  for (int i = 0; i < 3'000; ++i) put("bulk", "a");
  put("rare", "b");
  const int before = steps();
  const json page = get_from("/api/v1/tubes/rare/jobs").json();
  EXPECT_THAT(ids(page["jobs"]), ElementsAre("1", "3002"));
  EXPECT_EQ(page["next"], nullptr);
  EXPECT_EQ(steps() - before, 1);
  EXPECT_EQ(get_from("/api/v1/tubes/bulk/jobs?limit=1000").json()["jobs"].size(), 1000u);
}

TEST_F(ApiTest, ShowsAJobAndItsBody) {
  put("mail", "hello");
  const json job = get_from("/api/v1/jobs/1").json();
  EXPECT_EQ(job["id"], "1");
  EXPECT_EQ(job["tube"], "mail");
  EXPECT_EQ(job["state"], "ready");
  EXPECT_EQ(job["body_bytes"], 5);
  Got body = get_from("/api/v1/jobs/1/body");
  EXPECT_EQ(body.body, "hello");
  EXPECT_EQ(body.fields.at("content-type"), "application/octet-stream");
  EXPECT_EQ(body.fields.at("content-disposition"), "attachment; filename=\"job-1\"");
  EXPECT_THAT(body.fields.at("content-security-policy"), HasSubstr("sandbox"));
  body = get_from("/api/v1/jobs/1/body?offset=1&length=3");
  EXPECT_EQ(body.body, "ell");
  EXPECT_EQ(body.fields.at("perennial-body-bytes"), "5");
  EXPECT_EQ(get_from("/api/v1/jobs/1/body?offset=9").body, "");
  for (const char* path :
       {"/api/v1/jobs/2", "/api/v1/jobs/0", "/api/v1/jobs/x", "/api/v1/jobs/2/body",
        "/api/v1/jobs/99999999999999999999999", "/api/v1/jobs/-1"}) {
    EXPECT_EQ(get_from(path).status, 404u) << path;
  }
}

// To look is no command, and what looks is no connection.
TEST_F(ApiTest, LookingCountsAsNothing) {
  put("mail", "hello");
  const EngineStats before = harness_.core().engine().view().statistics();
  get_from("/api/v1/jobs/1/body");
  get_from("/api/v1/jobs/1/notes");
  get_from("/api/v1/tubes/mail/jobs");
  const EngineStats after = harness_.core().engine().view().statistics();
  for (size_t row = 0; row < commands_count; ++row) {
    EXPECT_EQ(before.commands.at(row), after.commands.at(row)) << row;
  }
  EXPECT_EQ(before.total_connections, after.total_connections);
  EXPECT_EQ(after.connections, 0u);
}

TEST_F(ApiTest, PutsAJob) {
  Got made = change("POST", "/api/v1/jobs",
                    R"({"tube":"mail","body":"hä\u0000\r\n","priority":7,"delay_seconds":1.5,)"
                    R"("ttr_seconds":30,"key":"k1"})");
  EXPECT_EQ(made.status, 201u);
  EXPECT_EQ(made.json(), (json{{"id", "1"}, {"duplicate", false}}));
  const json job = get_from("/api/v1/jobs/1").json();
  EXPECT_EQ(job["priority"], 7);
  EXPECT_DOUBLE_EQ(job["delay_seconds"], 1.5);
  EXPECT_EQ(job["key"], "k1");
  EXPECT_EQ(get_from("/api/v1/jobs/1/body").body, std::string("h\xc3\xa4\0\r\n", 6));
  made = change("POST", "/api/v1/jobs", R"({"tube":"mail","body":"x","key":"k1"})");
  EXPECT_EQ(made.status, 200u);
  EXPECT_EQ(made.json(), (json{{"id", "1"}, {"duplicate", true}}));
  made = change("POST", "/api/v1/jobs", R"({"body_base64":"/wD+"})");
  EXPECT_EQ(made.json()["id"], "2");
  EXPECT_EQ(get_from("/api/v1/jobs/2/body").body, std::string("\xff\0\xfe", 3));
  EXPECT_EQ(get_from("/api/v1/jobs/2").json()["tube"], "default");
}

TEST_F(ApiTest, PutsAJobWithEveryOption) {
  const Got made = change(
      "POST", "/api/v1/jobs",
      R"({"tube":"mail","body":"x","tries":3,"backoff":"5:600","dead":"mail-dead","expire_seconds":90,)"
      R"("key":"k1","key_seconds":7,"key_until":"reserved","concurrency":"customer:2"})");
  EXPECT_EQ(made.status, 201u);
  const std::string stats = speak("stats-job 1\r\n");
  for (const char* const line :
       {"tries: 3", "backoff: \"5:600\"", "dead: \"mail-dead\"", "expire-left: 90", "idp: \"k1\"",
        "idp-ttl: 7", "con: \"customer:2\""}) {
    EXPECT_NE(stats.find(line), std::string::npos) << line << " in " << stats;
  }
  // The key is free when the job is reserved, and 7 s later.
  speak("watch mail\r\nreserve\r\n");
  harness_.advance(6 * nanos_per_second);
  const std::string again = R"({"tube":"mail","body":"x","key":"k1"})";
  EXPECT_EQ(change("POST", "/api/v1/jobs", again).json()["duplicate"], true);
  harness_.advance(1 * nanos_per_second);
  EXPECT_EQ(change("POST", "/api/v1/jobs", again).json()["duplicate"], false);
}

TEST_F(ApiTest, RefusesOptionsThatAreNone) {
  struct Row {
    const char* member;
    const char* detail;
  };
  for (const Row& row : {
           Row{R"("tries":0)", "tries must be a whole number from 1 to 1000000."},
           Row{R"("tries":1000001)", "tries must be a whole number from 0 to 1000000."},
           Row{R"("backoff":"9:3")",
               "backoff must be the first delay and the longest one, in seconds or with ms, "
               "such as \"5:600\" or \"500ms:60\"."},
           Row{R"("backoff":5)", "backoff must be a text."},
           Row{R"("backoff":" 5")",
               "backoff must be the first delay and the longest one, in seconds or with ms, "
               "such as \"5:600\" or \"500ms:60\"."},
           Row{R"("dead":"-")",
               "dead is no name of a tube: 1 to 200 of A-Z a-z 0-9 - + / ; . $ _ ( ), "
               "not beginning with -."},
           Row{R"("expire_seconds":0)", "expire_seconds must be more than 0."},
           Row{R"("expire_seconds":0.0001)", "expire_seconds must be more than 0."},
           Row{R"("key_seconds":5)", "key_seconds and key_until belong to a key."},
           Row{R"("key":"k","key_until":"ttl")", "A key until ttl needs key_seconds."},
           Row{R"("key":"k","key_until":"never")", "key_until must be deleted, reserved or ttl."},
           Row{R"("concurrency":"customer:0")",
               "concurrency must be a key, and how many of its jobs run at once, such as "
               "\"customer:2\"."},
           Row{R"("concurrency":"a b")",
               "concurrency must be a key, and how many of its jobs run at once, such as "
               "\"customer:2\"."},
       }) {
    const Got refused =
        change("POST", "/api/v1/jobs", fmt::format(R"({{"body":"x",{}}})", row.member));
    EXPECT_EQ(refused.status, 400u) << row.member;
    EXPECT_EQ(refused.json()["detail"], row.detail) << row.member;
  }
}

TEST_F(ApiTest, PutsSeveralJobsOrNone) {
  Got made = change(
      "POST", "/api/v1/jobs",
      R"( [{"tube":"mail","body":"a","priority":7,"key":"k"},)"
      R"({"tube":"news","body_base64":"/wD+","tries":3},{"tube":"mail","body":"","key":"k"}])");
  EXPECT_EQ(made.status, 201u);
  const auto put = [](const char* id, bool duplicate) {
    return json{{"id", id}, {"duplicate", duplicate}};
  };
  EXPECT_EQ(made.json(), (json{{"jobs", {put("1", false), put("2", false), put("1", true)}}}));
  EXPECT_EQ(get_from("/api/v1/jobs/1").json()["priority"], 7);
  EXPECT_EQ(get_from("/api/v1/jobs/2").json()["tube"], "news");
  EXPECT_EQ(get_from("/api/v1/jobs/2").json()["tries"], 3);
  EXPECT_EQ(get_from("/api/v1/jobs/2/body").body, std::string("\xff\0\xfe", 3));
  made = change("POST", "/api/v1/jobs", R"([{"tube":"mail","body":"a","key":"k"}])");
  EXPECT_EQ(made.status, 200u);
  EXPECT_EQ(made.json(), (json{{"jobs", {put("1", true)}}}));

  const Got bad = change("POST", "/api/v1/jobs", R"([{"body":"a"},{"body":"b","tries":0}])");
  EXPECT_EQ(bad.status, 400u);
  EXPECT_EQ(bad.json()["detail"],
            "Job 1 of the array: tries must be a whole number from 1 to 1000000.");
  const std::string one = R"({"body":"a"})";
  std::string many = one;
  for (size_t i = 1; i < batch_count_max; ++i) many += "," + one;
  for (const std::string& body : {std::string("[]"), std::string("[1]"), std::string("[[]]"),
                                  R"([{"body":"a"},{"bodies":"b"}])" + std::string(), "[" + one,
                                  "[" + many + "," + one + "]"}) {
    EXPECT_EQ(change("POST", "/api/v1/jobs", body).status, 400u) << body.substr(0, 40);
  }
  // Each is small, and all of them are too large; and one alone is.
  const std::string kilobyte = R"({"body":")" + std::string(1'025, 'x') + R"("})";
  std::string large = kilobyte;
  for (size_t i = 1; i < batch_count_max; ++i) large += "," + kilobyte;
  EXPECT_EQ(change("POST", "/api/v1/jobs", "[" + large + "]").status, 413u);
  EXPECT_EQ(
      change("POST", "/api/v1/jobs", R"([{"body":")" + std::string(70'000, 'x') + R"("}])").status,
      413u);
  speak("drain\r\n");
  EXPECT_EQ(change("POST", "/api/v1/jobs", "[" + one + "]").status, 503u);
  speak("undrain\r\n");
  // No id was used up by what was refused.
  made = change("POST", "/api/v1/jobs", "[" + many + "]");
  EXPECT_EQ(made.status, 201u);
  EXPECT_EQ(made.json()["jobs"].size(), batch_count_max);
  EXPECT_EQ(made.json()["jobs"][0]["id"], "3");
}

// The answer to a put may be lost, and whoever sends it again must not put it twice.
TEST_F(ApiTest, PutsOnceWhatIsSentTwiceWithAnIdempotencyKey) {
  const std::string field = "Idempotency-Key: order-7\r\n";
  const std::string body = R"({"tube":"mail","body":"a"})";
  EXPECT_EQ(change("POST", "/api/v1/jobs", body, field).status, 201u);
  // Also when the job is done.
  EXPECT_EQ(change("DELETE", "/api/v1/jobs/1").status, 200u);
  const Got again = change("POST", "/api/v1/jobs", body, field);
  EXPECT_EQ(again.status, 200u);
  EXPECT_EQ(again.json(), (json{{"id", "1"}, {"duplicate", true}}));
  const std::string two = "[" + body + "," + body + "]";
  EXPECT_EQ(change("POST", "/api/v1/jobs", two, field).json()["jobs"][1]["id"], "3");
  const Got both = change("POST", "/api/v1/jobs", two, field);
  EXPECT_EQ(both.status, 200u);
  EXPECT_EQ(both.json()["jobs"][0], (json{{"id", "2"}, {"duplicate", true}}));
  harness_.advance(86'400 * nanos_per_second);
  EXPECT_EQ(change("POST", "/api/v1/jobs", body, field).status, 201u);
  EXPECT_EQ(change("POST", "/api/v1/jobs", R"({"tube":"mail","body":"a","key":"k"})", field)
                .json()["detail"],
            "Give key or Idempotency-Key, and not both.");
  EXPECT_EQ(change("POST", "/api/v1/jobs", body, "Idempotency-Key: a b\r\n").status, 400u);
  // A program whose variable is empty.
  for (const std::string& jobs : {body, two}) {
    EXPECT_EQ(change("POST", "/api/v1/jobs", jobs, "Idempotency-Key: \r\n").status, 400u) << jobs;
  }
}

// One of a job of an array is none of a single job, whatever slashes there are.
TEST_F(ApiTest, TellsIdempotencyKeysApart) {
  const std::string one = R"({"body":"a"})";
  int jobs = 0;
  for (const std::string key : {"a", "a/0", "a/1", "a//1", "a/", "a//0", "a/0/0"}) {
    const std::string field = "Idempotency-Key: " + key + "\r\n";
    EXPECT_EQ(change("POST", "/api/v1/jobs", "[" + one + "," + one + "]", field).status, 201u)
        << key;
    EXPECT_EQ(change("POST", "/api/v1/jobs", one, field).json()["id"], std::to_string(jobs + 3))
        << key;
    jobs += 3;
  }
}

TEST_F(ApiTest, SetsATube) {
  const std::string path = "/api/v1/tubes/mail/settings";
  EXPECT_EQ(get_from(path).json()["set"], json::object());
  const json all = {{"tries", 3},          {"backoff", "5:600"}, {"dead", "mail-dead"},
                    {"expire_seconds", 9}, {"reserved", 2},      {"rate", "10:1"},
                    {"drain", false},      {"keep_seconds", 60}, {"keep_max", 100}};
  const Got set = change("PUT", path, all.dump());
  EXPECT_EQ(set.status, 200u);
  EXPECT_EQ(set.json()["set"], all);
  EXPECT_EQ(set.json()["in_force"], all);
  EXPECT_EQ(get_from(path).json(), set.json());
  // What is shown can be sent, and what is left out or null is taken away.
  EXPECT_EQ(change("PUT", path, get_from(path).json()["set"].dump()).json(), set.json());
  const json rest = change("PUT", path, R"({"rate":"3:250ms","tries":null})").json();
  EXPECT_EQ(rest["set"], (json{{"rate", "3:250ms"}}));
  EXPECT_EQ(rest["in_force"]["tries"], 0);
  EXPECT_EQ(change("PUT", path, "{}").json()["set"], json::object());
  // Another tube has none of it, and no tube began.
  EXPECT_EQ(get_from("/api/v1/tubes/mail").status, 404u);
  for (const char* const body :
       {R"({"tries":0})", R"({"rate":"0:1"})", R"({"rate":"1"})", R"({"drain":1})",
        R"({"keep_seconds":0})", R"({"keep_max":0})", R"({"reserved":0})", R"({"dead":""})",
        R"({"in_force":{}})", R"([])", ""}) {
    EXPECT_EQ(change("PUT", path, body).status, 400u) << body;
  }
  EXPECT_EQ(change("PUT", "/api/v1/tubes/a%20b/settings", "{}").status, 404u);
  EXPECT_EQ(change("POST", path, "{}").status, 405u);
}

// A change is answered when the disk has it.
TEST_F(ApiTest, AnswersAChangeWhenItIsDurable) {
  harness_.set_committing(false);
  const std::string body = R"({"body":"x"})";
  const auto answer = open(fmt::format(
      "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n\r\n{}",
      body.size(), body));
  EXPECT_FALSE(run(*answer));
  harness_.commit();
  EXPECT_TRUE(run(*answer));
  EXPECT_EQ(answer->take().status, Status::Created);
}

// The limit of a path with names is found by what stands for them.
TEST_F(ApiTest, HasItsLimitOfABodyForEachRoute) {
  for (const Api::Route& route : Api::routes()) {
    std::string path(route.path);
    for (const std::string_view name : {"{id}", "{tube}"}) {
      const size_t at = path.find(name);
      if (at != std::string::npos) path.replace(at, name.size(), "7");
    }
    EXPECT_EQ(Api::body_bytes_max_of(route.method, path), route.body_bytes_max) << path;
  }
  EXPECT_EQ(Api::body_bytes_max_of("POST", "/api/v1/none"), Api::small_body_bytes_max);
  EXPECT_EQ(Api::body_bytes_max_of("GET", "/api/v1/jobs/7/notes"), Api::small_body_bytes_max);
}

TEST_F(ApiTest, WritesAndShowsNotes) {
  put("mail", "a");
  EXPECT_EQ(get_from("/api/v1/jobs/1/notes").json(), (json{{"notes", json::array()}}));
  EXPECT_EQ(change("POST", "/api/v1/jobs/1/notes", R"({"text":"the \u00e9"})").json()["noted"],
            true);
  const json notes = get_from("/api/v1/jobs/1/notes").json()["notes"];
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0]["number"], 1);
  EXPECT_EQ(notes[0]["attempt"], 0);
  EXPECT_EQ(notes[0]["user"], "");
  EXPECT_EQ(notes[0]["text"], "the \xc3\xa9");
  EXPECT_EQ(get_from("/api/v1/jobs/1").json()["notes"], 1);
  const std::string long_text = R"({"text":")" + std::string(note_bytes_max + 1, 'x') + R"("})";
  for (const std::string& body : {std::string("{}"), std::string(R"({"text":""})"), long_text})
    EXPECT_EQ(change("POST", "/api/v1/jobs/1/notes", body).status, 400u);
  // The longest text, each byte of it as it takes the most.
  const std::string longest = R"({"text": ")" + std::string(note_bytes_max, 'x') + R"("})";
  std::string escaped = R"({"text": ")";
  for (uint32_t byte = 0; byte < note_bytes_max; ++byte) escaped += "\\u0000";
  escaped += R"("})";
  for (const std::string& body : {longest, escaped}) {
    EXPECT_LE(body.size(), Api::body_bytes_max_of("POST", "/api/v1/jobs/1/notes"));
    EXPECT_EQ(change("POST", "/api/v1/jobs/1/notes", body).json()["noted"], true);
  }
  EXPECT_EQ(change("POST", "/api/v1/jobs/2/notes", R"({"text":"x"})").status, 404u);
  for (const char* const path : {"/api/v1/jobs/2/notes", "/api/v1/jobs/x/notes"})
    EXPECT_EQ(get_from(path).status, 404u) << path;
}

// Jobs that have failed: three buried ones of "mail", of which two say the same, and one of
// "orders" that died.
class FailedApiTest : public ApiTest {
 protected:
  FailedApiTest() {
    speak("set-tube orders tries:1 dead:graves\r\n");
    fail("mail", "no such host\nat line 3");
    fail("mail", "Traceback (most recent call last):\n  File \"a.py\"\nKeyError: 7\n");
    fail("mail", "no such host\n\n  at line 9  \n");
    fail("orders", "refused", "release 4 0 0");
  }
  void fail(const std::string& tube, const std::string& note, const std::string& end = "") {
    harness_.advance(10 * nanos_per_second);
    put(tube, "a");
    const auto id = harness_.core().engine().view().next_id() - 1;
    const std::string line =
        note.empty() ? "" : fmt::format("note {} {}\r\n{}\r\n", id, note.size(), note);
    speak(fmt::format("reserve-job {}\r\n{}{}\r\n", id, line,
                      end.empty() ? fmt::format("bury {} 0", id) : end));
    harness_.pump();
  }
  static std::vector<std::string> said(const json& groups) {
    std::vector<std::string> out;
    for (const json& group : groups) {
      out.push_back(fmt::format("{} {} {}: {}, {}", group["tube"].get<std::string>(),
                                group["jobs"].get<int>(), group["how"].get<std::string>(),
                                group["line"].get<std::string>(),
                                group["newest"].get<std::string>()));
    }
    return out;
  }
};

TEST_F(FailedApiTest, AreListedInGroupsTheNewestFirst) {
  const json all = get_from("/api/v1/failures").json();
  EXPECT_THAT(said(all["groups"]),
              ElementsAre("graves 1 dead: refused, 4", "mail 2 buried: no such host, 3",
                          "mail 1 buried: KeyError: 7, 2"));
  EXPECT_EQ(all["failed"], 4);
  EXPECT_EQ(all["looked_at"], 4);
  EXPECT_EQ(all["whole"], true);
  EXPECT_EQ(all["groups_found"], 3);
  const json& mail = all["groups"][1];
  EXPECT_EQ(mail["note"]["last_line"], "at line 9");
  EXPECT_EQ(mail["note"]["attempt"], 1);
  EXPECT_EQ(mail["newest_at"], mail["note"]["time"]);
  EXPECT_LT(mail["oldest_at"], mail["newest_at"]);
  EXPECT_EQ(mail["may"]["manage"], true);
  EXPECT_EQ(get_from("/api/v1/failures?limit=1").json()["groups"].size(), 1u);
  EXPECT_EQ(get_from("/api/v1/failures?limit=1").json()["groups_found"], 3);
  EXPECT_EQ(said(get_from("/api/v1/failures?tube=mail").json()["groups"]).size(), 2u);
  EXPECT_THAT(get_from("/api/v1/failures?tube=none").json()["groups"], IsEmpty());
  EXPECT_EQ(said(get_from("/api/v1/failures?since_seconds=15").json()["groups"]).size(), 2u);
  EXPECT_EQ(get_from("/api/v1/failures?since_seconds=0").status, 400u);
  EXPECT_EQ(get_from("/api/v1/failures?tube=a%20b").status, 404u);
  // A new note, and a kick.
  change("POST", "/api/v1/jobs/2/notes", R"({"text":"again"})");
  change("POST", "/api/v1/jobs/3/kick");
  EXPECT_THAT(said(get_from("/api/v1/failures?tube=mail").json()["groups"]),
              ElementsAre("mail 1 buried: again, 2", "mail 1 buried: no such host, 1"));
}

// They failed when they were put.
TEST_F(FailedApiTest, NeedNoNote) {
  fail("mail", "");
  const json group = get_from("/api/v1/failures?tube=mail").json()["groups"][0];
  EXPECT_EQ(group["line"], "");
  EXPECT_EQ(group["note"], nullptr);
  EXPECT_EQ(group["newest_at"], get_from("/api/v1/jobs/5").json()["put_at"]);
}

// A flood of one tube hides nothing of another.
TEST_F(FailedApiTest, HaveTheirShareOfTheTubes) {
  bury("flood", static_cast<int>(Failures::jobs_of_tube_max) + 5);
  const json all = get_from("/api/v1/failures").json();
  EXPECT_EQ(all["failed"], Failures::jobs_of_tube_max + 9);
  EXPECT_EQ(all["looked_at"], Failures::jobs_of_tube_max + 4);
  EXPECT_EQ(all["whole"], false);
  EXPECT_EQ(all["groups_found"], 4);
  // Those that failed last are looked at.
  const auto last = static_cast<int>(harness_.core().engine().view().next_id()) - 1;
  EXPECT_EQ(get_from("/api/v1/failures?tube=flood").json()["groups"][0]["newest"],
            fmt::format("{}", last));
  EXPECT_EQ(get_from("/api/v1/failures?tube=flood").json()["whole"], true);
}

TEST_F(FailedApiTest, AreLookedAtForOneAfterTheOther) {
  const std::unique_ptr<Answer> first = open(get("/api/v1/failures"));
  const std::unique_ptr<Answer> second = open(get("/api/v1/failures"));
  EXPECT_FALSE(run(*second));
  EXPECT_TRUE(run(*first));
  EXPECT_TRUE(run(*second));
  // Whoever leaves lets the next one go on.
  std::unique_ptr<Answer> gone = open(get("/api/v1/failures"));
  const std::unique_ptr<Answer> third = open(get("/api/v1/failures"));
  gone.reset();
  EXPECT_TRUE(run(*third));
}

TEST_F(FailedApiTest, ListsJobsWithTheirNotes) {
  const json jobs = get_from("/api/v1/tubes/mail/jobs?with=note").json()["jobs"];
  EXPECT_EQ(jobs[0]["note"]["line"], "no such host");
  EXPECT_EQ(jobs[1]["note"]["line"], "KeyError: 7");
  EXPECT_FALSE(get_from("/api/v1/tubes/mail/jobs").json()["jobs"][0].contains("note"));
  EXPECT_THAT(ids(get_from("/api/v1/tubes/mail/jobs?note=no%20such%20host").json()["jobs"]),
              ElementsAre("1", "3"));
  put("mail", "b");
  EXPECT_EQ(get_from("/api/v1/jobs/5").json()["notes"], 0);
  EXPECT_THAT(ids(get_from("/api/v1/tubes/mail/jobs?note=").json()["jobs"]), ElementsAre("5"));
  // As forms write a space; and all lines that begin so.
  const json written = get_from("/api/v1/tubes/mail/jobs?note=no%20such%20host").json()["jobs"];
  EXPECT_EQ(get_from("/api/v1/tubes/mail/jobs?note=no+such+host").json()["jobs"], written);
  EXPECT_EQ(get_from("/api/v1/tubes/mail/jobs?note=no+such*").json()["jobs"], written);
  EXPECT_THAT(get_from("/api/v1/tubes/mail/jobs?note=no%2Bsuch%2Bhost").json()["jobs"], IsEmpty());
  EXPECT_THAT(get_from("/api/v1/tubes/mail/jobs?note=such*").json()["jobs"], IsEmpty());
  const json page = get_from("/api/v1/tubes/mail/jobs?note=no%20such%20host&limit=1").json();
  EXPECT_THAT(ids(page["jobs"]), ElementsAre("1"));
  EXPECT_THAT(ids(get_from("/api/v1/tubes/mail/jobs?note=no%20such%20host&limit=1&after=" +
                           page["next"].get<std::string>())
                      .json()["jobs"]),
              ElementsAre("3"));
  EXPECT_EQ(get_from("/api/v1/tubes/mail/jobs?with=all").status, 400u);
}

// A tube whose jobs are collected, one that is found by a walk over all jobs, and all of them.
TEST_F(ApiTest, ListsJobsTheNewestFirst) {
  for (int i = 0; i < 1'300; ++i) put(i % 100 == 0 ? "rare" : "bulk", "a");
  for (const auto& [path, count] :
       {std::pair{"/api/v1/tubes/rare/jobs", 13u}, std::pair{"/api/v1/tubes/bulk/jobs", 1'287u},
        std::pair{"/api/v1/jobs", 1'300u}}) {
    std::vector<uint64_t> seen;
    for (std::string after = "0"; !after.empty();) {
      const json page =
          get_from(fmt::format("{}?order=newest&limit=10&after={}", path, after)).json();
      for (const std::string& id : ids(page["jobs"])) seen.push_back(std::stoull(id));
      after = page["next"].is_null() ? "" : page["next"].get<std::string>();
    }
    EXPECT_EQ(seen.size(), count) << path;
    EXPECT_TRUE(std::ranges::is_sorted(seen, std::greater())) << path;
  }
  EXPECT_EQ(get_from("/api/v1/jobs?order=up").status, 400u);
}

TEST_F(FailedApiTest, ActsOnASelection) {
  const Got kicked =
      change("POST", "/api/v1/jobs/batch", R"({"action":"kick","ids":["1","2","9"]})");
  EXPECT_EQ(kicked.json(), (json{{"done", {"1", "2"}}, {"left", {"9"}}, {"problem", nullptr}}));
  EXPECT_EQ(
      change("POST", "/api/v1/jobs/batch", R"({"action":"bury","ids":["1","9"]})").json()["done"],
      json({"1"}));
  EXPECT_EQ(get_from("/api/v1/jobs/1").json()["state"], "buried");
  EXPECT_EQ(change("POST", "/api/v1/jobs/batch", R"({"action":"move","to":"out","ids":["1","2"]})")
                .json()["done"],
            json({"1", "2"}));
  EXPECT_EQ(get_from("/api/v1/jobs/2").json()["tube"], "out");
  EXPECT_EQ(
      change("POST", "/api/v1/jobs/batch", R"({"action":"delete","ids":["1","2"]})").json()["left"],
      json::array());
  EXPECT_EQ(get_from("/api/v1/jobs/2").status, 404u);
  for (const char* const body :
       {R"({"action":"kick"})", R"({"ids":["1"]})", R"({"action":"x","ids":["1"]})",
        R"({"action":"kick","ids":[]})", R"({"action":"kick","ids":[1]})",
        R"({"action":"kick","ids":["0"]})", R"({"action":"kick","ids":["1"],"to":"a"})",
        R"({"action":"move","ids":["1"]})"}) {
    EXPECT_EQ(change("POST", "/api/v1/jobs/batch", body).status, 400u) << body;
  }
  std::string most = R"({"action":"kick","ids":["18446744073709551615")";
  for (size_t i = 1; i < Api::selected_max; ++i) most += R"(,"18446744073709551615")";
  EXPECT_LE(most.size() + 2, Api::body_bytes_max_of("POST", "/api/v1/jobs/batch"));
  EXPECT_EQ(change("POST", "/api/v1/jobs/batch", most + "]}").json()["left"].size(),
            Api::selected_max);
  EXPECT_EQ(change("POST", "/api/v1/jobs/batch", most + R"(,"1"]})").status, 400u);
}

TEST(NoteLines, AreTheFirstAndTheLastThatAreNotEmpty) {
  struct Case {
    std::string text;
    std::string line;
    std::string last_line;
  };
  const std::string longest(NoteLines::line_bytes_max, 'x');
  for (const Case& each :
       {Case{"", "", ""}, Case{" \r\n\t\n", "", ""}, Case{"one", "one", "one"},
        Case{"\n one \r\n\ntwo\n\n", "one", "two"},
        Case{"Traceback (most recent call last):\n  a\nE: b", "E: b", "E: b"},
        Case{longest, longest, longest}, Case{longest + "y", longest, longest},
        Case{longest.substr(1) + "\xc3\xa9", longest.substr(1), longest.substr(1)}}) {
    NoteLines note;
    set_lines(note, each.text);
    EXPECT_EQ(note.line, each.line) << each.text;
    EXPECT_EQ(note.last_line, each.last_line) << each.text;
  }
}

TEST(NoteCache, ForgetsTheOldest) {
  NoteCache cache;
  for (JobId id = 1; id <= NoteCache::notes_max; ++id) cache.keep(id, {.number = 1});
  EXPECT_NE(cache.find(1, 1), nullptr);
  EXPECT_EQ(cache.find(1, 2), nullptr);
  cache.keep(2, {.number = 2});
  EXPECT_EQ(cache.size(), NoteCache::notes_max);
  cache.keep(NoteCache::notes_max + 1, {.number = 1});
  EXPECT_EQ(cache.find(1, 1), nullptr);
  EXPECT_NE(cache.find(2, 2), nullptr);
  EXPECT_EQ(cache.size(), NoteCache::notes_max);
}

TEST_F(ApiTest, ShowsLimitsAndTheCluster) {
  json server = get_from("/api/v1/server").json();
  EXPECT_EQ(server["limits"]["jobs_max"], nullptr);
  EXPECT_EQ(server["cluster"], nullptr);
  limits_ = {.connections_max = 10,
             .jobs_max = 20,
             .tubes_max = 30,
             .memory_bytes_max = 40,
             .disk_low_water_bytes = 50};
  cluster_ = {.is_node = true, .node = "a", .leads = true, .lag = 3, .append_failure = "no space"};
  server = get_from("/api/v1/server").json();
  EXPECT_EQ(server["limits"]["connections_max"], 10);
  EXPECT_EQ(server["limits"]["memory_bytes_max"], 40);
  EXPECT_EQ(server["limits"]["disk_low_water_bytes"], 50);
  EXPECT_EQ(server["cluster"],
            (json{{"node", "a"}, {"leads", true}, {"lag", 3}, {"append_failure", "no space"}}));
}

class EndedApiTest : public ApiTest {
 protected:
  // Three jobs of "mail", of which one is buried with a note and all are flushed, and one that was
  // deleted a second later.
  EndedApiTest() {
    speak(
        "set-tube mail keep:60 keep-max:100\r\nuse mail\r\n"
        "put 7 0 60 1 tries:4 idp:k1\r\na\r\nput 0 90 30 2\r\n\xff\xfe\r\nput 0 0 60 0\r\n\r\n");
    speak("reserve-job 1\r\nnote 1 3\r\nwhy\r\nbury 1 7\r\nflush-tube mail\r\n");
    harness_.advance(nanos_per_second);
    speak("put 0 0 60 1\r\nd\r\n");
    speak("delete 4\r\nuse mail\r\nput 0 0 60 1\r\ne\r\ndelete 5\r\n");
  }
  std::vector<std::string> ids_of(const json& page) {
    std::vector<std::string> ids;
    for (const json& job : page["jobs"]) ids.push_back(job["id"]);
    return ids;
  }
  // The id of an operation that was begun, when it has ended.
  json done(const std::string& body) {
    const Got begun = change("POST", "/api/v1/operations", body);
    EXPECT_EQ(begun.status, 202u) << begun.body;
    harness_.pump();
    return get_from("/api/v1/operations/" + begun.json()["id"].get<std::string>()).json();
  }
};

TEST_F(EndedApiTest, ListsWhatHasEndedTheLastOneFirst) {
  const json page = get_from("/api/v1/tubes/mail/ended").json();
  EXPECT_EQ(ids_of(page), (std::vector<std::string>{"5", "3", "2", "1"}));
  EXPECT_EQ(page["next"], nullptr);
  EXPECT_EQ(page["jobs"][0]["ended"], "deleted");
  EXPECT_EQ(page["jobs"][0]["ended_age_seconds"], 0);
  EXPECT_EQ(page["jobs"][0]["notes"], 0);
  json last = page["jobs"][3];
  EXPECT_EQ(last["may"]["manage"], true);
  last.erase("may");
  EXPECT_EQ(last, (json{{"id", "1"},
                        {"tube", "mail"},
                        {"state", "ended"},
                        {"ended", "flushed"},
                        {"ended_age_seconds", 1},
                        {"ended_by", nullptr},
                        {"priority", 7},
                        {"age_seconds", 1},
                        {"delay_seconds", 0},
                        {"ttr_seconds", 60},
                        {"body_bytes", 1},
                        {"reserves", 1},
                        {"attempts", 0},
                        {"notes", 1}}));
  // Page by page it is the same.
  const json first = get_from("/api/v1/tubes/mail/ended?limit=3").json();
  EXPECT_EQ(ids_of(first), (std::vector<std::string>{"5", "3", "2"}));
  const json second =
      get_from("/api/v1/tubes/mail/ended?limit=3&after=" + first["next"].get<std::string>()).json();
  EXPECT_EQ(ids_of(second), (std::vector<std::string>{"1"}));
  EXPECT_EQ(get_from("/api/v1/tubes/none/ended").json(),
            (json{{"jobs", json::array()}, {"next", nullptr}}));
  EXPECT_EQ(get_from("/api/v1/tubes/a%20b/ended").status, 404u);
  EXPECT_EQ(get_from("/api/v1/tubes/mail/ended?limit=0").status, 400u);
  EXPECT_EQ(get_from("/api/v1/tubes/mail/ended?limit=1001").status, 400u);
  EXPECT_EQ(get_from("/api/v1/tubes/mail/ended?state=ready").status, 400u);
  // They are no jobs.
  EXPECT_EQ(get_from("/api/v1/jobs/1").status, 404u);
  EXPECT_EQ(ids_of(get_from("/api/v1/tubes/mail/jobs").json()).size(), 0u);
}

TEST_F(EndedApiTest, ListsWhatHasEndedInAllTubesInGroups) {
  speak("set-tube news keep-max:2\r\nuse news\r\nput 0 0 60 1\r\nf\r\ndelete 6\r\n");
  const json all = get_from("/api/v1/ended").json();
  EXPECT_EQ(all["tubes"], 2);
  EXPECT_EQ(all["all_tubes"], true);
  EXPECT_EQ(all["looked_at"], 5);
  EXPECT_EQ(all["next"], nullptr);
  const auto told = [](const json& page) {
    std::vector<std::string> lines;
    for (const json& group : page["groups"]) {
      lines.push_back(fmt::format("{} {} {}", group["tube"].get<std::string>(),
                                  group["ended"].get<std::string>(), group["jobs"].get<int>()));
    }
    return lines;
  };
  EXPECT_THAT(told(all), ElementsAre("mail deleted 1", "news deleted 1", "mail flushed 3"));
  json flush = all["groups"][2];
  EXPECT_EQ(flush["may"]["manage"], true);
  flush.erase("may");
  EXPECT_EQ(
      flush,
      (json{{"tube", "mail"},
            {"ended", "flushed"},
            {"ended_by", nullptr},
            {"jobs", 3},
            {"whole", true},
            {"newest",
             {{"id", "3"}, {"ended_at", "2023-11-14T22:13:20.000Z"}, {"ended_age_seconds", 1}}},
            {"oldest",
             {{"id", "1"}, {"ended_at", "2023-11-14T22:13:20.000Z"}, {"ended_age_seconds", 1}}},
            {"after", "4"}}));
  // The page of its tube begins with the newest of the group.
  EXPECT_THAT(ids_of(get_from("/api/v1/tubes/mail/ended?after=4").json()),
              ElementsAre("3", "2", "1"));
  EXPECT_THAT(told(get_from("/api/v1/ended?how=flushed,expired").json()),
              ElementsAre("mail flushed 3"));
  EXPECT_THAT(told(get_from("/api/v1/ended?tube=news").json()), ElementsAre("news deleted 1"));
  EXPECT_THAT(told(get_from("/api/v1/ended?by=ann").json()), IsEmpty());
  EXPECT_THAT(told(get_from("/api/v1/ended?since_seconds=1").json()),
              ElementsAre("mail deleted 1", "news deleted 1", "mail flushed 3"));
  harness_.advance(nanos_per_second);
  EXPECT_THAT(told(get_from("/api/v1/ended?since_seconds=1").json()),
              ElementsAre("mail deleted 1", "news deleted 1"));
  const json first = get_from("/api/v1/ended?limit=1").json();
  EXPECT_THAT(told(first), ElementsAre("mail deleted 1"));
  EXPECT_EQ(first["groups"][0]["whole"], false);  // Another job may have been deleted before it.
  const json second =
      get_from("/api/v1/ended?limit=2&after=" + first["next"].get<std::string>()).json();
  EXPECT_THAT(told(second), ElementsAre("news deleted 1", "mail flushed 3"));
  EXPECT_EQ(second["next"], nullptr);
  for (const char* const query :
       {"how=gone", "how=", "limit=0", "limit=1001", "after=x", "after=1-0-mail", "after=1-1-a%20b",
        "after=-1-1-mail", "since_seconds=0", "state=ready"}) {
    EXPECT_EQ(get_from(fmt::format("/api/v1/ended?{}", query)).status, 400u) << query;
  }
  EXPECT_EQ(get_from("/api/v1/ended?tube=a%20b").status, 404u);
  EXPECT_EQ(get_from("/api/v1/ended?tube=none").json()["tubes"], 0);
}

TEST_F(EndedApiTest, ListsNothingThatIsKeptNoLonger) {
  harness_.advance(59 * nanos_per_second);
  const json left = get_from("/api/v1/ended").json();
  ASSERT_EQ(left["groups"].size(), 1u);
  EXPECT_EQ(left["groups"][0]["ended"], "deleted");
  harness_.advance(nanos_per_second);
  EXPECT_EQ(get_from("/api/v1/ended").json()["groups"].size(), 0u);
  harness_.advance(nanos_per_second * 10);
  EXPECT_EQ(get_from("/api/v1/ended").json()["tubes"], 0);
}

// The tubes are chosen in steps, and one list is read at a time.
TEST_F(EndedApiTest, ListsAreMadeOneAfterTheOther) {
  std::string lines;
  for (int i = 0; i < 1'200; ++i) {
    lines += fmt::format("set-tube t{0} keep:60\r\nput 0 0 60 1 tube:t{0}\r\nx\r\ndelete {1}\r\n",
                         i, i + 6);
  }
  speak(lines);
  const json page = get_from("/api/v1/ended?limit=1000").json();
  EXPECT_EQ(page["tubes"], 1'201);
  EXPECT_EQ(page["groups"].size(), 1'000u);
  EXPECT_GT(steps(), 20);
  harness_.set_committing(false);
  speak("put 0 0 60 1 tube:mail\r\nx\r\ndelete 1206\r\n");  // What is read waits for it.
  lists_ = 0;
  const std::string asked = get("/api/v1/ended?tube=mail");
  const auto first = open(asked);
  auto second = open(asked);
  const auto third = open(asked);
  for (Answer* const each : {first.get(), second.get(), third.get()}) EXPECT_FALSE(run(*each));
  EXPECT_EQ(lists_, 1u);
  second.reset();
  harness_.set_committing(true);
  harness_.commit();
  EXPECT_TRUE(run(*first));
  EXPECT_TRUE(run(*third));
  EXPECT_EQ(lists_, 2u);
  // One whose client leaves while it is read gives its turn to the next.
  harness_.set_committing(false);
  speak("put 0 0 60 1 tube:mail\r\nx\r\ndelete 1207\r\n");
  auto fourth = open(asked);
  const auto fifth = open(asked);
  EXPECT_FALSE(run(*fourth));
  EXPECT_FALSE(run(*fifth));
  fourth.reset();
  EXPECT_FALSE(run(*fifth));
  EXPECT_EQ(lists_, 3u);
  harness_.set_committing(true);
  harness_.commit();
  EXPECT_TRUE(run(*fifth));
  EXPECT_EQ(lists_, 4u);
}

TEST_F(EndedApiTest, ShowsOneWithItsBodyAndNotes) {
  const json job = get_from("/api/v1/ended/1").json();
  EXPECT_EQ(job["tries"], 4);
  EXPECT_EQ(job["key"], "k1");
  EXPECT_EQ(job["buries"], 1);
  EXPECT_EQ(job["ended"], "flushed");
  EXPECT_EQ(job["ended_by"], nullptr);
  EXPECT_EQ(job["body_bytes"], 1);
  EXPECT_EQ(get_from("/api/v1/jobs/1/notes").json()["notes"][0]["text"], "why");
  EXPECT_EQ(get_from("/api/v1/ended/2/body").body, "\xff\xfe");
  EXPECT_EQ(get_from("/api/v1/ended/2/body?offset=1&length=5").body, "\xfe");
  EXPECT_EQ(get_from("/api/v1/ended/3/body").body, "");
  EXPECT_EQ(get_from("/api/v1/ended/2/body").fields.at("perennial-body-bytes"), "2");
  for (const std::string id : {"4", "6", "0", "x", "99999999999999999999999"}) {
    EXPECT_EQ(get_from("/api/v1/ended/" + id).status, 404u) << id;
    EXPECT_EQ(get_from("/api/v1/ended/" + id + "/body").status, 404u) << id;
    EXPECT_EQ(change("POST", "/api/v1/ended/" + id + "/restore", "{}").status, 404u) << id;
  }
  harness_.advance(60 * nanos_per_second);
  EXPECT_EQ(get_from("/api/v1/ended/1").status, 404u);
}

// What the queue tells of it then is longer than a line of beanstalkd's may be.
TEST_F(EndedApiTest, ShowsOneOfTheLongestNames) {
  const std::string tube(200, 't');
  const std::string key(200, 'k');
  speak("set-tube " + tube + " keep:60\r\nput 0 0 60 1 tries:1 dead:" + tube + " tube:" + key +
        "\r\nx\r\nreserve-job 6\r\nrelease 6 0 0\r\ndelete 6\r\n");
  const json job = get_from("/api/v1/ended/6").json();
  EXPECT_EQ(job["tube"], tube);
  EXPECT_EQ(job["from"], key);
}

TEST_F(EndedApiTest, TellsTheLineOfLife) {
  const auto told = [this](const std::string& id) {
    std::vector<std::string> rows;
    const json page = get_from("/api/v1/jobs/" + id + "/life").json();
    EXPECT_EQ(page["id"], id);
    for (const json& row : page["life"]) {
      EXPECT_EQ(row["by"], nullptr);
      const json detail = row["detail"].is_null() ? json("") : row["detail"];
      rows.push_back(row["what"].get<std::string>() + " " + detail.get<std::string>());
      const bool is_timed = row["what"] == "put" || row["what"] == "ended";
      EXPECT_EQ(row["time"].is_string(),
                is_timed || row["what"] == "reserved" || row["what"] == "note")
          << page;
    }
    return rows;
  };
  using Rows = std::vector<std::string>;
  EXPECT_EQ(told("1"), (Rows{"put ", "reserved ", "note why", "ended flushed"}));
  EXPECT_EQ(told("2"), (Rows{"put ", "ended flushed"}));
  EXPECT_EQ(told("5"), (Rows{"put ", "ended deleted"}));
  change("POST", "/api/v1/ended/1/restore", "{}");
  EXPECT_EQ(told("6"), (Rows{"put ", "reserved ", "note why", "restored 1", "now buried"}));
  speak("use mail\r\nput 0 0 60 1 tries:1 dead:late\r\nx\r\nreserve-job 7\r\nrelease 7 0 0\r\n");
  EXPECT_EQ(told("7"), (Rows{"put ", "reserved ", "dead mail", "now ready"}));
  for (const std::string id : {"1", "4", "99", "0", "x"}) {
    EXPECT_EQ(get_from("/api/v1/jobs/" + id + "/life").status, 404u) << id;
  }
}

TEST_F(EndedApiTest, PutsOneBackUnlessItsKeyIsTaken) {
  Got restored = change("POST", "/api/v1/ended/2/restore", "{}");
  EXPECT_EQ(restored.status, 200u);
  EXPECT_EQ(restored.json(), (json{{"id", "6"}}));
  const json job = get_from("/api/v1/jobs/6").json();
  EXPECT_EQ(job["state"], "delayed");
  EXPECT_EQ(job["restored"], "2");
  EXPECT_EQ(get_from("/api/v1/jobs/6/body").body, "\xff\xfe");
  EXPECT_EQ(change("POST", "/api/v1/ended/2/restore", "{}").status, 404u);
  speak("use mail\r\nput 0 0 60 1 idp:k1\r\nn\r\n");
  restored = change("POST", "/api/v1/ended/1/restore", "{}");
  EXPECT_EQ(restored.status, 409u);
  EXPECT_EQ(restored.json()["id"], "7");
  EXPECT_EQ(get_from("/api/v1/ended/1").status, 200u);  // It stays where it is.
  EXPECT_EQ(change("POST", "/api/v1/ended/1/restore", R"({"x":1})").status, 400u);
  speak("drain\r\n");
  EXPECT_EQ(change("POST", "/api/v1/ended/3/restore", "{}").status, 503u);
}

TEST_F(EndedApiTest, PutsASelectionBack) {
  speak("use mail\r\nput 0 0 60 1 idp:k1\r\nn\r\n");  // Job 6 has the key of job 1.
  const auto restore = [this](const std::string& ids) {
    return change("POST", "/api/v1/jobs/batch", R"({"action":"restore","ids":[)" + ids + "]}");
  };
  const Got restored = restore(R"("3","1","2","99")");
  EXPECT_EQ(restored.json(), (json{{"done", {"3", "2"}},
                                   {"new_ids", {"7", "8"}},
                                   {"left", {"1", "99"}},
                                   {"problem", "Job 6 has the key of one of them by now."}}));
  EXPECT_EQ(get_from("/api/v1/jobs/7").json()["restored"], "3");
  EXPECT_EQ(get_from("/api/v1/ended/1").status, 200u);
  EXPECT_EQ(restore(R"("1")").status, 409u);
  EXPECT_EQ(restore(R"("2")").json()["new_ids"], json::array());
}

TEST_F(EndedApiTest, PutsATubeBack) {
  for (
      const char* const body :
      {R"({"action":"restore"})", R"({"action":"restore","tube":"mail","since_seconds":0})",
       R"({"action":"restore","tube":"mail","how":[]})",
       R"({"action":"restore","tube":"mail","how":["gone"]})",
       R"({"action":"restore","tube":"mail","how":[7]})",
       R"({"action":"restore","tube":"mail","how":"flushed"})",
       R"({"action":"restore","tube":"mail","confirmed":3})",
       R"({"action":"restore","tube":"mail","states":["ready"]})",
       R"({"action":"delete","tube":"mail","states":["ready"],"confirmed":3,"how":["flushed"]})"}) {
    EXPECT_EQ(change("POST", "/api/v1/operations", body).status, 400u) << body;
  }
  // What ended in the last half second was deleted, not flushed.
  EXPECT_EQ(done(R"({"action":"restore","tube":"mail","since_seconds":0.5})")["done"], 0);
  const json fitting = done(R"({"action":"restore","tube":"mail","match":{"priority_min":7}})");
  EXPECT_EQ(fitting["done"], 1);
  EXPECT_EQ(get_from("/api/v1/tubes/mail").json()["buried"], 1);
  const json rest = done(R"({"action":"restore","tube":"mail","how":["deleted","flushed"]})");
  EXPECT_EQ(rest["state"], "done");
  EXPECT_EQ(rest["done"], 3);
  EXPECT_EQ(rest["how"], (json{"deleted", "flushed"}));
  EXPECT_EQ(rest["confirmed"], nullptr);
  EXPECT_EQ(rest["since_seconds"], nullptr);
  EXPECT_EQ(ids_of(get_from("/api/v1/tubes/mail/ended").json()).size(), 0u);
  // Another operation names nothing of it.
  EXPECT_EQ(done(R"({"action":"delete","tube":"mail","states":["buried"],"confirmed":1})")["how"],
            nullptr);
}

// A refusal is how an operation ends, and not the server.
TEST_F(EndedApiTest, SaysWhyATubeIsNotPutBack) {
  speak("set-tube mail drain:yes\r\n");
  const json refused = done(R"({"action":"restore","tube":"mail"})");
  EXPECT_EQ(refused["state"], "failed");
  EXPECT_EQ(refused["message"], "The server or the tube takes no jobs now: it is draining.");
  EXPECT_EQ(refused["done"], 0);
  EXPECT_EQ(ids_of(get_from("/api/v1/tubes/mail/ended").json()).size(), 4u);
}

// It goes page by page, each when the one before is on disk; so its progress can be seen, and it
// ends where it is cancelled.
TEST_F(EndedApiTest, ShowsHowFarATubeIsPutBack) {
  constexpr int jobs = 1'500;  // So many are flushed in one turn.
  std::string puts = "use mail\r\n";
  for (int i = 0; i < jobs; ++i) puts += "put 0 0 60 1\r\nx\r\n";
  speak("set-tube mail keep:60 keep-max:-\r\n");
  speak(puts + "flush-tube mail\r\n");
  harness_.set_committing(false);
  const json begun =
      change("POST", "/api/v1/operations", R"({"action":"restore","tube":"mail"})").json();
  const std::string path = "/api/v1/operations/" + begun["id"].get<std::string>();
  const json shown = get_from(path).json();
  EXPECT_EQ(shown["state"], "running");
  EXPECT_LT(shown["done"], jobs);
  const json ended = change("DELETE", path).json();
  EXPECT_EQ(ended["state"], "cancelled");
  harness_.set_committing(true);
  harness_.pump();
  const json tube = get_from("/api/v1/tubes/mail").json();
  const int back =
      tube["ready"].get<int>() + tube["buried"].get<int>() + tube["delayed"].get<int>();
  EXPECT_GT(back, 0);
  EXPECT_LT(back, jobs);
  EXPECT_EQ(back, ended["done"]);
}

TEST_F(ApiTest, ChangesOneJob) {
  put("mail", "a");
  EXPECT_EQ(change("POST", "/api/v1/jobs/1/bury", R"({"priority":9})").json()["buried"], true);
  EXPECT_EQ(get_from("/api/v1/jobs/1").json()["state"], "buried");
  EXPECT_EQ(get_from("/api/v1/jobs/1").json()["priority"], 9);
  EXPECT_EQ(change("POST", "/api/v1/jobs/1/bury", "{}").json()["buried"], true);
  EXPECT_EQ(change("POST", "/api/v1/jobs/1/kick", "{}").json()["kicked"], true);
  EXPECT_EQ(change("POST", "/api/v1/jobs/1/kick", "{}").status, 409u);
  EXPECT_EQ(
      change("POST", "/api/v1/jobs/1/change", R"({"delay_seconds":60,"tube":"other"})").status,
      200u);
  json job = get_from("/api/v1/jobs/1").json();
  EXPECT_EQ(job["state"], "delayed");
  EXPECT_EQ(job["tube"], "other");
  EXPECT_EQ(change("DELETE", "/api/v1/jobs/1").json()["deleted"], true);
  EXPECT_EQ(change("DELETE", "/api/v1/jobs/1").status, 404u);
  EXPECT_EQ(harness_.core().engine().view().job_count(), 0u);
}

// What a worker holds is the worker's.
TEST_F(ApiTest, LeavesReservedJobsAlone) {
  put("default", "a");
  const ConnId worker = harness_.open();
  harness_.send(worker, "reserve\r\n");
  for (const auto& [method, path, body] :
       {std::tuple("DELETE", "/api/v1/jobs/1", ""), std::tuple("POST", "/api/v1/jobs/1/kick", "{}"),
        std::tuple("POST", "/api/v1/jobs/1/bury", "{}"),
        std::tuple("POST", "/api/v1/jobs/1/change", R"({"priority":1})")}) {
    const Got refused = change(method, path, body);
    EXPECT_EQ(refused.status, 409u) << path;
    EXPECT_EQ(refused.json()["detail"],
              "The job is reserved: only the worker that holds it can do this.")
        << refused.body;
  }
  for (const std::string path : {"/api/v1/jobs/2/kick", "/api/v1/jobs/2/bury"})
    EXPECT_EQ(change("POST", path, "{}").status, 404u) << path;
  harness_.receive(worker);
  harness_.send(worker, "delete 1\r\n");
  EXPECT_EQ(harness_.receive(worker), "DELETED\r\n");
}

TEST_F(ApiTest, PausesAndKicksATube) {
  bury("mail", 3);
  EXPECT_DOUBLE_EQ(
      change("POST", "/api/v1/tubes/mail/pause", R"({"seconds":60})").json()["pause_seconds"],
      60.0);
  EXPECT_DOUBLE_EQ(get_from("/api/v1/tubes/mail").json()["pause_left_seconds"], 60.0);
  change("POST", "/api/v1/tubes/mail/pause", R"({"seconds":0})");
  EXPECT_DOUBLE_EQ(get_from("/api/v1/tubes/mail").json()["pause_left_seconds"], 0.0);
  EXPECT_EQ(change("POST", "/api/v1/tubes/mail/kick", R"({"count":2})").json()["kicked"], 2);
  EXPECT_EQ(change("POST", "/api/v1/tubes/none/kick", R"({"count":2})").status, 404u);
  EXPECT_EQ(change("POST", "/api/v1/tubes/none/pause", R"({"seconds":2})").status, 404u);
  EXPECT_EQ(get_from("/api/v1/tubes/none").status, 404u);
}

TEST_F(ApiTest, DrainsAndFillsAgain) {
  EXPECT_EQ(change("POST", "/api/v1/drain", "{}").json()["draining"], true);
  const Got refused = change("POST", "/api/v1/jobs", R"({"body":"x"})");
  EXPECT_EQ(refused.status, 503u);
  EXPECT_THAT(refused.json()["detail"], HasSubstr("draining"));
  EXPECT_EQ(change("POST", "/api/v1/undrain", "{}").json()["draining"], false);
  EXPECT_EQ(change("POST", "/api/v1/jobs", R"({"body":"x"})").status, 201u);
}

TEST_F(ApiTest, ShowsAndClosesConnections) {
  put("mail", "a");
  const ConnId worker = harness_.open();
  harness_.send(worker, "watch mail\r\nignore default\r\nreserve\r\nreserve\r\n");
  const ConnId idle = harness_.open();
  json page = get_from("/api/v1/connections").json();
  ASSERT_EQ(page["connections"].size(), 2u);
  const json& first = page["connections"][0];
  EXPECT_EQ(first["id"], fmt::format("{}", worker));
  EXPECT_EQ(first["address"], "127.0.0.1:4711");
  EXPECT_EQ(first["watched"], json({"mail"}));
  EXPECT_EQ(first["held"], 1);
  EXPECT_EQ(first["waiting"], true);
  page = get_from("/api/v1/connections?limit=1").json();
  EXPECT_EQ(page["next"], fmt::format("{}", worker));
  EXPECT_EQ(
      get_from(fmt::format("/api/v1/connections?after={}", worker)).json()["connections"][0]["id"],
      fmt::format("{}", idle));
  EXPECT_EQ(change("DELETE", fmt::format("/api/v1/connections/{}", worker)).status, 200u);
  EXPECT_TRUE(harness_.closed_by_server(worker));
  EXPECT_EQ(get_from("/api/v1/jobs/1").json()["state"], "ready");
  EXPECT_EQ(change("DELETE", fmt::format("/api/v1/connections/{}", worker)).status, 404u);
}

TEST_F(ApiTest, SaysWhoHoldsAJob) {
  put("mail", "a");
  const ConnId worker = harness_.open();
  harness_.send(worker, "watch mail\r\nreserve\r\n");
  const json held = {
      {"id", fmt::format("{}", worker)}, {"address", "127.0.0.1:4711"}, {"user", nullptr}};
  EXPECT_EQ(get_from("/api/v1/jobs/1").json()["held_by"], held);
  EXPECT_EQ(get_from("/api/v1/tubes/mail/jobs").json()["jobs"][0]["held_by"], held);
  EXPECT_EQ(get_from("/api/v1/search?q=a").json()["jobs"][0]["held_by"], held);
  harness_.send(worker, "release 1 0 0\r\n");
  EXPECT_FALSE(get_from("/api/v1/jobs/1").json().contains("held_by"));
}

// ---- Operations.

TEST_F(ApiTest, DeletesManyJobsWithoutMakingThemReady) {
  for (int i = 0; i < 30; ++i) put("mail", "a", 0, 1000);
  put("mail", "stays");
  const ConnId worker = harness_.open();
  const Got begun =
      operation(R"("action":"delete","tube":"mail","states":["delayed"],"confirmed":30)");
  EXPECT_EQ(begun.status, 202u);
  const json ended = get_from("/api/v1/operations/" + begun.json()["id"].get<std::string>()).json();
  EXPECT_EQ(ended["state"], "done");
  EXPECT_EQ(ended["done"], 30);
  harness_.send(worker, "watch mail\r\nreserve-with-timeout 0\r\nreserve-with-timeout 0\r\n");
  EXPECT_EQ(harness_.receive(worker), "WATCHING 2\r\nRESERVED 31 5\r\nstays\r\nTIMED_OUT\r\n");
}

// The request to cancel it may be the first of a turn, in which a part of the operation is due.
TEST_F(ApiTest, CountsWhatACancelledOperationHasDone) {
  constexpr int count = 12'000;
  std::string puts = "use mail\r\n";
  for (int i = 0; i < count; ++i) puts += "put 0 0 60 1\r\na\r\n";
  speak(puts);
  ASSERT_EQ(get_from("/api/v1/tubes/mail").json()["ready"], count);
  const Got begun =
      operation(R"("action":"delete","tube":"mail","states":["ready"],"confirmed":12000)");
  const std::string path = "/api/v1/operations/" + begun.json()["id"].get<std::string>();
  const int before = get_from(path).json()["done"];
  harness_.skip(nanos_per_ms);
  const json ended = change("DELETE", path).json();
  EXPECT_EQ(ended["state"], "cancelled");
  const int done = ended["done"];
  EXPECT_GT(done, before);
  EXPECT_EQ(get_from("/api/v1/tubes/mail").json()["ready"], count - done);
  EXPECT_EQ(get_from(path).json()["done"], done);
}

TEST_F(ApiTest, MovesAndKicksManyJobs) {
  bury("mail", 5);
  EXPECT_EQ(operation(R"("action":"move","tube":"mail","states":["buried"],"to":"b","confirmed":5)")
                .status,
            202u);
  EXPECT_EQ(get_from("/api/v1/tubes/b").json()["ready"], 5);
  bury("mail", 4);
  EXPECT_EQ(operation(R"("action":"kick","tube":"mail","states":["buried"],"confirmed":4)").status,
            202u);
  const json all = get_from("/api/v1/operations").json()["operations"];
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]["action"], "kick");  // The newest first.
  EXPECT_EQ(all[0]["done"], 4);
  EXPECT_EQ(all[1]["to"], "b");
  EXPECT_EQ(all[1]["done"], 5);
}

// T31: what is confirmed is a number that a person has seen.
TEST_F(ApiTest, AsksAgainWhenManyMoreHaveCome) {
  for (int i = 0; i < 111; ++i) put("mail", "a");
  const std::string rest = R"("action":"delete","tube":"mail","states":["ready"],"confirmed":)";
  const Got refused = operation(rest + "100");
  EXPECT_EQ(refused.status, 409u);
  EXPECT_EQ(refused.json()["error"], "conflict");
  EXPECT_EQ(refused.json()["count"], 111);
  EXPECT_EQ(harness_.core().engine().view().job_count(), 111u);
  EXPECT_EQ(operation(rest + "101").status, 202u);
  EXPECT_EQ(harness_.core().engine().view().job_count(), 0u);
}

TEST_F(ApiTest, KicksTheStatesThatAreAskedFor) {
  bury("mail", 1);
  put("mail", "a", 0, 100);
  EXPECT_EQ(operation(R"("action":"kick","tube":"mail","states":["delayed"],"confirmed":1)").status,
            202u);
  EXPECT_EQ(get_from("/api/v1/tubes/mail").json()["buried"], 1);
  EXPECT_EQ(get_from("/api/v1/tubes/mail").json()["ready"], 1);
  put("mail", "a", 0, 100);
  EXPECT_EQ(
      operation(R"("action":"kick","tube":"mail","states":["delayed","buried"],"confirmed":2)")
          .status,
      202u);
  EXPECT_EQ(get_from("/api/v1/tubes/mail").json()["ready"], 3);
}

// As a list shows them.
TEST_F(ApiTest, OperatesOnTheJobsThatFit) {
  for (int i = 0; i < 20; ++i) put("mail", "a", i);
  harness_.advance(60 * nanos_per_second);
  put("mail", "young", 0);
  put("other", "old", 0);
  const auto count = [&](const std::string& query) {
    return get_from("/api/v1/tubes/mail/jobs/count?" + query).json()["count"];
  };
  EXPECT_EQ(count(""), 21);
  EXPECT_EQ(count("priority_max=4"), 6);
  EXPECT_EQ(count("priority_max=4&age_seconds_min=60"), 5);
  EXPECT_EQ(count("priority_max=4&age_seconds_min=61"), 0);
  EXPECT_EQ(count("state=buried"), 0);
  EXPECT_EQ(get_from("/api/v1/tubes/none/jobs/count").json()["count"], 0);
  const Got begun = operation(R"("action":"delete","tube":"mail","states":["ready"],"confirmed":5,)"
                              R"("match":{"priority_max":4,"age_seconds_min":60})");
  EXPECT_EQ(begun.status, 202u);
  EXPECT_EQ(begun.json()["match"], json({{"priority_max", 4}, {"age_seconds_min", 60}}));
  const std::string path = "/api/v1/operations/" + begun.json()["id"].get<std::string>();
  EXPECT_EQ(get_from(path).json()["done"], 5);
  EXPECT_EQ(count("priority_max=4"), 1);
  EXPECT_EQ(operation(R"("action":"move","tube":"mail","to":"b","states":["ready"],"confirmed":9,)"
                      R"("match":{"priority_min":10,"priority_max":18})")
                .status,
            202u);
  EXPECT_EQ(get_from("/api/v1/tubes/b").json()["ready"], 9);
  bury("kicked", 3);
  EXPECT_EQ(operation(R"("action":"kick","tube":"kicked","states":["buried"],"confirmed":0,)"
                      R"("match":{"reserves_min":2}})")
                .status,
            400u);
  EXPECT_EQ(operation(R"("action":"kick","tube":"kicked","states":["buried"],"confirmed":0,)"
                      R"("match":{"reserves_min":2})")
                .status,
            202u);
  EXPECT_EQ(get_from("/api/v1/tubes/kicked").json()["buried"], 3);
  EXPECT_EQ(operation(R"("action":"kick","tube":"kicked","states":["buried"],"confirmed":3,)"
                      R"("match":{"reserves_min":1,"reserves_max":1,"timeouts_max":0})")
                .status,
            202u);
  EXPECT_EQ(get_from("/api/v1/tubes/kicked").json()["buried"], 0);
}

// What is counted and confirmed is what fits, however many jobs there are besides.
TEST_F(ApiTest, AsksAgainWhenManyMoreFit) {
  for (int i = 0; i < 200; ++i) put("mail", "a", i % 2);
  const std::string rest =
      R"("action":"delete","tube":"mail","states":["ready"],"match":{"priority_max":0},"confirmed":)";
  const Got refused = operation(rest + "89");
  EXPECT_EQ(refused.status, 409u);
  EXPECT_EQ(refused.json()["count"], 100);
  EXPECT_EQ(operation(rest + "90").status, 202u);
  EXPECT_EQ(harness_.core().engine().view().job_count(), 100u);
}

// The count of a tube with very many jobs takes many steps.
TEST_F(ApiTest, CountsManyJobsInSteps) {
  constexpr size_t jobs = 3 * JobCounter::jobs_per_step;
  std::string batches;
  for (size_t i = 0; i < jobs / 500; ++i) {
    batches += "put-batch 500 6498 tube:mail\r\n";
    for (int job = 0; job < 500; ++job) batches += "0 0 60 1\r\na\r\n";
  }
  speak(batches);
  EXPECT_EQ(harness_.core().engine().view().job_count(), jobs);
  const int before = steps();
  EXPECT_EQ(get_from("/api/v1/tubes/mail/jobs/count?priority_max=0").json()["count"], jobs);
  EXPECT_GE(steps() - before, 4);
  const int between = steps();
  EXPECT_EQ(get_from("/api/v1/tubes/mail/jobs/count").json()["count"], jobs);
  EXPECT_EQ(steps() - between, 1);
}

// ---- Bad input.

TEST_F(ApiTest, RefusesBadRequests) {
  put("mail", "a");
  struct Case {
    std::string method;
    std::string path;
    std::string body;
    unsigned status;
    std::string message;
  };
  const std::string deep = R"({"body":)" + std::string(70, '[') + std::string(70, ']') + "}";
  std::string wide = R"({"a":0)";
  for (int i = 0; i < json_members_max; ++i) wide += fmt::format(R"(,"m{}":{{}})", i);
  wide += "}";
  const std::vector<Case> cases = {
      {"GET", "/api/v1/tubes?limit=0", "", 400, "limit must be a whole number from 1 to 1000"},
      {"GET", "/api/v1/tubes?limit=1001", "", 400, "limit"},
      {"GET", "/api/v1/tubes?limit=1&limit=2", "", 400, "limit"},
      {"GET", "/api/v1/tubes?sort=nothing", "", 400, "sort"},
      {"GET", "/api/v1/tubes?order=up", "", 400, "order"},
      {"GET", "/api/v1/tubes?match=%zz", "", 400, "match"},
      {"GET", "/api/v1/jobs?state=red", "", 400, "state must be"},
      {"GET", "/api/v1/jobs?after=x", "", 400, "after"},
      {"GET", "/api/v1/jobs?priority_min=-1", "", 400, "priority_min"},
      {"GET", "/api/v1/tubes/mail/jobs?age_seconds_max=1.5", "", 400, "age_seconds_max"},
      {"GET", "/api/v1/search?q=a%00b", "", 400, "q is not well-formed"},
      {"GET", "/api/v1/jobs/1/body?length=65537", "", 400, "length"},
      {"GET", "/api/v1/events?topics=tube:a%0d%0ab", "", 400, "topics"},
      {"POST", "/api/v1/jobs", "", 400, "body"},
      {"POST", "/api/v1/jobs", "[1]", 400, "1 to 1000 JSON objects"},
      {"POST", "/api/v1/jobs", "7", 400, "one JSON object"},
      {"POST", "/api/v1/jobs", "{", 400, "one JSON object"},
      {"POST", "/api/v1/jobs", deep, 400, "too deeply"},
      {"POST", "/api/v1/jobs", wide, 400, "too many members"},
      {"POST", "/api/v1/jobs", R"({"body":1})", 400, "body must be a text"},
      {"POST", "/api/v1/jobs", R"({"body":"a","body_base64":"YQ=="})", 400, "Either"},
      {"POST", "/api/v1/jobs", R"({"body_base64":"YQ="})", 400, "well-formed"},
      {"POST", "/api/v1/jobs", R"({"body_base64":"Y Q="})", 400, "well-formed"},
      {"POST", "/api/v1/jobs", R"({"body":"a","more":1})", 400, "'more'"},
      {"POST", "/api/v1/jobs", R"({"body":"a","priority":-1})", 400, "priority"},
      {"POST", "/api/v1/jobs", R"({"body":"a","priority":4294967296})", 400, "priority"},
      {"POST", "/api/v1/jobs", R"({"body":"a","delay_seconds":-1})", 400, "delay_seconds"},
      {"POST", "/api/v1/jobs", R"({"body":"a","ttr_seconds":1e99})", 400, "ttr_seconds"},
      {"POST", "/api/v1/jobs", R"({"body":"a","tube":"a b"})", 400, "no name of a tube"},
      {"POST", "/api/v1/jobs", R"({"body":"a","tube":"a\r\ndelete 1"})", 400, "no name of a tube"},
      {"POST", "/api/v1/jobs", R"({"body":"a","key":"a\r\nb"})", 400, "key"},
      {"POST", "/api/v1/jobs/1/change", "{}", 400, "One of"},
      {"POST", "/api/v1/tubes/mail/pause", "{}", 400, "seconds is missing"},
      {"POST", "/api/v1/tubes/mail/kick", "{}", 400, "count is missing"},
      {"POST", "/api/v1/operations", "{}", 400, "action must be"},
      {"POST", "/api/v1/operations",
       R"({"action":"delete","tube":"mail","states":[],"confirmed":1})", 400, "states"},
      {"POST", "/api/v1/operations", R"({"action":"delete","tube":"mail","states":["ready"]})", 400,
       "confirmed"},
      {"POST", "/api/v1/operations",
       R"({"action":"kick","tube":"mail","states":["ready"],"confirmed":1})", 400, "kicked"},
      {"POST", "/api/v1/operations",
       R"({"action":"kick","tube":"mail","states":["buried"],"confirmed":1,"match":7})", 400,
       "match must be an object"},
      {"POST", "/api/v1/operations",
       R"({"action":"kick","tube":"mail","states":["buried"],"confirmed":1,"match":{"a":7}})", 400,
       "no member 'a'"},
      {"POST", "/api/v1/operations",
       R"({"action":"kick","tube":"mail","states":["buried"],"confirmed":1,)"
       R"("match":{"age_seconds_min":-1}})",
       400, "age_seconds_min"},
      {"GET", "/api/v1/tubes/mail/jobs/count?age_seconds_min=x", "", 400, "age_seconds_min"},
      {"GET", "/api/v1/tubes/mail/jobs/count?state=none", "", 400, "state"},
      {"POST", "/api/v1/operations",
       R"({"action":"move","tube":"mail","to":"mail","states":["ready"],"confirmed":1})", 400,
       "another tube"},
      {"PUT", "/api/v1/jobs", "", 405, "GET, HEAD, POST only"},
      {"OPTIONS", "/api/v1/jobs", "", 405, "GET, HEAD, POST only"},
      {"GET", "/api/v1/nothing", "", 404, "nothing"},
      {"GET", "/api/v1/jobs/", "", 404, "nothing"},
      {"GET", "/api/v1/jobs/1/", "", 404, "nothing"},
      {"GET", "/api/v1/tubes/%00", "", 404, "nothing"},
  };
  for (const Case& each : cases) {
    const Got answer = change(each.method, each.path, each.body);
    EXPECT_EQ(answer.status, each.status) << each.method << " " << each.path << " " << each.body;
    EXPECT_THAT(answer.json()["detail"].get<std::string>(), HasSubstr(each.message));
  }
  const Got plain =
      got("POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n\r\n"
          R"({"body":"a"})");
  EXPECT_EQ(plain.status, 415u);
  EXPECT_EQ(harness_.core().engine().view().job_count(), 1u);
}

TEST_F(ApiTest, AllowsAnAddressSoManyRequests) {
  rights_.address = "192.0.2.1";
  for (int i = 0; i < 200; ++i) ASSERT_EQ(get_from("/api/v1/session").status, 200u);
  const Got refused = get_from("/api/v1/session");
  EXPECT_EQ(refused.status, 429u);
  EXPECT_EQ(refused.json()["error"], "too_many_requests");
  EXPECT_EQ(refused.fields.at("retry-after"), "1");
  // Balancers and Prometheus are never refused, however many share the address of a proxy.
  EXPECT_EQ(get_from("/livez").body, "ok\n");
  harness_.advance(nanos_per_second);
  EXPECT_EQ(get_from("/api/v1/session").status, 200u);
}

// T5: neither a GET nor a page of another site changes anything.
TEST_F(ApiTest, IsChangedByNoOtherSite) {
  const std::string body = R"({"body":"a"})";
  struct Case {
    std::string fields;
    unsigned status;
  };
  for (const Case& each :
       std::vector<Case>{{"Sec-Fetch-Site: cross-site\r\n", 403},
                         {"Sec-Fetch-Site: same-site\r\n", 403},
                         {"Sec-Fetch-Site: none\r\n", 403},
                         {"Sec-Fetch-Site: same-origin\r\nOrigin: http://evil.test\r\n", 201},
                         {"Origin: http://evil.test\r\n", 403},
                         {"Origin: null\r\n", 403},
                         {"Origin: http://localhost.evil.test\r\n", 403},
                         {"Origin: http://localhost\r\n", 201},
                         {"", 201}}) {
    EXPECT_EQ(change("POST", "/api/v1/jobs", body, each.fields).status, each.status) << each.fields;
  }
  const uint64_t jobs = harness_.core().engine().view().job_count();
  EXPECT_EQ(jobs, 3u);
  for (const Api::Route& each : Api::routes()) {
    std::string path(each.path);
    if (const size_t at = path.find('{'); at != std::string::npos) {
      path.replace(at, path.find('}') - at + 1, "1");
    }
    if (path != "/api/v1/events") get_from(path);
  }
  EXPECT_EQ(harness_.core().engine().view().job_count(), jobs);
  EXPECT_FALSE(harness_.core().is_draining());
}

// ---- Search.

TEST_F(ApiTest, SearchesInBodies) {
  for (int i = 1; i <= 500; ++i) put(i % 2 == 0 ? "even" : "odd", fmt::format("order {} ", i));
  json page = get_from("/api/v1/search?q=order%2010%20").json();
  EXPECT_THAT(ids(page["jobs"]), ElementsAre("10"));
  EXPECT_EQ(page["looked_at"], 500);
  EXPECT_EQ(page["next"], nullptr);
  page = get_from("/api/v1/search?q=order%201&tube=even&limit=3").json();
  EXPECT_THAT(ids(page["jobs"]), ElementsAre("10", "12", "14"));
  page = get_from("/api/v1/search?q=order%201&tube=even&limit=3&after=" +
                  page["next"].get<std::string>())
             .json();
  EXPECT_THAT(ids(page["jobs"]), ElementsAre("16", "18", "100"));
  EXPECT_THAT(get_from("/api/v1/search?q=order&state=buried").json()["jobs"], IsEmpty());
  EXPECT_EQ(get_from("/api/v1/search?q=").status, 400u);
  EXPECT_EQ(get_from("/api/v1/search").status, 400u);
}

TEST_F(ApiTest, SearchesForValuesInBodies) {
  put("mail", R"({"customer": {"id": 42}, "items": [{"sku": "a"}, {"sku": "b c"}]})");
  put("mail", R"({"customer": {"id": "42"}})");
  put("mail", "customer.id = 42");
  const std::string search = "/api/v1/search?path=$.";
  EXPECT_THAT(ids(get_from(search + "customer.id&equals=42").json()["jobs"]), ElementsAre("1"));
  EXPECT_THAT(ids(get_from(search + "customer.id&equals=%2242%22").json()["jobs"]),
              ElementsAre("2"));
  EXPECT_THAT(ids(get_from(search + "items[*].sku&equals=b%20c").json()["jobs"]), ElementsAre("1"));
  EXPECT_EQ(get_from(search + "customer.id&equals=42").json()["looked_at"], 3);
  EXPECT_THAT(ids(get_from(search + "a&equals=").json()["jobs"]), IsEmpty());
  const std::string longest(Searches::bytes_max, 'a');
  EXPECT_EQ(get_from(search + "a&equals=" + longest).status, 200u);
  EXPECT_EQ(get_from(search + "a&equals=" + longest + "a").status, 400u);
  EXPECT_EQ(get_from("/api/v1/search?path=$." + longest + "&equals=1").status, 400u);
  for (const char* bad : {"path=$.a", "equals=1", "path=a&equals=1", "path=&equals=1",
                          "q=a&path=$.a&equals=1", "q=a&equals=1", "path=$.%00&equals=1"}) {
    EXPECT_EQ(get_from(std::string("/api/v1/search?") + bad).status, 400u) << bad;
  }
}

// What is read at once is bounded, so that little is read for a client that has left.
TEST_F(ApiTest, SearchesInFewLargeBodiesAtATime) {
  for (int i = 0; i < 100; ++i) put("large", std::string(65'535, 'a'));
  const json page = get_from("/api/v1/search?q=a").json();
  EXPECT_EQ(page["jobs"].size(), 100u);
  EXPECT_EQ(page["looked_at"], 100);
  EXPECT_EQ(page["next"], nullptr);
  // 64 of them are 64 bytes less than 4 MiB.
  EXPECT_THAT(reads_, ElementsAre(65, 35));
  reads_.clear();
  for (int i = 0; i < 250; ++i) put("small", "a");
  get_from("/api/v1/search?q=b&tube=small");
  EXPECT_THAT(reads_, ElementsAre(200, 50));
}

TEST_F(ApiTest, SearchesForOneAtATime) {
  put("mail", "a");
  std::unique_ptr<Answer> search = open(get("/api/v1/search?q=a"));
  EXPECT_EQ(search->step(), Answer::Step::Waits);
  EXPECT_EQ(get_from("/api/v1/search?q=a").status, 429u);
  // The client leaves while the pool reads.
  search.reset();
  ASSERT_EQ(searched_.size(), 1u);
  searched_.front()();
  searched_.clear();
  EXPECT_EQ(get_from("/api/v1/search?q=a").json()["jobs"].size(), 1u);
}

// ---- Events.

TEST_F(ApiTest, StreamsWhatChanges) {
  put("mail", "a");
  const auto stream = open(get("/api/v1/events?topics=server,tube:mail,tube:none,operations"));
  ASSERT_TRUE(run(*stream));
  const Response head = stream->take();
  EXPECT_TRUE(head.is_endless);
  EXPECT_THAT(head.content_type, HasSubstr("text/event-stream"));
  EXPECT_THAT(head.body, AllOf(HasSubstr("retry: 3000\n\n"), HasSubstr("event: server\ndata: {"),
                               HasSubstr("event: tube:mail\ndata: {\"name\":\"mail\",\"ready\":1"),
                               HasSubstr("event: tube:none\ndata: null\n\n"),
                               HasSubstr("event: operations\ndata: {\"operations\":[]}\n\n")));
  put("mail", "b");
  int woken = 0;
  stream->wake = [&] { ++woken; };
  api_.on_time();
  EXPECT_EQ(woken, 1);
  EXPECT_THAT(stream->more(), HasSubstr("event: tube:mail\ndata: {\"name\":\"mail\",\"ready\":2"));
  EXPECT_FALSE(stream->is_over());
}

// A body is read as a whole, since only then its hash can be checked. Its windows read it once.
TEST_F(ApiTest, ReadsABodyOnceForAllItsWindows) {
  put("mail", "0123456789");
  put("mail", "abc");
  const auto reads = [&] {
    const core::AnswerCounts& counts = harness_.core().answer_counts();
    return counts.bodies_found + counts.bodies_missed;
  };
  const auto window = [&](const std::string& query) {
    const Got got = get_from("/api/v1/jobs/1/body?" + query);
    EXPECT_EQ(got.fields.at("perennial-body-bytes"), "10");
    EXPECT_EQ(got.fields.at("content-type"), "application/octet-stream");
    return got.body;
  };
  EXPECT_EQ(window("length=4"), "0123");
  EXPECT_EQ(window("offset=4&length=4"), "4567");
  EXPECT_EQ(window("offset=8&length=4"), "89");
  EXPECT_EQ(window("offset=10"), "");
  EXPECT_EQ(window("offset=0"), "0123456789");
  EXPECT_EQ(reads(), 1u);
  // What comes whole needs no further window, and takes no place.
  EXPECT_EQ(get_from("/api/v1/jobs/2/body").body, "abc");
  EXPECT_EQ(reads(), 2u);
  EXPECT_EQ(window("offset=9"), "9");
  EXPECT_EQ(reads(), 2u);
  // The last one is kept, for ten seconds after its last window.
  EXPECT_EQ(get_from("/api/v1/jobs/2/body?length=1").body, "a");
  EXPECT_EQ(window("offset=9"), "9");
  EXPECT_EQ(reads(), 4u);
  harness_.advance(BodyWindows::life - 1);
  api_.on_time();
  EXPECT_EQ(window("offset=9"), "9");
  EXPECT_EQ(reads(), 4u);
  harness_.advance(BodyWindows::life);
  api_.on_time();
  EXPECT_EQ(window("offset=9"), "9");
  EXPECT_EQ(reads(), 5u);
  EXPECT_EQ(change("DELETE", "/api/v1/jobs/1").status, 200u);
  EXPECT_EQ(get_from("/api/v1/jobs/1/body?offset=9").status, 404u);
}

TEST(BodyWindows, KeepOneBodyUpToALimit) {
  BodyWindows windows(1000);
  windows.keep(1, std::string(1000, 'a'), 0);
  EXPECT_EQ(windows.find(1, 0)->size(), 1000u);
  EXPECT_EQ(windows.find(2, 0), nullptr);
  windows.keep(2, std::string(1001, 'b'), 0);
  EXPECT_EQ(windows.find(2, 0), nullptr);
  EXPECT_NE(windows.find(1, 0), nullptr);
  windows.keep(3, std::string(100, 'c'), 0);
  EXPECT_EQ(windows.find(1, 0), nullptr);
  EXPECT_EQ(*windows.find(3, 5), std::string(100, 'c'));
  windows.on_time(BodyWindows::life + 4);
  EXPECT_NE(windows.find(3, 5), nullptr);
  windows.on_time(BodyWindows::life + 5);
  EXPECT_EQ(windows.find(3, 5), nullptr);
  EXPECT_LT(windows.bytes(), 100u);
}

TEST_F(ApiTest, BoundsStreams) {
  std::vector<std::unique_ptr<Answer>> streams;
  for (size_t i = 0; i < Events::streams_max; ++i) streams.push_back(open(get("/api/v1/events")));
  EXPECT_EQ(get_from("/api/v1/events").status, 503u);
  streams.pop_back();
  EXPECT_EQ(open(get("/api/v1/events"))->step(), Answer::Step::Whole);
  std::string many = "/api/v1/events?topics=server";
  for (int i = 0; i < 20; ++i) many += ",server";
  EXPECT_EQ(get_from(many).status, 400u);
}

TEST_F(ApiTest, SaysInOneAnswerWhoAsksAndWhatTheServerSays) {
  EXPECT_FALSE(get_from("/api/v1/session").json().contains("server"));
  const json session = get_from("/api/v1/session?with=server").json();
  EXPECT_EQ(session["users"], false);
  EXPECT_EQ(session["serves"], true);
  EXPECT_EQ(session["server"], get_from("/api/v1/server").json());
  EXPECT_EQ(get_from("/api/v1/session?with=tubes").status, 400u);
}

// ---- Users.

class ApiUsers : public ApiTest {
 protected:
  ApiUsers() {
    users({{.name = "operator",
            .tokens = {common::token_record(admin_)},
            .uids = {7},
            .grants = {{{"*"}, {Verb::Produce, Verb::Consume, Verb::Inspect, Verb::Manage}},
                       {{}, {Verb::Monitor, Verb::Admin}}}},
           {.name = "mailer",
            .tokens = {common::token_record(mailer_)},
            .grants = {{{"mail"}, {Verb::Inspect}}, {{"out"}, {Verb::Produce}}}}});
  }
  void users(std::vector<access::User> users) {
    harness_.core().set_users(std::make_shared<const access::Users>(std::move(users)));
    sign_ins_.on_users();
    harness_.pump();
  }
  static std::string bearer(const std::string& token) {
    return "Host: localhost\r\nAuthorization: Bearer " + token + "\r\n";
  }
  static std::string shown(const std::string& token) {
    return "Authorization: Bearer " + token + "\r\n";
  }
  // The field of the cookie that a sign-in has set.
  std::string sign_in(const std::string& token) {
    const Got got = change("POST", "/api/v1/session", R"({"token":")" + token + "\"}",
                           "Sec-Fetch-Site: same-origin\r\n");
    EXPECT_EQ(got.status, 200u);
    const std::string cookie = got.fields.at("set-cookie");
    EXPECT_THAT(cookie, AllOf(HasSubstr("; HttpOnly"), HasSubstr("; SameSite=Strict"),
                              HasSubstr("; Path=/")));
    return "Cookie: other=1; " + cookie.substr(0, cookie.find(';')) + "\r\n";
  }
  void put_as_admin(const std::string& tube) {
    EXPECT_EQ(
        change("POST", "/api/v1/jobs", R"({"body":"a","tube":")" + tube + "\"}", shown(admin_))
            .status,
        201u);
  }

  const std::string admin_ = *common::make_token("admin");
  const std::string mailer_ = *common::make_token("mailer");
};

// Whoever has not shown who it is uses up what its address may send, and nobody else's requests.
TEST_F(ApiUsers, AreAllowedAsManyRequestsAsTheirAddress) {
  rights_.address = "192.0.2.1";
  rights_.may_send_token = true;
  for (int i = 0; i < 200; ++i) ASSERT_EQ(get_from("/api/v1/session").status, 200u);
  EXPECT_EQ(got(get("/api/v1/session", bearer("wrong"))).status, 429u);
  const std::string cookie = "Host: localhost\r\n" + sign_in(admin_);
  for (const std::string& who : {bearer(admin_), bearer(mailer_)}) {
    EXPECT_EQ(got(get("/api/v1/session", who)).status, 200u);
  }
  for (int i = 1; i < 200; ++i) ASSERT_EQ(got(get("/api/v1/session", cookie)).status, 200u);
  EXPECT_EQ(got(get("/api/v1/session", bearer(admin_))).status, 429u);
  EXPECT_EQ(got(get("/api/v1/session", bearer(mailer_))).status, 200u);
}

TEST_F(ApiTest, TellsOfTheCluster) {
  EXPECT_EQ(get_from("/api/v1/server/details").json()["cluster"], nullptr);
  cluster_ = {.is_node = true, .name = "orders", .node = "a", .leads = true};
  cluster_facts_ = ClusterFacts{.epoch = 4,
                                .newest = 70,
                                .applied = 70,
                                .flushed = 60,
                                .clock_ahead = -500 * nanos_per_ms,
                                .standbys = 2,
                                .standby_lag = 3};
  cluster_facts_->appends.record_time(2 * nanos_per_ms);
  cluster_facts_->appends.record_time(4 * nanos_per_ms);
  const json cluster = get_from("/api/v1/server/details").json()["cluster"];
  EXPECT_EQ(cluster["name"], "orders");
  EXPECT_EQ(cluster["newest"], 70);
  EXPECT_EQ(cluster["flushed"], 60);
  EXPECT_EQ(cluster["standbys"], 2);
  EXPECT_EQ(cluster["standby_lag"], 3);
  EXPECT_EQ(cluster["append_failure"], nullptr);
  EXPECT_DOUBLE_EQ(cluster["append_mean_seconds"], 0.003);
  EXPECT_DOUBLE_EQ(cluster["clock_ahead_seconds"], -0.5);
  cluster_.append_failure = "etcdserver: mvcc: database space exceeded";
  EXPECT_EQ(get_from("/api/v1/server/details").json()["cluster"]["append_failure"],
            "etcdserver: mvcc: database space exceeded");
}

TEST_F(ApiUsers, SeeOfTheServerAndTheLogWhatTheyMay) {
  const std::string path = "/api/v1/session?with=server";
  EXPECT_FALSE(get_from(path).json().contains("server"));
  EXPECT_FALSE(got(get(path, bearer(mailer_))).json().contains("server"));
  EXPECT_EQ(got(get(path, bearer(admin_))).json()["server"]["user"], "operator");

  cluster_ = {.is_node = true, .name = "orders", .node = "b"};
  cluster_facts_ = ClusterFacts{.epoch = 4};
  EXPECT_EQ(get_from("/api/v1/node").status, 401u);
  const json mailer = got(get("/api/v1/node", bearer(mailer_))).json();
  EXPECT_EQ(mailer["cluster"]["name"], "orders");
  EXPECT_EQ(mailer["cluster"]["log"], nullptr);
  EXPECT_EQ(got(get("/api/v1/node", bearer(admin_))).json()["cluster"]["log"]["epoch"], 4);
}

// A person signs in before the server has jobs, and stays signed in when it has.
TEST_F(ApiUsers, SignInBeforeTheJobsAreLoaded) {
  is_loaded_ = false;
  const std::string cookie = sign_in(admin_);
  const auto session = [&] {
    return got(get("/api/v1/session", "Host: localhost\r\n" + cookie)).json();
  };
  EXPECT_EQ(session()["serves"], false);
  EXPECT_EQ(session()["user"], "operator");
  is_loaded_ = true;
  EXPECT_EQ(session()["serves"], true);
  EXPECT_EQ(session()["user"], "operator");
}

TEST_F(ApiUsers, NeedAllRightsForWhatNodesAskFor) {
  const std::string path = "/cluster/checkpoint";
  EXPECT_EQ(get_from(path).status, 401u);
  EXPECT_EQ(got(get(path, bearer(mailer_))).status, 403u);
  EXPECT_EQ(got(get(path, bearer(admin_))).body, "a copy");
  EXPECT_EQ(route(), path);
  EXPECT_EQ(got(get("/cluster/other", bearer(admin_))).status, 404u);
}

// What the row of a path needs comes before anything of the request is looked at.
TEST_F(ApiUsers, NeedTheVerbOfAPathWhateverTheyAsk) {
  EXPECT_EQ(change("POST", "/api/v1/reload", R"({"odd":1})", shown(mailer_)).status, 403u);
  EXPECT_EQ(change("POST", "/api/v1/reload", R"({"odd":1})", shown(admin_)).status, 400u);
  EXPECT_EQ(got(get("/api/v1/connections?limit=x", bearer(mailer_))).status, 403u);
  EXPECT_EQ(got(get("/api/v1/connections?limit=x", bearer(admin_))).status, 400u);
}

TEST_F(ApiUsers, AreAskedForAToken) {
  for (const Api::Route& each : Api::routes()) {
    std::string path(each.path);
    if (const size_t at = path.find('{'); at != std::string::npos) {
      path.replace(at, path.find('}') - at + 1, "1");
    }
    const unsigned status = change(std::string(each.method), path).status;
    EXPECT_EQ(status == 401, !each.is_open || (each.method == "POST" && status == 401)) << path;
  }
  EXPECT_EQ(get_from("/metrics").status, 401u);
  EXPECT_EQ(get_from("/metrics/tubes").status, 401u);
  EXPECT_EQ(get_from("/livez").status, 200u);
  EXPECT_EQ(got(get("/api/v1/server", bearer("prn_x_wrong"))).status, 401u);
  EXPECT_EQ(got(get("/api/v1/server", bearer(admin_))).json()["user"], "operator");
  EXPECT_EQ(got(get("/metrics", bearer(admin_))).status, 200u);
  EXPECT_EQ(got(get("/metrics/tubes", bearer(admin_))).status, 200u);
  EXPECT_EQ(got(get("/metrics/tubes", bearer(mailer_))).status, 403u);
  EXPECT_EQ(got(get("/metrics", bearer(mailer_))).status, 403u);
}

// A request counts once, however long its answer goes on.
TEST_F(ApiUsers, AreCountedByWhatTheyShow) {
  const access::AccessCounts& counts = harness_.core().gate().counts();
  EXPECT_EQ(got(get("/metrics", bearer(admin_))).status, 200u);
  EXPECT_EQ(got(get("/metrics", bearer("prn_x_wrong"))).status, 401u);
  const auto stream = open(get("/api/v1/events?topics=operations", bearer(admin_)));
  ASSERT_TRUE(run(*stream));
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(stream->is_over());
  EXPECT_EQ(counts.of(access::SignInMethod::Bearer), (access::SignInCounts{.ok = 2, .failed = 1}));
  const std::string cookie = sign_in(admin_);
  EXPECT_EQ(got(get("/api/v1/tubes", "Host: localhost\r\n" + cookie)).status, 200u);
  EXPECT_EQ(counts.of(access::SignInMethod::Cookie), (access::SignInCounts{.ok = 1}));
  EXPECT_EQ(counts.of(access::SignInMethod::Bearer).ok, 2u);
  // What the connection shows.
  rights_.identity = access::UserName{"operator"};
  EXPECT_EQ(got(get("/api/v1/tubes", "Host: localhost\r\n")).status, 200u);
  rights_.identity = access::PeerProcess{.uid = 7, .gid = 7};
  EXPECT_EQ(got(get("/api/v1/tubes", "Host: localhost\r\n")).status, 200u);
  EXPECT_EQ(counts.of(access::SignInMethod::Process), (access::SignInCounts{.ok = 1}));
}

TEST_F(ApiUsers, SeeAndChangeWhatTheyAreGranted) {
  put_as_admin("mail");
  put_as_admin("secret");
  const auto as_mailer = [&](const std::string& path) { return got(get(path, bearer(mailer_))); };
  EXPECT_EQ(as_mailer("/api/v1/tubes").json()["total"], 1);
  EXPECT_EQ(as_mailer("/api/v1/tubes/mail").status, 200u);
  EXPECT_EQ(as_mailer("/api/v1/tubes/secret").status, 403u);
  EXPECT_EQ(as_mailer("/api/v1/tubes/mail/jobs").status, 200u);
  EXPECT_EQ(as_mailer("/api/v1/tubes/secret/jobs").status, 403u);
  EXPECT_EQ(as_mailer("/api/v1/jobs").status, 403u);
  EXPECT_EQ(as_mailer("/api/v1/jobs/1").status, 200u);
  EXPECT_EQ(as_mailer("/api/v1/jobs/1/body").body, "a");
  EXPECT_EQ(as_mailer("/api/v1/server").status, 403u);
  EXPECT_EQ(as_mailer("/api/v1/work-times").status, 403u);
  EXPECT_EQ(as_mailer("/api/v1/server/details").status, 403u);
  EXPECT_EQ(as_mailer("/api/v1/connections").status, 403u);
  EXPECT_EQ(as_mailer("/api/v1/configuration").status, 403u);
  EXPECT_EQ(as_mailer("/api/v1/events?topics=tube:secret").status, 403u);
  // T17: another's job and none at all look the same.
  EXPECT_EQ(as_mailer("/api/v1/jobs/2").body, as_mailer("/api/v1/jobs/3").body);
  EXPECT_EQ(as_mailer("/api/v1/jobs/2/body").body, as_mailer("/api/v1/jobs/3/body").body);
  const auto change_as_mailer = [&](const std::string& method, const std::string& path,
                                    const std::string& body) {
    return change(method, path, body, shown(mailer_)).status;
  };
  EXPECT_EQ(change_as_mailer("DELETE", "/api/v1/jobs/1", ""), 404u);
  EXPECT_EQ(change_as_mailer("POST", "/api/v1/jobs/1/kick", "{}"), 403u);
  EXPECT_EQ(change_as_mailer("POST", "/api/v1/jobs", R"({"tube":"mail","body":"a"})"), 403u);
  EXPECT_EQ(change_as_mailer("POST", "/api/v1/jobs", R"({"tube":"out","body":"a"})"), 201u);
  EXPECT_EQ(change_as_mailer("POST", "/api/v1/drain", "{}"), 403u);
  EXPECT_EQ(change_as_mailer("POST", "/api/v1/checkpoint", "{}"), 403u);
  EXPECT_EQ(change_as_mailer("DELETE", "/api/v1/connections/1", ""), 403u);
  EXPECT_EQ(
      change_as_mailer("POST", "/api/v1/operations",
                       R"({"action":"delete","tube":"mail","states":["ready"],"confirmed":1})"),
      403u);
  EXPECT_THAT(as_mailer("/api/v1/operations").json()["operations"], IsEmpty());
  EXPECT_EQ(harness_.core().engine().view().job_count(), 3u);
}

TEST_F(ApiUsers, AreToldOfTubesThatAreGoneIfTheySeeThem) {
  put_as_admin("mail");
  put_as_admin("secret");
  api_.on_time();
  EXPECT_EQ(change("DELETE", "/api/v1/jobs/1", "", shown(admin_)).status, 200u);
  EXPECT_EQ(change("DELETE", "/api/v1/jobs/2", "", shown(admin_)).status, 200u);
  EXPECT_EQ(got(get("/api/v1/tubes?gone=yes", bearer(admin_))).json()["gone"], 2);
  const json seen = got(get("/api/v1/tubes?gone=yes", bearer(mailer_))).json();
  EXPECT_EQ(seen["gone"], 1);
  EXPECT_EQ(seen["tubes"].back()["name"], "mail");
}

TEST_F(ApiUsers, AreNamedByTheAuditOfWhatIsNoCommand) {
  const ConnId worker = harness_.open();
  harness_.send(worker, "auth " + admin_ + "\r\n");
  rights_.address = "192.0.2.1";
  const std::string path = fmt::format("/api/v1/connections/{}", worker);
  EXPECT_EQ(change("DELETE", path, "", shown(mailer_)).status, 403u);
  EXPECT_EQ(change("POST", "/api/v1/reload", "{}", shown(mailer_)).status, 403u);
  EXPECT_EQ(change("DELETE", path, "", shown(admin_)).status, 200u);
  EXPECT_EQ(change("POST", "/api/v1/reload", "{}", shown(admin_)).status, 200u);
  EXPECT_EQ(got(get("/api/v1/audit", bearer(mailer_))).status, 403u);
  const json lines = got(get("/api/v1/audit", bearer(admin_))).json()["lines"];
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["action"], "reload");
  EXPECT_EQ(lines[1]["action"], "close-connection");
  EXPECT_EQ(lines[1]["subject"], fmt::format("connection {}", worker));
  EXPECT_EQ(lines[1]["user"], "operator");
  EXPECT_EQ(lines[1]["via"], "http");
  EXPECT_EQ(lines[1]["from"], "192.0.2.1");
}

// What no grant allows counts and is audited, whether a command or the port itself refuses it.
TEST_F(ApiUsers, AreCountedAndAuditedByWhatTheyAreRefused) {
  put_as_admin("mail");
  put_as_admin("secret");
  struct Case {
    std::string method;
    std::string path;
    std::string body;
    Verb missing;
    std::string line;
  };
  const Case cases[] = {
      {"GET", "/api/v1/server", "", Verb::Monitor, "GET /api/v1/server "},
      {"GET", "/api/v1/server/details", "", Verb::Monitor, "GET /api/v1/server/details "},
      {"GET", "/api/v1/audit", "", Verb::Admin, "GET /api/v1/audit "},
      {"GET", "/api/v1/configuration", "", Verb::Admin, "GET /api/v1/configuration "},
      {"GET", "/api/v1/tubes/secret", "", Verb::Inspect, "GET /api/v1/tubes/{tube} secret"},
      {"GET", "/api/v1/tubes/secret/jobs", "", Verb::Inspect,
       "GET /api/v1/tubes/{tube}/jobs secret"},
      {"GET", "/api/v1/search?q=a&tube=secret", "", Verb::Inspect, "GET /api/v1/search secret"},
      {"GET", "/api/v1/history?series=tube:secret", "", Verb::Inspect,
       "GET /api/v1/history secret"},
      {"GET", "/api/v1/history", "", Verb::Monitor, "GET /api/v1/history "},
      {"GET", "/api/v1/events?topics=tube:secret,server", "", Verb::Inspect,
       "GET /api/v1/events secret"},
      {"GET", "/api/v1/events", "", Verb::Monitor, "GET /api/v1/events "},
      {"POST", "/api/v1/operations",
       R"({"action":"delete","tube":"mail","states":["ready"],"confirmed":1})", Verb::Manage,
       "POST /api/v1/operations mail"},
      {"GET", "/api/v1/tubes/secret/jobs/count", "", Verb::Inspect,
       "GET /api/v1/tubes/{tube}/jobs/count secret"},
      {"POST", "/api/v1/reload", "{}", Verb::Admin, "POST /api/v1/reload "},
      {"DELETE", "/api/v1/connections/1", "", Verb::Admin, "DELETE /api/v1/connections/{id} "},
      {"POST", "/api/v1/drain", "{}", Verb::Admin, "drain "},
  };
  for (const Case& each : cases) {
    harness_.advance(nanos_per_second);  // Ten lines a second.
    refusals_.clear();
    const access::AccessCounts before = harness_.core().gate().counts();
    EXPECT_EQ(change(each.method, each.path, each.body, shown(mailer_)).status, 403u) << each.path;
    EXPECT_THAT(refusals_, ElementsAre("mailer " + each.line));
    access::AccessCounts after = harness_.core().gate().counts();
    --after.forbidden[static_cast<size_t>(each.missing)];
    EXPECT_EQ(after.forbidden, before.forbidden) << each.path;
  }
  // What is hidden is counted as what is not there, so that the metrics tell nobody of it.
  harness_.advance(nanos_per_second);
  const access::AccessCounts before = harness_.core().gate().counts();
  refusals_.clear();
  EXPECT_EQ(got(get("/api/v1/jobs/2", bearer(mailer_))).status, 404u);
  EXPECT_THAT(refusals_, ElementsAre("mailer GET /api/v1/jobs/{id} job 2"));
  EXPECT_EQ(harness_.core().gate().counts().forbidden, before.forbidden);
  // No verb would have allowed it.
  refusals_.clear();
  EXPECT_EQ(change("POST", "/api/v1/drain", "{}", shown(admin_) + "Sec-Fetch-Site: cross-site\r\n")
                .status,
            403u);
  EXPECT_THAT(refusals_, ElementsAre("operator POST /api/v1/drain asked for by a page of another "
                                     "site"));
  EXPECT_EQ(harness_.core().gate().counts().forbidden, before.forbidden);
}

// Of several jobs, and of a dead tube, only what is missing.
TEST_F(ApiUsers, AreToldWhichTubeOfAPutIsMissing) {
  const auto detail = [&](const std::string& body) {
    const Got refused = change("POST", "/api/v1/jobs", body, shown(mailer_));
    EXPECT_EQ(refused.status, 403u) << body;
    return refused.json()["detail"].get<std::string>();
  };
  EXPECT_THAT(detail(R"({"body":"a","tube":"out","dead":"graves"})"),
              HasSubstr("{tubes: [\"graves\"], verbs: [produce]}"));
  EXPECT_THAT(detail(R"([{"body":"a","tube":"out"},{"body":"a","tube":"secret"}])"),
              HasSubstr("{tubes: [\"secret\"], verbs: [produce]}"));
  EXPECT_THAT(detail(R"({"body":"a"})"), HasSubstr("{tubes: [\"default\"], verbs: [produce]}"));
  EXPECT_EQ(
      change("POST", "/api/v1/jobs", R"({"body":"a","tube":"out","dead":"out"})", shown(mailer_))
          .status,
      201u);
  const Got worker = change("POST", "/api/v1/tubes/out/reservations?tube=more", "", shown(mailer_));
  EXPECT_EQ(worker.status, 403u);
  EXPECT_THAT(worker.json()["detail"].get<std::string>(), HasSubstr("verbs: [consume]}"));
  EXPECT_THAT(
      got(get("/api/v1/server", bearer("prn_nobody_" + std::string(43, 'x')))).json()["detail"],
      testing::StartsWith("The field Authorization has no token of a user"));
}

TEST_F(ApiUsers, AreToldWhichVerbIsMissingAndWhatGivesIt) {
  put_as_admin("mail");
  const auto detail = [&](const std::string& method, const std::string& path,
                          const std::string& body) {
    const Got got = change(method, path, body, shown(mailer_));
    EXPECT_EQ(got.status, 403u) << path;
    return got.json()["detail"].get<std::string>();
  };
  const std::string begin = "No grant of the user allows this. It needs the verb ";
  EXPECT_EQ(detail("GET", "/api/v1/server", ""),
            begin + "monitor. A grant that gives it: {tubes: [\"*\"], verbs: [monitor]}.");
  EXPECT_EQ(detail("GET", "/api/v1/tubes/secret/jobs", ""),
            begin +
                "inspect on the tube secret. A grant that gives it: {tubes: [\"secret\"], "
                "verbs: [inspect]}.");
  EXPECT_EQ(detail("GET", "/api/v1/jobs", ""),
            begin +
                "inspect on every tube. A grant that gives it: {tubes: [\"*\"], verbs: "
                "[inspect]}.");
  // What the queue refuses.
  EXPECT_EQ(detail("POST", "/api/v1/tubes/mail/pause", R"({"seconds":1})"),
            begin +
                "manage on the tube mail. A grant that gives it: {tubes: [\"mail\"], verbs: "
                "[manage]}.");
  EXPECT_EQ(detail("POST", "/api/v1/jobs", R"({"tube":"mail","body":"a"})"),
            begin +
                "produce on the tube mail. A grant that gives it: {tubes: [\"mail\"], verbs: "
                "[produce]}.");
  EXPECT_EQ(
      detail("POST", "/api/v1/jobs/1/kick", "{}"),
      begin +
          "manage on the tube of job 1. A grant that gives it: {tubes: [TUBE], verbs: [manage]}.");
  EXPECT_EQ(detail("POST", "/api/v1/checkpoint", "{}"),
            begin + "admin. A grant that gives it: {tubes: [\"*\"], verbs: [admin]}.");
}

// Failures of other tubes are not there, whoever has read their notes before.
TEST_F(ApiUsers, SeeFailuresOfTheirTubes) {
  for (const char* const tube : {"mail", "secret"}) {
    put_as_admin(tube);
    const std::string id = tube == std::string("mail") ? "1" : "2";
    change("POST", "/api/v1/jobs/" + id + "/notes", R"({"text":"why"})", shown(admin_));
    change("POST", "/api/v1/jobs/" + id + "/bury", "{}", shown(admin_));
  }
  EXPECT_EQ(got(get("/api/v1/failures", bearer(admin_))).json()["groups"].size(), 2u);
  const json seen = got(get("/api/v1/failures", bearer(mailer_))).json();
  ASSERT_EQ(seen["groups"].size(), 1u);
  EXPECT_EQ(seen["failed"], 1);
  EXPECT_EQ(seen["groups"][0]["tube"], "mail");
  EXPECT_EQ(seen["groups"][0]["note"]["user"], "operator");
  EXPECT_EQ(seen["groups"][0]["may"]["manage"], false);
  EXPECT_EQ(got(get("/api/v1/failures?tube=secret", bearer(mailer_))).status, 403u);
}

// A topic that is refused is named, and does not refuse the others.
TEST_F(ApiUsers, GetTheEventsThatTheyMaySee) {
  refusals_.clear();
  const auto stream =
      open(get("/api/v1/events?topics=server,tube:mail,tube:secret,operations", bearer(mailer_)));
  ASSERT_TRUE(run(*stream));
  const std::string head = stream->take().body;
  EXPECT_THAT(head,
              AllOf(HasSubstr("event: refused\ndata: [\"server\",\"tube:secret\"]\n\n"),
                    HasSubstr("event: tube:mail\ndata: "), HasSubstr("event: operations\ndata: {"),
                    Not(HasSubstr("event: server")), Not(HasSubstr("event: tube:secret"))));
  EXPECT_THAT(stream->more(), Not(HasSubstr("refused")));
  EXPECT_THAT(refusals_, ElementsAre("mailer GET /api/v1/events "));
}

// A checkpoint is the whole database: whoever gets it, and whoever does not, has a line.
TEST_F(ApiUsers, WhoeverAsksForACheckpointIsInTheAudit) {
  refusals_.clear();
  const auto ask_with = [&](const std::string& fields) {
    return got(get("/cluster/checkpoint", fields)).status;
  };
  EXPECT_EQ(ask_with("Host: localhost\r\n"), 401u);
  EXPECT_EQ(ask_with(bearer(mailer_)), 403u);
  EXPECT_THAT(refusals_, ElementsAre(" GET /cluster/ /cluster/checkpoint",
                                     "mailer GET /cluster/ /cluster/checkpoint"));
  EXPECT_EQ(ask_with(bearer(admin_)), 200u);
  const Json lines = audit_lines_.to_json(harness_.now());
  EXPECT_EQ(lines.front()["user"], "operator");
  EXPECT_EQ(lines.front()["subject"], "/cluster/checkpoint");
  EXPECT_EQ(lines.front()["refused"], false);
}

// Nobody from outside pushes out what users have done.
TEST(AuditLines, OfUnknownClientsAreKeptApart) {
  AuditLines lines;
  lines.add({.action = "drain", .user = "operator"}, 1);
  for (size_t i = 0; i < 10 * AuditLines::kept_max; ++i) {
    lines.add({.action = "sign-in", .from = "192.0.2.1", .refused = true}, 2);
  }
  lines.add({.action = "undrain", .user = "operator"}, 3);
  const Json shown = lines.to_json(3);
  ASSERT_EQ(shown.size(), AuditLines::kept_of_unknown_max + 2);
  EXPECT_EQ(shown.front()["action"], "undrain");
  EXPECT_EQ(shown[1]["user"], nullptr);
  EXPECT_EQ(shown.back()["action"], "drain");
}

// Somebody who asks in a loop does not fill the log.
TEST_F(ApiUsers, HaveTenLinesOfRefusalsASecond) {
  harness_.advance(nanos_per_second);
  const auto monitors = [&] {
    return harness_.core().gate().counts().forbidden[static_cast<size_t>(Verb::Monitor)];
  };
  const uint64_t before = monitors();
  for (int i = 0; i < 15; ++i) {
    EXPECT_EQ(got(get("/api/v1/server", bearer(mailer_))).status, 403u);
  }
  EXPECT_EQ(refusals_.size(), 10u);
  EXPECT_EQ(monitors(), before + 15);
}

TEST_F(ApiUsers, SeeNoWindowOfABodyThatAnotherHasAskedFor) {
  put_as_admin("secret");
  EXPECT_EQ(got(get("/api/v1/jobs/1/body?offset=1", bearer(admin_))).status, 200u);
  EXPECT_EQ(got(get("/api/v1/jobs/1/body?offset=1", bearer(admin_))).status, 200u);
  EXPECT_EQ(got(get("/api/v1/jobs/1/body?offset=1", bearer(mailer_))).status, 404u);
}

TEST_F(ApiUsers, AreToldWhatTheyMayDoWithATube) {
  put_as_admin("mail");
  const json all = {{"produce", true}, {"consume", true}, {"inspect", true}, {"manage", true}};
  const json inspect = {
      {"produce", false}, {"consume", false}, {"inspect", true}, {"manage", false}};
  const auto may = [&](const std::string& path, const std::string& token) {
    const json value = got(get(path, bearer(token))).json();
    if (value.contains("tubes")) return value["tubes"].back()["may"];
    return value.contains("jobs") ? value["jobs"][0]["may"] : value["may"];
  };
  for (const char* path : {"/api/v1/tubes/mail", "/api/v1/tubes", "/api/v1/tubes/mail/jobs",
                           "/api/v1/jobs/1", "/api/v1/search?q=a&tube=mail"}) {
    EXPECT_EQ(may(path, admin_), all) << path;
    EXPECT_EQ(may(path, mailer_), inspect) << path;
  }
  // Also of a tube that is not there: a put would make it.
  EXPECT_EQ(may("/api/v1/tubes/none", admin_), all);
}

// Whoever may not see connections is not told which one holds a job.
TEST_F(ApiUsers, SeeWhoHoldsAJobIfTheySeeConnections) {
  put_as_admin("mail");
  const ConnId worker = harness_.open();
  harness_.send(worker, "auth " + admin_ + "\r\nwatch mail\r\nreserve\r\n");
  const json seen = got(get("/api/v1/jobs/1", bearer(admin_))).json();
  EXPECT_EQ(seen["held_by"]["id"], fmt::format("{}", worker));
  EXPECT_EQ(seen["held_by"]["user"], "operator");
  for (const char* path : {"/api/v1/jobs/1", "/api/v1/tubes/mail/jobs"}) {
    const std::string shown = got(get(path, bearer(mailer_))).body;
    EXPECT_THAT(shown, HasSubstr("reserved"));
    EXPECT_THAT(shown, testing::Not(HasSubstr("held_by")));
  }
}

TEST_F(ApiUsers, SignInWithACookie) {
  const std::string cookie = sign_in(admin_);
  const auto session = [&] {
    return got(get("/api/v1/session", "Host: localhost\r\n" + cookie)).json();
  };
  EXPECT_EQ(session()["user"], "operator");
  EXPECT_EQ(session()["users"], true);
  // A change needs to say that it comes from the console: the browser sends the cookie with all.
  EXPECT_EQ(change("POST", "/api/v1/jobs", R"({"body":"a"})", cookie).status, 403u);
  EXPECT_EQ(
      change("POST", "/api/v1/jobs", R"({"body":"a"})", cookie + "Sec-Fetch-Site: same-origin\r\n")
          .status,
      201u);
  EXPECT_EQ(
      change("DELETE", "/api/v1/session", "", cookie + "Sec-Fetch-Site: same-origin\r\n").status,
      204u);
  EXPECT_EQ(session()["user"], nullptr);
  EXPECT_EQ(sign_ins_.count(), 0u);
}

TEST_F(ApiUsers, AreSignedOutWhenTheyAreGone) {
  const std::string cookie = sign_in(mailer_);
  const auto stream = open(get("/api/v1/events?topics=tube:mail", "Host: localhost\r\n" + cookie));
  ASSERT_TRUE(run(*stream));
  EXPECT_FALSE(stream->is_over());
  users({{.name = "operator", .tokens = {common::token_record(admin_)}}});
  EXPECT_TRUE(stream->is_over());
  EXPECT_EQ(got(get("/api/v1/tubes", "Host: localhost\r\n" + cookie)).status, 401u);
}

// Whoever was shut out stays so, also when a user of this name and this token is there again, and
// when nobody has asked meanwhile.
TEST_F(ApiUsers, AreSignedOutForEverWhenTheyAreGone) {
  const access::User admin = {.name = "operator", .tokens = {common::token_record(admin_)}};
  const access::User mailer = {.name = "mailer", .tokens = {common::token_record(mailer_)}};
  const access::User other = {.name = "other", .tokens = {common::token_record(mailer_)}};
  const access::User without = {.name = "mailer"};
  const auto status = [&](const std::string& cookie) {
    return got(get("/api/v1/tubes", "Host: localhost\r\n" + cookie)).status;
  };
  // The user is gone; its token is gone; its token is another's.
  for (const std::vector<access::User>& between :
       {std::vector{admin}, std::vector{admin, without}, std::vector{admin, other}}) {
    const std::string cookie = sign_in(mailer_);
    const std::string of_admin = sign_in(admin_);
    users({admin, mailer});
    EXPECT_EQ(status(cookie), 200u);  // A reload alone ends nothing.
    users(between);
    users({admin, mailer});
    EXPECT_EQ(status(cookie), 401u);
    EXPECT_EQ(status(of_admin), 200u);
  }
}

// Browsers keep the cookies of all ports of a host together.
TEST_F(ApiUsers, HaveACookieForEachPort) {
  struct Case {
    bool is_tls;
    std::string host;
    std::string name;
  };
  const Case cases[] = {{false, "localhost:11380", "perennial-11380"},
                        {false, "localhost", "perennial-80"},
                        {false, "[::1]:11380", "perennial-11380"},
                        {false, "[::1]", "perennial-80"},
                        {false, "localhost:", "perennial-80"},
                        {false, "localhost:a;b", "perennial-80"},
                        {false, "localhost:123456", "perennial-80"},
                        {true, "queue.test:11380", "__Host-perennial-11380"},
                        {true, "queue.test", "__Host-perennial-443"}};
  const std::string body = R"({"token":")" + admin_ + "\"}";
  for (const Case& each : cases) {
    rights_.is_tls = each.is_tls;
    const std::string host = "Host: " + each.host + "\r\n";
    const Got made =
        got(fmt::format("POST /api/v1/session HTTP/1.1\r\n{}Sec-Fetch-Site: same-origin\r\n"
                        "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                        host, body.size(), body));
    ASSERT_EQ(made.status, 200u) << each.host;
    const std::string set = made.fields.at("set-cookie");
    EXPECT_EQ(set.substr(0, set.find('=')), each.name) << each.host;
    const std::string cookie = "Cookie: " + set.substr(0, set.find(';')) + "\r\n";
    EXPECT_EQ(got(get("/api/v1/session", host + cookie)).json()["user"], "operator") << each.host;
    // The same value under the name of another port.
    EXPECT_EQ(got(get("/api/v1/session", "Host: localhost:7\r\n" + cookie)).json()["user"],
              nullptr);
  }
}

TEST(Fields, TakeTheTokenOutOfTheBodyOfASignIn) {
  struct Case {
    std::string body;
    std::string token;
    std::string left;
  };
  const Case cases[] = {
      {R"({"token":"abc"})", "abc", R"({"token":"xxx"})"},
      {"{ \"token\" :\n \"abc\" }", "abc", "{ \"token\" :\n \"xxx\" }"},
      {R"({"token":""})", "", R"({"token":""})"},
      {R"({"token":"a\u0062c"})", "", R"({"token":"a\u0062c"})"},
      {R"({"token":7})", "", R"({"token":7})"},
      {R"({"token":"abc)", "", R"({"token":"abc)"},
      {R"({"token")", "", R"({"token")"},
      {R"({"token":)", "", R"({"token":)"},
      {"", "", ""},
  };
  for (const Case& each : cases) {
    common::SecretText body(each.body);
    EXPECT_EQ(std::string_view(take_token(body)), each.token) << each.body;
    EXPECT_EQ(std::string_view(body), each.left) << each.body;
  }
}

TEST_F(ApiUsers, AreForgottenAfterAnHourWithoutARequest) {
  const std::string cookie = sign_in(admin_);
  const auto status = [&] {
    return got(get("/api/v1/tubes", "Host: localhost\r\n" + cookie)).status;
  };
  for (int hour = 0; hour < 12; ++hour) {
    EXPECT_EQ(status(), 200u) << hour;
    harness_.advance(SignIns::idle - nanos_per_second);
  }
  harness_.advance(60 * nanos_per_second);
  EXPECT_EQ(status(), 401u);  // After twelve hours, however busy.
  const std::string again = sign_in(admin_);
  harness_.advance(SignIns::idle);
  EXPECT_EQ(got(get("/api/v1/tubes", "Host: localhost\r\n" + again)).status, 401u);
}

// T12.
TEST_F(ApiUsers, MayNotGuessForLong) {
  rights_.address = "192.0.2.1";
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(change("POST", "/api/v1/session", R"({"token":"prn_x_wrong"})").status, 401u);
  }
  // A good token gets in all the same, so that nobody is locked out by others at the address.
  EXPECT_EQ(change("POST", "/api/v1/session", R"({"token":")" + admin_ + "\"}").status, 200u);
  EXPECT_EQ(got(get("/api/v1/tubes", bearer(admin_))).status, 200u);
  EXPECT_EQ(got(get("/api/v1/tubes", bearer("prn_x_wrong"))).status, 401u);
}

// An operation goes on with the rights of its user, and is its user's to see.
TEST_F(ApiUsers, OperateOnTheirTubes) {
  put_as_admin("mail");
  const std::string body = R"({"action":"delete","tube":"mail","states":["ready"],"confirmed":1})";
  const Got begun = change("POST", "/api/v1/operations", body, shown(admin_));
  EXPECT_EQ(begun.status, 202u);
  EXPECT_EQ(begun.json()["user"], "operator");
  EXPECT_EQ(harness_.core().engine().view().job_count(), 0u);
  EXPECT_EQ(got(get("/api/v1/operations/1", bearer(mailer_))).status, 404u);
  EXPECT_EQ(change("DELETE", "/api/v1/operations/1", "", shown(mailer_)).status, 404u);
}

}  // namespace
}  // namespace perennial::http
