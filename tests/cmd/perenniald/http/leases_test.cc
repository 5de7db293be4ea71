#include "cmd/perenniald/http/leases/leases.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/perenniald/http/leases/lease_tokens.h"
#include "cmd/perenniald/http/leases/places.h"
#include "tests/cmd/perenniald/http/port.h"

namespace perennial::http {
namespace {

using access::Verb;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr Nanos second = nanos_per_second;

// ---- Tokens and places.

TEST(LeaseTokens, StandForOneLeaseOfOneUser) {
  const LeaseTokens tokens;
  ASSERT_TRUE(tokens.has_key());
  const std::string token = tokens.make(7, "mailer");
  EXPECT_EQ(tokens.lease_of(token, "mailer"), 7U);
  EXPECT_EQ(tokens.make(UINT64_MAX, "").size(), token.size());
  EXPECT_EQ(tokens.lease_of(tokens.make(UINT64_MAX, ""), ""), UINT64_MAX);
  EXPECT_EQ(tokens.lease_of(token, "printer"), std::nullopt);
  EXPECT_EQ(tokens.lease_of(token, ""), std::nullopt);
  EXPECT_EQ(LeaseTokens().lease_of(token, "mailer"), std::nullopt);
}

TEST(LeaseTokens, AreNotTakenWithAnotherByte) {
  const LeaseTokens tokens;
  const std::string token = tokens.make(7, "mailer");
  for (size_t i = 0; i < token.size(); ++i) {
    std::string other = token;
    other[i] = other[i] == 'A' ? 'B' : 'A';
    EXPECT_EQ(tokens.lease_of(other, "mailer"), std::nullopt) << i;
    EXPECT_EQ(tokens.lease_of(token.substr(0, i), "mailer"), std::nullopt) << i;
  }
  for (const std::string end : {"A", "=", " ", "\n"}) {
    EXPECT_EQ(tokens.lease_of(token + end, "mailer"), std::nullopt);
  }
}

TEST(LeasePlaces, AreBoundedForAUserAndForAll) {
  using Verdict = Places::Verdict;
  constexpr Places::Max max = Leases::max;
  Places places;
  EXPECT_EQ(places.judge("a", max.of_user, max), Verdict::Free);
  places.take("a", max.of_user);
  EXPECT_EQ(places.judge("a", 1, max), Verdict::UserIsFull);
  places.take("b", max.all - max.of_user - 1);
  EXPECT_EQ(places.judge("b", 1, max), Verdict::Free);
  EXPECT_EQ(places.judge("c", 2, max), Verdict::ServerIsFull);
  places.give_back("a", 1);
  EXPECT_EQ(places.judge("c", 2, max), Verdict::Free);
  EXPECT_EQ(places.judge("a", 1, max), Verdict::Free);
}

// ---- Over HTTP, without users.

class LeasesTest : public Port {
 protected:
  void put(const std::string& tube, const std::string& body = "a", const std::string& more = "",
           int ttr = 10) {
    ASSERT_THAT(
        speak(fmt::format("put 5 0 {} {} tube:{}{}\r\n{}\r\n", ttr, body.size(), tube, more, body)),
        HasSubstr("INSERTED"));
  }
  static std::string post(const std::string& path, const std::string& fields = "") {
    return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\n" + fields +
           "Content-Length: 0\r\n\r\n";
  }
  json reserve(const std::string& query = "", const std::string& fields = "") {
    const Got got = change("POST", "/api/v1/tubes/mail/reservations" + query, "", fields);
    EXPECT_EQ(got.status, 200U) << got.body;
    return got.json()["reservations"];
  }
  std::string lease_of_one(const std::string& fields = "") {
    const json reserved = reserve("", fields);
    EXPECT_EQ(reserved.size(), 1U);
    return reserved.empty() ? "" : reserved[0].at("lease").get<std::string>();
  }
  Got finish(const std::string& lease, const std::string& fields = "") {
    return change("DELETE", "/api/v1/reservations/" + lease, "", fields);
  }
  Got call(const std::string& lease, const std::string& what, const std::string& body = "{}",
           const std::string& fields = "") {
    return change("POST", "/api/v1/reservations/" + lease + "/" + what, body, fields);
  }
  // Each call with a lease that has ended is answered 409, and nothing of the job changes.
  void expect_ended(const std::string& lease, JobId job, const std::string& fields = "") {
    const std::string before = state_of(job);
    EXPECT_EQ(finish(lease, fields).status, 409U);
    EXPECT_EQ(call(lease, "release", R"({"priority":1,"delay_seconds":5})", fields).status, 409U);
    EXPECT_EQ(call(lease, "bury", "{}", fields).status, 409U);
    EXPECT_EQ(call(lease, "touch", "{}", fields).status, 409U);
    const Got note = call(lease, "note", R"({"text":"why"})", fields);
    EXPECT_EQ(note.status, 409U);
    EXPECT_EQ(note.fields.at("content-type"), "application/problem+json");
    EXPECT_EQ(note.json()["error"], "conflict");
    EXPECT_EQ(state_of(job), before);
  }
  size_t queue_clients() const { return queue_.count(); }
  // All that stats-job says of it.
  std::string state_of(JobId job) {
    const auto stats = harness_.core().engine().view().job_statistics(job);
    return stats ? job_json(*stats).dump() : "none";
  }
};

TEST_F(LeasesTest, ReserveAndFinishAJob) {
  put("mail", "a letter");
  const json reserved = reserve("?count=10");
  ASSERT_EQ(reserved.size(), 1U);
  EXPECT_EQ(reserved[0]["body"], "a letter");
  EXPECT_EQ(reserved[0]["left_seconds"], 10.0);
  EXPECT_THAT(reserved[0]["ends_at"].get<std::string>(), HasSubstr("Z"));
  EXPECT_EQ(reserved[0]["job"]["id"], "1");
  EXPECT_EQ(reserved[0]["job"]["tube"], "mail");
  EXPECT_EQ(reserved[0]["job"]["state"], "reserved");
  EXPECT_EQ(reserved[0]["job"]["reserves"], 1);
  const std::string lease = reserved[0]["lease"];
  EXPECT_EQ(finish(lease).body, "{\"deleted\":true}\n");
  EXPECT_EQ(state_of(1), "none");
  EXPECT_EQ(queue_clients(), 0U);
  expect_ended(lease, 1);
}

TEST_F(LeasesTest, DoWhatTheCommandsDo) {
  put("mail", "a");
  std::string lease = lease_of_one();
  EXPECT_EQ(call(lease, "note", R"({"text":"why"})").json()["noted"], true);
  EXPECT_EQ(call(lease, "release", R"({"priority":3,"delay_seconds":1.5})").json()["released"],
            true);
  json job = get_from("/api/v1/jobs/1").json();
  EXPECT_EQ(job["state"], "delayed");
  EXPECT_EQ(job["priority"], 3);
  EXPECT_EQ(job["delay_seconds"], 1.5);
  EXPECT_EQ(job["notes"], 1);
  expect_ended(lease, 1);
  harness_.advance(2 * second);
  lease = lease_of_one();
  EXPECT_EQ(call(lease, "bury", R"({"priority":9})").json()["buried"], true);
  job = get_from("/api/v1/jobs/1").json();
  EXPECT_EQ(job["state"], "buried");
  EXPECT_EQ(job["priority"], 9);
  expect_ended(lease, 1);
  EXPECT_EQ(queue_clients(), 0U);
}

TEST_F(LeasesTest, TellADeadJob) {
  put("mail", "a", " tries:1");
  EXPECT_EQ(call(lease_of_one(), "release", R"({"count":false})").json()["dead"], false);
  EXPECT_EQ(call(lease_of_one(), "release").json()["dead"], true);
}

TEST_F(LeasesTest, AreRenewedByATouch) {
  put("mail");
  const std::string lease = lease_of_one();
  harness_.advance(8 * second);
  const json touched = call(lease, "touch").json();
  EXPECT_EQ(touched["left_seconds"], 10.0);
  harness_.advance(8 * second);
  api_.on_time();
  EXPECT_EQ(call(lease, "touch", R"({"seconds":2})").json()["left_seconds"], 2.0);
  harness_.advance(3 * second);
  expect_ended(lease, 1);
}

// A time that is too short is not taken for none, which is the whole ttr.
TEST_F(LeasesTest, AreNotTouchedForLessThanAJobMayHave) {
  put("mail");
  const std::string lease = lease_of_one();
  harness_.advance(4 * second);
  for (const char* const seconds : {"1e-9", "0.0004", "0.009"}) {
    const Got got = call(lease, "touch", fmt::format(R"({{"seconds":{}}})", seconds));
    EXPECT_EQ(got.status, 400U) << seconds;
    EXPECT_THAT(got.body, HasSubstr("0.01 or more, or 0.")) << seconds;
  }
  EXPECT_EQ(call(lease, "touch", R"({"seconds":0.01})").json()["left_seconds"], 0.01);
  EXPECT_EQ(call(lease, "touch", R"({"seconds":0})").json()["left_seconds"], 10.0);
}

TEST_F(LeasesTest, OfSeveralJobsEndOneByOne) {
  for (int i = 0; i < 3; ++i) put("mail", fmt::format("{}", i));
  const json reserved = reserve("?count=3");
  ASSERT_EQ(reserved.size(), 3U);
  EXPECT_EQ(queue_clients(), 1U);
  EXPECT_EQ(reserved[2]["body"], "2");
  EXPECT_EQ(finish(reserved[1]["lease"]).status, 200U);
  expect_ended(reserved[1]["lease"], 2);
  EXPECT_EQ(call(reserved[0]["lease"], "bury").status, 200U);
  EXPECT_EQ(finish(reserved[2]["lease"]).status, 200U);
  EXPECT_EQ(queue_clients(), 0U);
  EXPECT_EQ(get_from("/api/v1/jobs/1").json()["state"], "buried");
}

TEST_F(LeasesTest, ComeFromSeveralTubes) {
  put("print", "p");
  put("scan", "s");
  put("other", "o");
  const json reserved = reserve("?count=10&tube=print,scan&tube=print");
  ASSERT_EQ(reserved.size(), 2U);
  EXPECT_EQ(reserved[0]["body"], "p");
  EXPECT_EQ(reserved[1]["job"]["tube"], "scan");
}

TEST_F(LeasesTest, ShowABodyThatIsNoTextInBase64) {
  put("mail",
      "\xff\x00"
      "a");
  put("mail", std::string("\0a\xc3\xa9", 4));
  const json reserved = reserve("?count=2");
  EXPECT_EQ(reserved[0]["body_base64"], "/w==");
  EXPECT_FALSE(reserved[0].contains("body"));
  EXPECT_EQ(reserved[1]["body"], std::string("\0a\xc3\xa9", 4));
}

// ---- A late call.

TEST_F(LeasesTest, ThatAreLateLeaveAReadyJobAlone) {
  put("mail");
  const std::string lease = lease_of_one();
  harness_.advance(11 * second);
  expect_ended(lease, 1);
  EXPECT_EQ(get_from("/api/v1/jobs/1").json()["state"], "ready");
  EXPECT_EQ(get_from("/api/v1/jobs/1").json()["timeouts"], 1);
}

TEST_F(LeasesTest, ThatAreLateLeaveAJobOfAnotherAlone) {
  put("mail");
  const std::string lease = lease_of_one();
  harness_.advance(11 * second);
  const ConnId other = harness_.open();
  harness_.send(other, "watch mail\r\nreserve\r\n");
  expect_ended(lease, 1);
  harness_.send(other, "delete 1\r\n");
  EXPECT_THAT(harness_.receive(other), HasSubstr("DELETED"));
  expect_ended(lease, 1);
}

TEST_F(LeasesTest, ThatAreLateLeaveAJobAloneThatIsReservedAgain) {
  put("mail");
  const std::string first = lease_of_one();
  harness_.advance(11 * second);
  const std::string again = lease_of_one();
  EXPECT_NE(first, again);
  expect_ended(first, 1);
  EXPECT_EQ(finish(again).status, 200U);
  expect_ended(first, 1);
  expect_ended(again, 1);
}

// The clock is past the end, and no timer has told the engine so.
TEST_F(LeasesTest, AreLateBeforeTheTimerSaysSo) {
  put("mail");
  const std::string lease = lease_of_one();
  harness_.skip(11 * second);
  EXPECT_EQ(finish(lease).status, 409U);
  EXPECT_EQ(get_from("/api/v1/jobs/1").json()["state"], "ready");
}

TEST_F(LeasesTest, ThatHaveEndedCostNothing) {
  for (int i = 0; i < 5; ++i) put("mail");
  const json reserved = reserve("?count=5");
  harness_.advance(5 * second);
  call(reserved[0]["lease"], "touch");
  harness_.advance(6 * second);
  api_.on_time();
  EXPECT_EQ(queue_clients(), 1U);
  harness_.advance(6 * second);
  api_.on_time();
  EXPECT_EQ(queue_clients(), 0U);
}

TEST_F(LeasesTest, ThatNeverWereAreNotThere) {
  for (const std::string token : {"x", "AAAAAAAAAAE", "%00", "..%2f"}) {
    EXPECT_EQ(finish(token).status, 404U) << token;
    EXPECT_EQ(call(token, "touch").status, 404U) << token;
  }
}

TEST_F(LeasesTest, OfTwoCallsAtOnceLetOnlyTheFirstDoAnything) {
  put("mail");
  const std::string lease = lease_of_one();
  const std::string bytes =
      "DELETE /api/v1/reservations/" + lease + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const std::unique_ptr<Answer> first = open(bytes);
  const std::unique_ptr<Answer> other = open(bytes);
  harness_.set_committing(false);
  EXPECT_FALSE(run(*first));
  EXPECT_FALSE(run(*other));
  harness_.set_committing(true);
  harness_.pump();
  ASSERT_TRUE(run(*other));
  ASSERT_TRUE(run(*first));
  EXPECT_EQ(first->take().status, Status::Ok);
  EXPECT_EQ(other->take().status, Status::Conflict);
}

// The job is deleted all the same, and the client of the queue goes with its last lease.
TEST_F(LeasesTest, AreFinishedForAClientThatDoesNotWait) {
  put("mail");
  const std::string lease = lease_of_one();
  std::unique_ptr<Answer> answer =
      open("DELETE /api/v1/reservations/" + lease + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  harness_.set_committing(false);
  EXPECT_FALSE(run(*answer));
  answer.reset();
  harness_.set_committing(true);
  harness_.pump();
  api_.on_time();
  EXPECT_EQ(queue_clients(), 0U);
  expect_ended(lease, 1);
}

// ---- Waiting.

TEST_F(LeasesTest, AreWaitedFor) {
  const std::unique_ptr<Answer> answer =
      open(post("/api/v1/tubes/mail/reservations?wait_seconds=20&count=2"));
  EXPECT_FALSE(run(*answer));
  harness_.advance(19 * second);
  EXPECT_FALSE(run(*answer));
  put("mail", "late");
  ASSERT_TRUE(run(*answer));
  EXPECT_THAT(answer->take().body, HasSubstr("\"body\":\"late\""));
  EXPECT_EQ(queue_clients(), 1U);
}

TEST_F(LeasesTest, AreWaitedForInVain) {
  EXPECT_THAT(reserve(), IsEmpty());
  const std::unique_ptr<Answer> answer =
      open(post("/api/v1/tubes/mail/reservations?wait_seconds=20"));
  EXPECT_FALSE(run(*answer));
  harness_.advance(20 * second);
  ASSERT_TRUE(run(*answer));
  const Response response = answer->take();
  EXPECT_EQ(response.status, Status::Ok);
  EXPECT_EQ(response.body, "{\"reservations\":[]}\n");
}

// Whoever has waited longest is next, over HTTP and without it.
TEST_F(LeasesTest, AreWaitedForInTurnWithClientsOfTheQueue) {
  const std::string wait = post("/api/v1/tubes/mail/reservations?wait_seconds=20");
  const std::unique_ptr<Answer> first = open(wait);
  EXPECT_FALSE(run(*first));
  const ConnId client = harness_.open();
  harness_.send(client, "watch mail\r\nreserve\r\n");
  const std::unique_ptr<Answer> third = open(wait);
  EXPECT_FALSE(run(*third));
  harness_.receive(client);
  put("mail", "1");
  EXPECT_EQ(harness_.receive(client), "");
  ASSERT_TRUE(run(*first));
  put("mail", "2");
  EXPECT_THAT(harness_.receive(client), HasSubstr("RESERVED 2"));
  EXPECT_FALSE(run(*third));
  put("mail", "3");
  EXPECT_TRUE(run(*third));
}

TEST_F(LeasesTest, AreNotGivenToAClientThatHasGone) {
  std::unique_ptr<Answer> answer =
      open(post("/api/v1/tubes/mail/reservations?wait_seconds=20&count=9"));
  EXPECT_FALSE(run(*answer));
  EXPECT_TRUE(answer->ends_with_client());
  answer.reset();
  harness_.pump();
  EXPECT_EQ(queue_clients(), 0U);
  put("mail");
  EXPECT_EQ(get_from("/api/v1/jobs/1").json()["reserves"], 0);
}

// The jobs are there, and the client has gone before they were told to it.
TEST_F(LeasesTest, GoBackFromAClientThatIsGone) {
  put("mail", "a", " tries:1");
  put("mail", "b");
  std::unique_ptr<Answer> answer = open(post("/api/v1/tubes/mail/reservations?count=2"));
  ASSERT_TRUE(run(*answer));
  EXPECT_EQ(get_from("/api/v1/jobs/2").json()["state"], "reserved");
  answer.reset();
  harness_.pump();
  for (const int id : {1, 2}) {
    const json job = get_from(fmt::format("/api/v1/jobs/{}", id)).json();
    EXPECT_EQ(job["state"], "ready");
    EXPECT_EQ(job["attempts"], 0);
  }
  EXPECT_EQ(queue_clients(), 0U);
}

TEST_F(LeasesTest, GoBackWithAnAnswerThatIsLost) {
  put("mail", "a", " tries:1");
  const std::unique_ptr<Answer> answer = open(post("/api/v1/tubes/mail/reservations"));
  ASSERT_TRUE(run(*answer));
  const Response response = answer->take();
  ASSERT_TRUE(response.on_lost);
  response.on_lost();
  harness_.pump();
  EXPECT_EQ(get_from("/api/v1/jobs/1").json()["state"], "ready");
  response.on_lost();
  EXPECT_EQ(queue_clients(), 0U);
}

TEST_F(LeasesTest, WaitForAPauseToEnd) {
  put("mail");
  change("POST", "/api/v1/tubes/mail/pause", R"({"seconds":5})");
  EXPECT_THAT(reserve(), IsEmpty());
  const std::unique_ptr<Answer> answer =
      open(post("/api/v1/tubes/mail/reservations?wait_seconds=20"));
  EXPECT_FALSE(run(*answer));
  harness_.advance(6 * second);
  EXPECT_TRUE(run(*answer));
}

TEST_F(LeasesTest, AreGivenWhileTheServerDrains) {
  put("mail");
  change("POST", "/api/v1/drain", "{}");
  EXPECT_EQ(finish(lease_of_one()).status, 200U);
}

TEST_F(LeasesTest, LeaveOutAJobWhoseBodyIsLost) {
  put("mail", "a");
  put("mail", "b");
  // The body is read from the disk once later ones have taken its place in memory.
  const std::string filler(60'000, 'x');
  for (size_t bytes = 0; bytes <= core::Options().body_cache_bytes; bytes += filler.size())
    put("other", filler);
  harness_.damage(1);
  const json reserved = reserve("?count=2");
  ASSERT_EQ(reserved.size(), 1U);
  EXPECT_EQ(reserved[0]["body"], "b");
}

TEST_F(LeasesTest, AreBounded) {
  put("mail");
  // Each waiter takes the places that it may need.
  std::vector<std::unique_ptr<Answer>> waiters;
  const std::string wait = "/api/v1/tubes/other/reservations?wait_seconds=9&count=1000";
  for (size_t i = 0; i < Leases::max.of_user / 1'000; ++i) {
    harness_.advance(second);
    waiters.push_back(open(post(wait)));
    EXPECT_FALSE(run(*waiters.back()) && i < 8);
  }
  const Got full = change("POST", "/api/v1/tubes/mail/reservations");
  EXPECT_EQ(full.status, 429U);
  EXPECT_EQ(full.fields.at("retry-after"), "1");
  EXPECT_THAT(full.body, HasSubstr("50000"));
  waiters.pop_back();
  EXPECT_EQ(reserve().size(), 1U);
}

// The places of leases whose jobs were flushed are free for others long before their time is over.
TEST_F(LeasesTest, OfFlushedJobsTakeNoPlaces) {
  put("mail", "a", "", 3'600);
  put("mail", "b", "", 3'600);
  EXPECT_EQ(got(post("/api/v1/tubes/mail/reservations?count=2")).json()["reservations"].size(), 2U);
  ASSERT_EQ(speak("flush-tube mail\r\n"), "FLUSHED 2\r\n");
  std::vector<std::unique_ptr<Answer>> waiters;
  const std::string wait = "/api/v1/tubes/other/reservations?wait_seconds=99&count=1000";
  for (size_t i = 1; i < Leases::max.of_user / 1'000; ++i) {
    harness_.advance(second);
    waiters.push_back(open(post(wait)));
    run(*waiters.back());
  }
  harness_.advance(second);
  std::unique_ptr<Answer> last = open(post(wait));
  EXPECT_FALSE(run(*last)) << "it waits, and is not refused";
}

TEST_F(LeasesTest, AreListedInPages) {
  for (int i = 0; i < 5; ++i) put("mail", "a", "", 60);
  put("scan", "a", "", 60);
  reserve("?count=3&tube=scan");
  harness_.advance(second);
  const std::string late = lease_of_one();
  json leases = json::array();
  json next = "0";
  for (int page = 0; !next.is_null(); ++page) {
    ASSERT_LT(page, 4);
    const json got = get_from("/api/v1/leases?limit=2&after=" + next.get<std::string>()).json();
    EXPECT_LE(got["leases"].size(), 2U);
    leases.insert(leases.end(), got["leases"].begin(), got["leases"].end());
    next = got["next"];
  }
  ASSERT_EQ(leases.size(), 4U);
  EXPECT_EQ(leases[0]["id"], "1");
  EXPECT_EQ(leases[0]["age_seconds"], 1.0);
  EXPECT_EQ(leases[0]["left_seconds"], 59.0);
  EXPECT_EQ(leases[0]["user"], nullptr);
  EXPECT_EQ(leases[3]["age_seconds"], 0.0);
  const std::string job = leases[3]["job"];
  EXPECT_EQ(finish(late).status, 200U);
  EXPECT_THAT(get_from("/api/v1/leases").body, Not(HasSubstr("\"job\":\"" + job + "\"")));
  const json of_scan = get_from("/api/v1/leases?tube=scan").json();
  for (const json& each : of_scan["leases"]) EXPECT_EQ(each["tube"], "scan");
  EXPECT_EQ(get_from("/api/v1/leases?limit=0").status, 400U);
}

TEST_F(LeasesTest, AreFoundFromTheirJobs) {
  put("mail");
  EXPECT_FALSE(get_from("/api/v1/jobs/1").json().contains("leased_by"));
  const json reserved = reserve();
  EXPECT_FALSE(reserved[0]["job"].contains("leased_by")) << "it has the token";
  const json by = get_from("/api/v1/jobs/1").json()["leased_by"];
  EXPECT_EQ(by["lease"], "1");
  EXPECT_EQ(by["user"], nullptr);
  EXPECT_EQ(get_from("/api/v1/tubes/mail/jobs").json()["jobs"][0]["leased_by"], by);
}

// The attempt counts, so that a job which kills its workers has an end.
TEST_F(LeasesTest, AreEndedByAnOperator) {
  put("mail", "a", " tries:2");
  const std::string first = lease_of_one();
  const Got ended = change("DELETE", "/api/v1/leases/1", "");
  EXPECT_EQ(ended.body, "{\"ended\":true,\"dead\":false,\"state\":\"ready\"}\n");
  expect_ended(first, 1);
  EXPECT_EQ(change("DELETE", "/api/v1/leases/1", "").status, 404U);
  const std::string last = lease_of_one();
  EXPECT_EQ(change("DELETE", "/api/v1/leases/2", "").json()["dead"], true);
  EXPECT_THAT(state_of(1), HasSubstr("\"state\":\"buried\""));
  EXPECT_EQ(queue_clients(), 0U);
  EXPECT_EQ(change("DELETE", "/api/v1/leases/3", "").status, 404U);
  EXPECT_EQ(change("DELETE", "/api/v1/leases/x", "").status, 404U);
}

// As a release: the back-off of the job counts, and its expiry.
TEST_F(LeasesTest, ThatAreEndedByAnOperatorAreReleased) {
  put("mail", "a", " backoff:7");
  put("mail", "a", " expire:1");
  reserve("?count=2");
  EXPECT_EQ(change("DELETE", "/api/v1/leases/1", "").json()["state"], "delayed");
  harness_.advance(2 * second);
  const json expired = change("DELETE", "/api/v1/leases/2", "").json();
  EXPECT_EQ(expired["state"], nullptr);
  EXPECT_EQ(expired["dead"], false);
}

// One lease of a reservation of several: its worker keeps the others.
TEST_F(LeasesTest, AreEndedOneByOne) {
  put("mail");
  put("mail");
  const json reserved = reserve("?count=2");
  ASSERT_EQ(reserved.size(), 2U);
  EXPECT_EQ(change("DELETE", "/api/v1/leases/1", "").status, 200U);
  EXPECT_EQ(finish(reserved[0]["lease"]).status, 409U);
  EXPECT_EQ(finish(reserved[1]["lease"]).status, 200U);
}

// What ends by its time, or in a flush, makes places at once for a user who has taken all.
// Fifty thousand, so that a bound of one call would show.
TEST_F(LeasesTest, ThatHaveEndedLeaveTheirPlacesToThoseWhoAsk) {
  const auto take_all = [this](int ttr) {
    for (size_t i = 0; i < Leases::max.of_user / 1'000; ++i) {
      std::string puts;
      for (int job = 0; job < 1'000; ++job) {
        puts += fmt::format("put 0 0 {} 1 tube:mail\r\na\r\n", ttr);
      }
      speak(puts);
      ASSERT_EQ(
          got(post("/api/v1/tubes/mail/reservations?count=1000")).json()["reservations"].size(),
          1'000U);
    }
    EXPECT_EQ(got(post("/api/v1/tubes/mail/reservations")).status, 429U);
  };
  take_all(3'600);
  harness_.send(harness_.open(), "flush-tube mail\r\n");  // It takes several turns.
  for (int i = 0; i < 10; ++i) harness_.advance(Leases::end_lost_interval);
  EXPECT_THAT(get_from("/api/v1/leases").json()["leases"], IsEmpty());
  EXPECT_EQ(got(post("/api/v1/tubes/mail/reservations?count=1000")).status, 200U);
  EXPECT_EQ(api_.leases_count().given, 0U);
  EXPECT_EQ(queue_clients(), 0U);
  take_all(1);
  for (int i = 0; i < 12; ++i) {
    harness_.advance(second);
    api_.on_time();
  }
  EXPECT_EQ(api_.leases_count().given, 0U);
}

// The reservation and its client go soon after the flush, though nobody asks.
TEST_F(LeasesTest, OfFlushedJobsAreForgotten) {
  put("mail", "a", "", 3'600);
  reserve();
  EXPECT_EQ(queue_clients(), 1U);
  ASSERT_EQ(speak("flush-tube mail\r\n"), "FLUSHED 1\r\n");
  EXPECT_THAT(get_from("/api/v1/leases").json()["leases"], IsEmpty());
  api_.on_time();
  EXPECT_EQ(queue_clients(), 0U);
  EXPECT_EQ(api_.leases_count().given, 0U);
}

TEST_F(LeasesTest, LeaveConnectionsToOthers) {
  waiters_max_ = 1;
  put("mail");
  const std::string wait = post("/api/v1/tubes/other/reservations?wait_seconds=9");
  std::unique_ptr<Answer> first = open(wait);
  EXPECT_FALSE(run(*first));
  const Got full = got(wait);
  EXPECT_EQ(full.status, 503U);
  EXPECT_EQ(full.fields.at("retry-after"), "1");
  EXPECT_EQ(finish(lease_of_one()).status, 200U);
  first.reset();
  first = open(wait);
  EXPECT_FALSE(run(*first));
}

// A worker asks as often as it has jobs.
TEST_F(LeasesTest, CountForNoLimitOfRequests) {
  rights_.address = "10.0.0.7";
  for (int i = 0; i < 300; ++i) EXPECT_THAT(reserve(), IsEmpty());
  EXPECT_EQ(get_from("/api/v1/server").status, 200U);
}

struct BadCase {
  std::string name;
  std::string query;
  unsigned status = 400;
};
class LeasesBad : public LeasesTest, public testing::WithParamInterface<BadCase> {};
TEST_P(LeasesBad, AreRefused) {
  EXPECT_EQ(change("POST", "/api/v1/tubes/" + GetParam().query).status, GetParam().status);
  EXPECT_EQ(queue_clients(), 0U);
}
INSTANTIATE_TEST_SUITE_P(Asked, LeasesBad,
                         testing::Values(BadCase{"NoCount", "mail/reservations?count=0"},
                                         BadCase{"LargeCount", "mail/reservations?count=1001"},
                                         BadCase{"LongWait", "mail/reservations?wait_seconds=601"},
                                         BadCase{"OtherWord", "mail/reservations?wait=20s"},
                                         BadCase{"NoTube", "mail/reservations?tube="},
                                         BadCase{"EmptyTube", "mail/reservations?tube=a,,b"},
                                         BadCase{"BadTube", "mail/reservations?tube=a%20b"},
                                         BadCase{"BadPath", "a%20b/reservations", 404}),
                         [](const auto& one) { return one.param.name; });

// ---- The end of the server.

TEST_F(LeasesTest, OfAStandbyAreRefused) {
  is_loaded_ = false;
  EXPECT_EQ(change("POST", "/api/v1/tubes/mail/reservations").status, 503U);
  EXPECT_EQ(finish("x").status, 503U);
}

// ---- With users.

class LeasesOfUsers : public LeasesTest {
 protected:
  LeasesOfUsers() { set({{"mailer", {{"mail", "print"}}}, {"printer", {{"mail", "print"}}}}); }
  // The users, and the tubes from which each may reserve.
  void set(const std::vector<std::pair<std::string, std::vector<std::vector<std::string>>>>& all) {
    std::vector<access::User> users = {
        {.name = "admin",
         .tokens = {common::token_record(token_of("admin"))},
         .grants = {{{"*"}, {Verb::Produce, Verb::Inspect, Verb::Manage}}, {{}, {Verb::Admin}}}}};
    for (const auto& [name, tubes] : all) {
      access::User user = {.name = name, .tokens = {common::token_record(token_of(name))}};
      for (const std::vector<std::string>& each : tubes) {
        user.grants.push_back({each, {Verb::Consume}});
      }
      users.push_back(std::move(user));
    }
    harness_.core().set_users(std::make_shared<const access::Users>(std::move(users)));
    harness_.pump();
  }
  static std::string token_of(const std::string& name) {
    return "prn_" + name + "_" + std::string(common::token_secret_bytes, 'x');
  }
  static std::string as(const std::string& name) {
    return "Authorization: Bearer " + token_of(name) + "\r\n";
  }
  void put_as_admin(const std::string& tube) {
    EXPECT_EQ(change("POST", "/api/v1/jobs",
                     R"({"body":"a","ttr_seconds":10,"tube":")" + tube + "\"}", as("admin"))
                  .status,
              201U);
  }
  std::string job_state(const std::string& id) {
    return got(get("/api/v1/jobs/" + id, "Host: localhost\r\n" + as("admin"))).json()["state"];
  }
};

TEST_F(LeasesOfUsers, BelongToTheirUser) {
  put_as_admin("mail");
  const std::string lease = lease_of_one(as("mailer"));
  EXPECT_EQ(finish(lease, as("printer")).status, 404U);
  EXPECT_EQ(call(lease, "bury", "{}", as("printer")).status, 404U);
  EXPECT_EQ(finish(lease, as("admin")).status, 404U);
  EXPECT_EQ(finish(lease).status, 401U);
  EXPECT_EQ(finish(lease, as("mailer")).status, 200U);
  EXPECT_EQ(finish(lease, as("printer")).status, 404U);
}

// A refusal names the tube on which the verb is missing, and not the one that is changed.
TEST_F(LeasesOfUsers, AreToldWhichTubeIsNotTheirs) {
  put_as_admin("mail");
  std::vector<access::User> users = {
      {.name = "lead",
       .tokens = {common::token_record(token_of("lead"))},
       .grants = {{{"mail"}, {Verb::Inspect, Verb::Manage, Verb::Produce}}}}};
  harness_.core().set_users(std::make_shared<const access::Users>(std::move(users)));
  harness_.pump();
  const auto detail = [this](const std::string& method, const std::string& path,
                             const std::string& body) {
    const Got got = change(method, path, body, as("lead"));
    EXPECT_EQ(got.status, 403U) << got.body;
    return got.json()["detail"].get<std::string>();
  };
  EXPECT_THAT(detail("PUT", "/api/v1/tubes/mail/settings", R"({"dead":"graves"})"),
              HasSubstr("on the tube graves."));
  EXPECT_THAT(detail("POST", "/api/v1/operations",
                     R"({"action":"move","tube":"mail","states":["ready"],"to":"graves",)"
                     R"("confirmed":1})"),
              HasSubstr("on the tube graves."));
  EXPECT_THAT(detail("POST", "/api/v1/jobs/1/change", R"({"tube":"graves"})"),
              HasSubstr("on the tube graves."));
  EXPECT_THAT(detail("PUT", "/api/v1/tubes/other/settings", "{}"), HasSubstr("on the tube other."));
}

TEST_F(LeasesOfUsers, NeedTheVerbOnEachTube) {
  put_as_admin("mail");
  put_as_admin("scan");
  EXPECT_EQ(change("POST", "/api/v1/tubes/scan/reservations", "", as("mailer")).status, 403U);
  // A tube that is refused does not leave the others.
  const Got got = change("POST", "/api/v1/tubes/mail/reservations?tube=scan", "", as("mailer"));
  EXPECT_EQ(got.status, 403U);
  EXPECT_EQ(job_state("1"), "ready");
  EXPECT_EQ(change("POST", "/api/v1/tubes/mail/reservations", "", as("admin")).status, 403U);
}

// Blind to users whose requests wait at several addresses: only the user counts.
TEST_F(LeasesOfUsers, LeavePlacesToWaitToOtherUsers) {
  waiters_max_ = 4;
  const auto wait = [this](const std::string& user) {
    auto answer = open(post("/api/v1/tubes/print/reservations?wait_seconds=20", as(user)));
    const bool is_whole = run(*answer);
    EXPECT_TRUE(!is_whole || answer->take().status == Status::TooManyRequests);
    return is_whole ? nullptr : std::move(answer);
  };
  const auto first = wait("mailer");
  auto second_one = wait("mailer");
  EXPECT_TRUE(first != nullptr && second_one != nullptr);
  EXPECT_EQ(wait("mailer"), nullptr);
  EXPECT_NE(wait("printer"), nullptr);
  second_one.reset();
  EXPECT_NE(wait("mailer"), nullptr);
}

TEST_F(LeasesOfUsers, EndWithTheUser) {
  put_as_admin("mail");
  const std::string lease = lease_of_one(as("mailer"));
  EXPECT_EQ(job_state("1"), "reserved");
  const std::unique_ptr<Answer> waiter =
      open(post("/api/v1/tubes/print/reservations?wait_seconds=20", as("mailer")));
  EXPECT_FALSE(run(*waiter));
  set({{"printer", {{"mail", "print"}}}});
  EXPECT_EQ(job_state("1"), "ready");
  ASSERT_TRUE(run(*waiter));
  const Response ended = waiter->take();
  EXPECT_EQ(ended.status, Status::ServiceUnavailable);
  EXPECT_THAT(ended.body, HasSubstr("may not reserve from one of the tubes any more"));
  EXPECT_EQ(finish(lease, as("mailer")).status, 401U);
  api_.on_time();
  EXPECT_EQ(queue_clients(), 0U);
  // Another user of that name has no use of it.
  set({{"mailer", {{"mail", "print"}}}});
  expect_ended(lease, 1, as("mailer"));
}

// A lease of a tube that one does not manage is not there, and who asks for it is written down.
TEST_F(LeasesOfUsers, AreSeenAndEndedByWhoeverManagesTheTube) {
  put_as_admin("mail");
  const std::string lease = lease_of_one(as("mailer"));
  const auto list = [this](const std::string& user, const std::string& query = "") {
    return got(get("/api/v1/leases" + query, "Host: localhost\r\n" + as(user)));
  };
  EXPECT_THAT(list("mailer").json()["leases"], IsEmpty());
  EXPECT_EQ(list("mailer", "?tube=mail").status, 403U);
  const json seen = list("admin", "?tube=mail").json()["leases"];
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0]["user"], "mailer");
  const std::string path = "/api/v1/leases/" + seen[0]["id"].get<std::string>();
  EXPECT_EQ(change("DELETE", path, "", as("printer")).status, 404U);
  EXPECT_EQ(job_state("1"), "reserved");
  EXPECT_EQ(change("DELETE", path, "", as("admin")).status, 200U);
  EXPECT_EQ(job_state("1"), "ready");
  expect_ended(lease, 1, as("mailer"));
  const std::string lines = audit_lines_.to_json(0).dump();
  EXPECT_THAT(lines, HasSubstr("end-lease"));
  EXPECT_THAT(lines, HasSubstr("job 1 of tube mail, held by mailer"));
}

TEST_F(LeasesOfUsers, EndWithTheGrant) {
  put_as_admin("mail");
  const std::string lease = lease_of_one(as("mailer"));
  set({{"mailer", {{"print"}}}});
  EXPECT_EQ(job_state("1"), "ready");
  expect_ended(lease, 1, as("mailer"));
}

TEST_F(LeasesOfUsers, StayWithAUserWhoKeepsTheGrant) {
  put_as_admin("mail");
  const std::string lease = lease_of_one(as("mailer"));
  set({{"mailer", {{"mail"}}}});
  EXPECT_EQ(finish(lease, as("mailer")).status, 200U);
}

// To delete a job that nobody holds needs `manage`, which the holder has no need of; and a late
// delete is one of a job that it does not hold.
TEST_F(LeasesOfUsers, ThatAreLateNeedNoOtherVerb) {
  put_as_admin("mail");
  const std::string lease = lease_of_one(as("mailer"));
  harness_.advance(11 * second);
  expect_ended(lease, 1, as("mailer"));
  EXPECT_EQ(job_state("1"), "ready");
}

}  // namespace
}  // namespace perennial::http
