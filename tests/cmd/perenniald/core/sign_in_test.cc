// Signing in to core, over a connection of the queue and over HTTP.
#include "cmd/perenniald/access/sign_in.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/perenniald/access/users.h"
#include "tests/support/core_harness.h"

namespace perennial::core {
namespace {

using access::AccessCounts;
using access::AuditEvent;
using access::CertificateNames;
using access::ClientRights;
using access::Gate;
using access::PeerProcess;
using access::SeenSignIns;
using access::SignInCounts;
using access::SignInLimiter;
using access::SignInLines;
using access::SignInMethod;
using access::SignInRefusal;
using access::User;
using access::UserName;
using access::Users;
using access::Verb;
using access::VerbSet;
using support::CoreHarness;
using testing::ElementsAre;
using testing::IsEmpty;

std::string token(const std::string& id, char secret = 'x') {
  return "prn_" + id + "_" + std::string(common::token_secret_bytes, secret);
}

std::string auth(const std::string& id, char secret = 'x') {
  return "auth " + token(id, secret) + "\r\n";
}

User mailer(VerbSet verbs = {Verb::Produce, Verb::Consume}) {
  return {.name = "mailer",
          .tokens = {common::token_record(token("k1"))},
          .certificates = {"CN=mailer"},
          .grants = {{{"mail*"}, verbs}}};
}

User root() {
  return {.name = "root",
          .tokens = {common::token_record(token("r1"))},
          .uids = {0},
          .grants = {{{"*"},
                      {Verb::Produce, Verb::Consume, Verb::Inspect, Verb::Manage, Verb::Monitor,
                       Verb::Admin}}}};
}

std::shared_ptr<const Users> users_of(std::vector<User> users) {
  return std::make_shared<const Users>(std::move(users));
}

class SignIn : public testing::Test {
 protected:
  SignIn() { harness.core().set_users(users_of({mailer(), root()})); }

  static Options options(std::vector<std::string>& lines) {
    return {.unidentified = {.connections_max = 3, .per_address_max = 2},
            .audit = [&lines](const AuditEvent& event) {
              lines.push_back(fmt::format("{} {} {} {}", event.user.empty() ? "-" : event.user,
                                          event.action, event.subject,
                                          event.refused ? "refused" : "allowed"));
            }};
  }
  ConnId open(const std::string& address = "192.0.2.1") {
    return harness.open_as({.address = address});
  }
  std::string ask(ConnId conn, const std::string& bytes) {
    harness.send(conn, bytes);
    return harness.receive(conn);
  }
  uint64_t refused(SignInRefusal why) {
    return harness.core().gate().counts().refused[static_cast<size_t>(why)];
  }
  ConnId signed_in(const std::string& id) {
    const ConnId conn = open();
    EXPECT_EQ(ask(conn, auth(id)), "AUTHENTICATED\r\n");
    return conn;
  }

  std::vector<std::string> audit;
  CoreHarness harness{options(audit)};
};

// T3, T15: nothing runs before the sign-in, also of one packet, and a body is never a command.
TEST_F(SignIn, ComesBeforeEverything) {
  const ConnId conn = open();
  EXPECT_EQ(ask(conn, "put 0 0 60 14\r\nlist-tube-used\r\n" + auth("k1") + "use mail\r\n"),
            "UNAUTHORIZED\r\nAUTHENTICATED\r\nUSING mail\r\n");
  EXPECT_EQ(ask(conn, "put 0 0 60 1\r\na\r\n"), "INSERTED 1\r\n");
  EXPECT_EQ(ask(conn, "put 0 0 60 1 tube:other\r\na\r\n"), "FORBIDDEN\r\n");
  EXPECT_EQ(harness.core().engine().view().job_count(), 1u);
}

// Somebody asks in the morning who has flushed the tube.
TEST(WithoutUsers, TheCommandsOfAnOperatorHaveALineEach) {
  std::vector<std::string> lines;
  CoreHarness harness{{.audit =
                           [&lines](const AuditEvent& event) {
                             lines.push_back(
                                 fmt::format("{} {} {}", event.action, event.subject, event.from));
                           },
                       .address_of = [](ConnId /*conn*/) { return "192.0.2.7:99"; }}};
  const ConnId conn = harness.open();
  for (const std::string line : {"put 0 0 60 1\r\na", "list-tubes", "kick 1", "flush-tube default",
                                 "set-tube t tries:3", "drain", "undrain", "move-tube default t"}) {
    harness.send(conn, line + "\r\n");
    harness.receive(conn);
  }
  EXPECT_THAT(
      lines, ElementsAre("flush-tube default 192.0.2.7", "set-tube t 192.0.2.7", "drain  192.0.2.7",
                         "undrain  192.0.2.7", "move-tube default 192.0.2.7"));
}

TEST_F(SignIn, OfEveryCommandIsAskedFor) {
  const ConnId conn = open();
  for (const std::string line :
       {"stats", "list-tubes", "reserve", "watch mail", "delete 1", "nonsense", "extensions",
        "checkpoint", "drain", "put 0 0 1", "kick 1", "peek-ready", "reserve-mode fifo"}) {
    EXPECT_EQ(ask(conn, line + "\r\n"), "UNAUTHORIZED\r\n") << line;
  }
  harness.send(conn, "quit\r\n");
  EXPECT_TRUE(harness.closed_by_server(conn));
}

// Fifty connections that sent lines without an end had a millisecond each beside every turn of a
// user.
TEST_F(SignIn, OnlySoManyCommandsComeBeforeIt) {
  const ConnId conn = open();
  for (uint32_t i = 1; i < access::refused_commands_max; ++i) {
    ASSERT_EQ(ask(conn, i % 2 == 0 ? "\r\n" : "stats\r\n"), "UNAUTHORIZED\r\n") << i;
  }
  EXPECT_EQ(refused(SignInRefusal::Unauthorized), 0u);
  EXPECT_EQ(ask(conn, "\r\n"), "");
  EXPECT_TRUE(harness.closed_by_server(conn));
  EXPECT_EQ(refused(SignInRefusal::Unauthorized), 1u);
  // Many of them at once are no way around it, and whoever signs in before is not concerned.
  const ConnId fast = open();
  std::string lines;
  for (int i = 0; i < 30'000; ++i) lines += "\r\n";
  harness.send(fast, lines);
  EXPECT_TRUE(harness.closed_by_server(fast));
  const ConnId user = signed_in("k1");
  for (uint32_t i = 0; i < 2 * access::refused_commands_max; ++i) {
    ASSERT_EQ(ask(user, "put 0 0 60 1 tube:other\r\na\r\n"), "FORBIDDEN\r\n");
  }
}

TEST_F(SignIn, ABodyBeforeItTakesNoMemory) {
  const ConnId conn = open();
  const size_t before = harness.core().memory_bytes();
  EXPECT_EQ(ask(conn, "put 0 0 60 60000\r\n" + std::string(59'000, 'x')), "");
  EXPECT_LT(harness.core().memory_bytes(), before + 10'000);
  EXPECT_EQ(ask(conn, std::string(1'000, 'x') + "\r\n" + auth("k1")),
            "UNAUTHORIZED\r\nAUTHENTICATED\r\n");
}

TEST_F(SignIn, WithBearerIsTheSame) {
  const ConnId conn = open();
  EXPECT_EQ(ask(conn, "auth bearer " + token("k1") + "\r\n"), "AUTHENTICATED\r\n");
  EXPECT_EQ(ask(conn, "auth\r\n"), "UNKNOWN_COMMAND\r\n");
}

TEST_F(SignIn, IsUnknownWithoutUsers) {
  CoreHarness open_server;
  const ConnId conn = open_server.open();
  open_server.send(conn, auth("k1") + "use a\r\n");
  EXPECT_EQ(open_server.receive(conn), "UNKNOWN_COMMAND\r\nUSING a\r\n");
}

TEST_F(SignIn, ReplacesAnIdentityOnlyBeforeTheFirstCommand) {
  const ConnId conn = harness.open_as({.identity = PeerProcess{.uid = 0, .gid = 0}});
  EXPECT_EQ(ask(conn, auth("k1") + "use other\r\n"), "AUTHENTICATED\r\nFORBIDDEN\r\n");
  const ConnId later = harness.open_as({.identity = PeerProcess{.uid = 0, .gid = 0}});
  EXPECT_EQ(ask(later, "use other\r\n"), "USING other\r\n");
  EXPECT_EQ(ask(later, auth("k1")), "");
  harness.advance(access::wrong_token_delay);
  EXPECT_EQ(harness.receive(later), "UNAUTHORIZED\r\n");
  EXPECT_EQ(ask(later, "use another\r\n"), "USING another\r\n");
}

// T12: each answer is held, what follows waits behind it, and the third closes the connection.
TEST_F(SignIn, WithWrongTokensIsSlowAndEnds) {
  const ConnId conn = open();
  EXPECT_EQ(ask(conn, auth("k1", 'y') + "use mail\r\n"), "");
  harness.advance(access::wrong_token_delay - 1);
  EXPECT_EQ(harness.receive(conn), "");
  harness.advance(1);
  EXPECT_EQ(harness.receive(conn), "UNAUTHORIZED\r\nUNAUTHORIZED\r\n");
  EXPECT_EQ(ask(conn, "auth x\r\n"), "");
  harness.advance(access::wrong_token_delay);
  EXPECT_EQ(harness.receive(conn), "UNAUTHORIZED\r\n");
  EXPECT_FALSE(harness.closed_by_server(conn));
  EXPECT_EQ(ask(conn, auth("zz") + auth("k1")), "");
  harness.advance(access::wrong_token_delay);
  EXPECT_EQ(harness.receive(conn), "UNAUTHORIZED\r\n");
  EXPECT_TRUE(harness.closed_by_server(conn));
  EXPECT_EQ(refused(SignInRefusal::WrongTokens), 1u);
}

// T12: the eleventh wrong token from an address within a minute gets no answer, and ends its
// connection. Nobody is locked out, there or elsewhere: a good token still gets in.
TEST_F(SignIn, IsLimitedByAddress) {
  for (uint32_t i = 0; i < SignInLimiter::failures_max; ++i) {
    const ConnId conn = open("192.0.2.7");
    EXPECT_FALSE(harness.closed_by_server(conn));
    harness.send(conn, auth("k1", 'y'));
    harness.close(conn);
  }
  const ConnId good = open("192.0.2.7");
  EXPECT_EQ(ask(good, auth("k1")), "AUTHENTICATED\r\n");
  harness.advance(nanos_per_second);  // In the first second ten lines of strangers were written.
  const size_t lines = audit.size();
  const ConnId wrong = open("192.0.2.7");
  EXPECT_EQ(ask(wrong, "stats\r\n"), "UNAUTHORIZED\r\n");
  EXPECT_EQ(ask(wrong, auth("k1", 'y') + auth("k1")), "");
  EXPECT_TRUE(harness.closed_by_server(wrong));
  EXPECT_EQ(audit.size(), lines + 1);  // That of stats.
  EXPECT_EQ(refused(SignInRefusal::Limited), 1u);
  const ConnId other = open("192.0.2.8");
  EXPECT_EQ(ask(other, auth("k1")), "AUTHENTICATED\r\n");
  harness.advance(SignInLimiter::window);
  const ConnId again = open("192.0.2.7");
  EXPECT_EQ(ask(again, auth("k1")), "AUTHENTICATED\r\n");
}

// Each line that a client can cause is one of at most ten a second, and none of a user's.
TEST_F(SignIn, UnknownClientsCannotFillTheLog) {
  Core& core = harness.core();
  const ConnId mailer_conn = signed_in("k1");
  struct Flood {
    std::string name;
    std::function<void(int)> cause;
  };
  const std::vector<Flood> floods = {
      {"a wrong token",
       [&](int i) { ask(open(fmt::format("198.51.100.{}", i)), auth("k1", 'y')); }},
      {"a command", [&](int) { ask(open(), "stats\r\n"); }},
      {"a bearer",
       [&](int i) {
         core.gate().user_of_token("x", SignInMethod::Bearer, fmt::format("{}", i), harness.now());
       }},
      {"a cookie",
       [&](int i) {
         core.gate().user_of_token("x", SignInMethod::Cookie, fmt::format("{}", i), harness.now());
       }},
      {"a request",
       [&](int) { core.gate().on_refused({.action = "GET"}, std::nullopt, harness.now()); }},
  };
  for (const Flood& flood : floods) {
    harness.advance(2 * access::sign_in_time);
    audit.clear();
    for (int i = 0; i < 100; ++i) flood.cause(i);
    EXPECT_EQ(audit.size(), Gate::refusals_per_second_max) << flood.name;
    EXPECT_EQ(ask(mailer_conn, "use other\r\n"), "FORBIDDEN\r\n");
    EXPECT_EQ(audit.back(), "mailer use other refused") << flood.name;
  }
}

// Its tube is known when it is read, so that only then the audit can tell.
TEST_F(SignIn, WhatIsAskedOfAnEndedJobIsInTheAuditAsItWasJudged) {
  harness.core().set_users(
      users_of({mailer({Verb::Produce, Verb::Inspect, Verb::Manage}), root()}));
  const ConnId conn = signed_in("r1");
  for (const std::string tube : {"other", "mail"}) {
    ask(conn, "set-tube " + tube + " keep:60\r\nput 0 0 60 1 tube:" + tube + "\r\nx\r\n");
  }
  EXPECT_EQ(ask(conn, "delete 1\r\ndelete 2\r\n"), "DELETED\r\nDELETED\r\n");
  const ConnId other = signed_in("k1");
  harness.advance(nanos_per_second);
  audit.clear();
  EXPECT_EQ(ask(other, "peek-ended 1\r\nlist-notes 1\r\nrestore-job 1\r\n"),
            "NOT_FOUND\r\nNOT_FOUND\r\nNOT_FOUND\r\n");
  EXPECT_EQ(ask(other, "restore-job 2\r\n"), "INSERTED 3\r\n");
  EXPECT_THAT(audit,
              ElementsAre("mailer peek-ended job 1 refused", "mailer list-notes job 1 refused",
                          "mailer restore-job job 1 refused", "mailer restore-job job 2 allowed"));
}

// ---- What is counted.
TEST_F(SignIn, IsCountedByItsMethod) {
  signed_in("k1");
  ask(open(), auth("k1", 'y'));
  harness.open_as({.identity = PeerProcess{.uid = 0, .gid = 0}});
  harness.open_as({.identity = CertificateNames{.common_name = "mailer"}});
  harness.open_as({.identity = CertificateNames{.common_name = "nobody"}});
  harness.open_as({.identity = UserName{"mailer"}});  // Everybody there is this user.
  const AccessCounts& counts = harness.core().gate().counts();
  EXPECT_EQ(counts.of(SignInMethod::Token), (SignInCounts{.ok = 1, .failed = 1}));
  EXPECT_EQ(counts.of(SignInMethod::Process), (SignInCounts{.ok = 1}));
  EXPECT_EQ(counts.of(SignInMethod::Certificate), (SignInCounts{.ok = 1}));
  EXPECT_EQ(counts.of(SignInMethod::Bearer), SignInCounts());
  EXPECT_EQ(counts.of(SignInMethod::Cookie), SignInCounts());
}

// The limiter is one for the queue and for HTTP. A good token gets in on both.
TEST_F(SignIn, ThatIsLimitedIsCounted) {
  Core& core = harness.core();
  const std::string from = "192.0.2.7";
  for (uint32_t i = 0; i < SignInLimiter::failures_max; ++i) {
    EXPECT_EQ(core.gate().user_of_token("x", SignInMethod::Bearer, from, harness.now()), nullptr);
  }
  for (const SignInMethod method : {SignInMethod::Bearer, SignInMethod::Cookie}) {
    EXPECT_EQ(core.gate().user_of_token(token("k1", 'y'), method, from, harness.now()), nullptr);
    EXPECT_NE(core.gate().user_of_token(token("k1"), method, from, harness.now()), nullptr);
  }
  ask(open(from), auth("k1", 'y'));
  EXPECT_EQ(ask(open(from), auth("k1")), "AUTHENTICATED\r\n");
  const AccessCounts& counts = core.gate().counts();
  EXPECT_EQ(counts.of(SignInMethod::Bearer),
            (SignInCounts{.ok = 1, .failed = SignInLimiter::failures_max, .limited = 1}));
  EXPECT_EQ(counts.of(SignInMethod::Cookie), (SignInCounts{.ok = 1, .limited = 1}));
  EXPECT_EQ(counts.of(SignInMethod::Token), (SignInCounts{.ok = 1, .limited = 1}));
}

TEST_F(SignIn, ForbiddenCommandsAreCountedByVerb) {
  const ConnId conn = signed_in("k1");
  ask(conn, "use other\r\nstats\r\nstats\r\nuse mail\r\n");
  ask(conn, "put 0 0 60 1\r\na\r\nwatch mail\r\nignore default\r\nreserve\r\n");
  const ConnId reader = signed_in("k1");
  ask(reader, "delete 1\r\n");  // Of another connection: as if it were not there.
  ask(reader, "release 1 0 0\r\nrelease 9 0 0\r\n");  // Its reservation might have ended.
  const auto forbidden = [&](Verb verb) {
    return harness.core().gate().counts().forbidden[static_cast<size_t>(verb)];
  };
  EXPECT_EQ(forbidden(Verb::Produce), 1u);
  EXPECT_EQ(forbidden(Verb::Consume), 0u);
  EXPECT_EQ(forbidden(Verb::Inspect), 0u);
  EXPECT_EQ(forbidden(Verb::Manage), 0u);
  EXPECT_EQ(forbidden(Verb::Monitor), 2u);
  EXPECT_EQ(forbidden(Verb::Admin), 0u);
}

// Each request of a script shows its token.
TEST_F(SignIn, WithEachRequestHasALineAnHour) {
  Core& core = harness.core();
  const auto show = [&](const std::string& from) {
    EXPECT_NE(core.gate().user_of_token(token("k1"), SignInMethod::Bearer, from, harness.now()),
              nullptr);
  };
  for (int minute = 0; minute < 100; ++minute) {
    show("192.0.2.1");
    harness.advance(60 * nanos_per_second);
  }
  EXPECT_THAT(audit, ElementsAre("mailer sign-in token k1 allowed"));
  show("192.0.2.2");
  EXPECT_EQ(audit.size(), 2u);
  harness.advance(SeenSignIns::idle);
  show("192.0.2.1");
  EXPECT_EQ(audit.size(), 3u);
  EXPECT_EQ(core.gate().counts().of(SignInMethod::Bearer), (SignInCounts{.ok = 102}));
  audit.clear();
  const User& mailer = *core.gate().users()->find("mailer");
  core.gate().on_shown(mailer, CertificateNames{.common_name = "mailer"}, "192.0.2.1",
                       harness.now());
  core.gate().on_shown(mailer, CertificateNames{.common_name = "mailer"}, "192.0.2.1",
                       harness.now());
  core.gate().on_shown(mailer, UserName{"mailer"}, "192.0.2.1", harness.now());
  EXPECT_THAT(audit, ElementsAre("mailer sign-in certificate allowed"));
  EXPECT_EQ(core.gate().counts().of(SignInMethod::Certificate), (SignInCounts{.ok = 2}));
}

// Of each user from each address. The next line says how many had none.
TEST_F(SignIn, HasOnlySoManyLinesInASecond) {
  uint64_t left_out = 0;
  Options counting = options(audit);
  counting.audit = [&, add = counting.audit](const AuditEvent& event) {
    left_out = event.not_logged;
    add(event);
  };
  counting.unidentified = {};
  CoreHarness other{counting};
  other.core().set_users(users_of({mailer(), root()}));
  const auto sign_in = [&](const std::string& id, const std::string& address) {
    const ConnId conn = other.open_as({.address = address});
    other.send(conn, auth(id));
    EXPECT_EQ(other.receive(conn), "AUTHENTICATED\r\n");
  };
  for (int i = 0; i < 100; ++i) sign_in("k1", "192.0.2.1");
  EXPECT_EQ(audit.size(), SignInLines::per_second_max);
  sign_in("k1", "192.0.2.2");
  sign_in("r1", "192.0.2.1");
  EXPECT_EQ(audit.size(), SignInLines::per_second_max + 2);
  EXPECT_EQ(left_out, 0u);
  other.advance(2 * nanos_per_second);
  sign_in("k1", "192.0.2.1");
  EXPECT_EQ(audit.size(), SignInLines::per_second_max + 3);
  EXPECT_EQ(left_out, 90u);
  EXPECT_EQ(other.core().gate().counts().of(SignInMethod::Token).ok, 103u);
  for (int i = 0; i < 100; ++i) {
    other.core().gate().user_of_token(token("k1"), SignInMethod::Cookie, "192.0.2.3", other.now());
  }
  EXPECT_EQ(audit.size(), 2 * SignInLines::per_second_max + 3);
}

TEST_F(SignIn, ToTheConsoleHasALineEachTime) {
  Core& core = harness.core();
  for (int i = 0; i < 2; ++i) {
    core.gate().user_of_token(token("k1"), SignInMethod::Cookie, "192.0.2.1", harness.now());
  }
  const std::string line = "mailer sign-in token k1 (console) allowed";
  EXPECT_THAT(audit, ElementsAre(line, line));
  EXPECT_EQ(core.gate().counts().of(SignInMethod::Cookie), (SignInCounts{.ok = 2}));
}

// T14: those who do not say who they are take few places, and not for long.
TEST_F(SignIn, IsWaitedForOnlySoLong) {
  const ConnId silent = open();
  harness.advance(access::sign_in_time - 1);
  EXPECT_FALSE(harness.closed_by_server(silent));
  harness.advance(1);
  EXPECT_TRUE(harness.closed_by_server(silent));
  EXPECT_EQ(refused(SignInRefusal::Timeout), 1u);
  EXPECT_THAT(audit, ElementsAre("- sign-in nobody within 10 s refused"));
}

// Whoever comes gets in: of those who are silent the one that came first gives way, and of the same
// address where that has its share.
TEST_F(SignIn, LeavesRoomForOthers) {
  const ConnId other = open("192.0.2.9");
  const ConnId first = open();
  const ConnId second = open();
  const ConnId third = open();
  EXPECT_TRUE(harness.closed_by_server(first));
  // The address that has the most gives way, though another one came before.
  const ConnId fourth = open("192.0.2.8");
  EXPECT_TRUE(harness.closed_by_server(second));
  EXPECT_FALSE(harness.closed_by_server(other));
  EXPECT_EQ(refused(SignInRefusal::Unidentified), 2u);
  // Whoever is known already takes no such place, and a sign-in gives its own to the next.
  EXPECT_FALSE(harness.closed_by_server(harness.open_as({.identity = PeerProcess{0, 0}})));
  EXPECT_EQ(ask(other, auth("k1")), "AUTHENTICATED\r\n");
  const ConnId fifth = open();
  for (const ConnId conn : {other, third, fourth, fifth}) {
    EXPECT_FALSE(harness.closed_by_server(conn)) << conn;
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(ask(open(fmt::format("198.51.100.{}", i)), auth("k1")), "AUTHENTICATED\r\n");
    open(fmt::format("198.51.100.{}", i));
  }
  EXPECT_EQ(ask(other, "use mail\r\n"), "USING mail\r\n");
}

// Whoever only came by the listener of a user has shown nothing.
TEST_F(SignIn, IsToldToTheOwnerOfConnections) {
  std::vector<ConnId> told;
  Options telling = options(audit);
  telling.on_signed_in = [&](ConnId conn) { told.push_back(conn); };
  CoreHarness other{telling};
  other.core().set_users(users_of({mailer(), root()}));
  const ConnId by_token = other.open_as({.address = "192.0.2.1"});
  EXPECT_THAT(told, ElementsAre());
  other.send(by_token, auth("k1"));
  other.open_as({.identity = UserName{"mailer"}});
  const ConnId by_certificate =
      other.open_as({.identity = CertificateNames{.uris = {}, .dns = {}, .common_name = "mailer"}});
  const ConnId unknown = other.open_as({.address = "192.0.2.1"});
  other.send(unknown, auth("k2"));
  EXPECT_THAT(told, ElementsAre(by_token, by_certificate));
}

// The addresses of this machine tell nothing of who is there.
TEST_F(SignIn, OnThisMachineGivesWayByItsAgeAlone) {
  const auto open_local = [&] {
    return harness.open_as({.is_local = true, .address = "127.0.0.1"});
  };
  const ConnId other = open("192.0.2.9");
  const ConnId first = open_local();
  open_local();
  const ConnId third = open_local();
  EXPECT_TRUE(harness.closed_by_server(first));
  open("192.0.2.8");
  EXPECT_TRUE(harness.closed_by_server(other));
  EXPECT_EQ(ask(third, auth("k1")), "AUTHENTICATED\r\n");
}

TEST_F(SignIn, WithATokenIsRefusedWhereItCouldBeRead) {
  const ConnId conn = harness.open_as({.may_send_token = false, .address = "192.0.2.1"});
  EXPECT_EQ(ask(conn, auth("k1")), "");
  harness.advance(access::wrong_token_delay);
  EXPECT_EQ(harness.receive(conn), "UNAUTHORIZED\r\n");
}

TEST_F(SignIn, ByTheListenerOrACertificateNeedsNoToken) {
  const ConnId by_name = harness.open_as({.identity = UserName{"mailer"}});
  EXPECT_EQ(ask(by_name, "use mail\r\n"), "USING mail\r\n");
  harness.core().set_users(users_of(
      {{.name = "web", .certificates = {"CN=web"}, .grants = {{{"web"}, {Verb::Produce}}}}}));
  const ConnId by_certificate =
      harness.open_as({.identity = CertificateNames{.uris = {}, .dns = {}, .common_name = "web"}});
  EXPECT_EQ(ask(by_certificate, "use web\r\nuse mail\r\n"), "USING web\r\nFORBIDDEN\r\n");
}

// T17.
TEST_F(SignIn, ListsOnlyTheTubesOfTheUser) {
  const ConnId all = signed_in("r1");
  ask(all, "use mail\r\nuse mail-eu\r\n");
  EXPECT_EQ(ask(all, "put 0 0 60 1 tube:mail\r\na\r\nput 0 0 60 1 tube:web\r\nb\r\n"),
            "INSERTED 1\r\nINSERTED 2\r\n");
  EXPECT_EQ(ask(all, "list-tubes\r\n"), "OK 37\r\n---\n- default\n- mail-eu\n- mail\n- web\n\r\n");
  const ConnId conn = signed_in("k1");
  EXPECT_EQ(ask(conn, "list-tubes\r\n"), "OK 21\r\n---\n- mail-eu\n- mail\n\r\n");
  EXPECT_EQ(ask(conn, "list-tubes-watched\r\n"), "OK 14\r\n---\n- default\n\r\n");
  EXPECT_EQ(ask(conn, "peek 2\r\n"), ask(conn, "peek 99\r\n"));
  EXPECT_EQ(ask(conn, "delete 2\r\n"), ask(conn, "delete 99\r\n"));
  EXPECT_EQ(ask(conn, "stats-tube web\r\n"), ask(conn, "stats-tube nowhere\r\n"));
}

// T18: a user that is gone loses its connections, and its jobs return.
TEST_F(SignIn, EndsWithTheUser) {
  const ConnId holder = signed_in("k1");
  ask(holder, "use mail\r\nput 0 0 60 1\r\na\r\nwatch mail\r\nignore default\r\n");
  EXPECT_EQ(ask(holder, "reserve\r\n"), "RESERVED 1 1\r\na\r\n");
  const ConnId waiter = signed_in("k1");
  ask(waiter, "watch mail\r\nignore default\r\n");
  EXPECT_EQ(ask(waiter, "reserve\r\n"), "");
  const ConnId putting = signed_in("k1");
  EXPECT_EQ(ask(putting, "use mail\r\nput 0 0 60 5\r\nab"), "USING mail\r\n");
  const ConnId other = signed_in("r1");
  harness.core().set_users(users_of({root()}));
  harness.run_commands();
  harness.pump();
  for (const ConnId conn : {holder, waiter, putting}) {
    EXPECT_TRUE(harness.closed_by_server(conn)) << conn;
  }
  EXPECT_EQ(ask(other, "reserve-job 1\r\n"), "RESERVED 1 1\r\na\r\n");
  EXPECT_EQ(harness.core().engine().view().job_count(), 1u);
}

TEST_F(SignIn, EndsWithTheRightThatIsInUse) {
  const ConnId holder = signed_in("k1");
  ask(holder, "use mail\r\nput 0 0 60 1\r\na\r\nwatch mail\r\nignore default\r\nreserve\r\n");
  const ConnId producer = signed_in("k1");
  EXPECT_EQ(ask(producer, "use mail\r\n"), "USING mail\r\n");
  harness.core().set_users(users_of({mailer({Verb::Produce}), root()}));
  harness.run_commands();
  harness.pump();
  EXPECT_TRUE(harness.closed_by_server(holder));
  EXPECT_EQ(ask(producer, "put 0 0 60 1\r\nb\r\n"), "INSERTED 2\r\n");
  EXPECT_EQ(ask(producer, "watch mail\r\n"), "FORBIDDEN\r\n");
}

// The user goes while its listing waits for memory, or comes in parts.
TEST_F(SignIn, EndsInTheMiddleOfAListing) {
  Options few = options(audit);
  few.engine.names_per_part_max = 1;
  CoreHarness parts(few);
  parts.core().set_users(users_of({mailer(), root()}));
  const ConnId conn = parts.open_as({.address = "192.0.2.1"});
  parts.send(conn, auth("r1") + "watch a\r\nwatch b\r\n");
  parts.core().session(conn)->on_bytes(std::string_view("list-tubes\r\n"), parts.now());
  parts.core().set_users(users_of({mailer()}));
  parts.core().run_next(parts.now());
  parts.core().on_timer(parts.now());
  parts.pump();
  EXPECT_TRUE(parts.closed_by_server(conn));
}

// A certificate that nobody had at first is somebody's after a reload, and stays.
TEST_F(SignIn, ComesWithAReload) {
  const ConnId conn =
      harness.open_as({.identity = CertificateNames{.uris = {}, .dns = {}, .common_name = "web"}});
  harness.core().set_users(users_of(
      {{.name = "web", .certificates = {"CN=web"}, .grants = {{{"web"}, {Verb::Produce}}}}}));
  harness.run_commands();
  EXPECT_EQ(ask(conn, "use web\r\n"), "USING web\r\n");
  harness.advance(access::sign_in_time);
  EXPECT_FALSE(harness.closed_by_server(conn));
}

TEST_F(SignIn, WithATokenThatWasReplacedEnds) {
  const ConnId conn = signed_in("k1");
  User renewed = mailer();
  renewed.tokens = {common::token_record(token("k1", 'y'))};
  harness.core().set_users(users_of({renewed, root()}));
  EXPECT_EQ(ask(conn, "use mail\r\n"), "");
  EXPECT_TRUE(harness.closed_by_server(conn));
}

TEST_F(SignIn, SignInsRefusalsAndChangesAreInTheAudit) {
  const ConnId conn = signed_in("k1");
  EXPECT_THAT(audit, ElementsAre("mailer sign-in token k1 allowed"));
  audit.clear();
  ask(conn, "use other\r\nkick-job 7\r\nput 0 0 60 1 tube:mail\r\na\r\n");
  EXPECT_THAT(audit, ElementsAre("mailer use other refused", "mailer kick-job job 7 refused"));
  audit.clear();
  const ConnId admin = signed_in("r1");
  ask(admin, "pause-tube mail 0\r\nflush-tube mail\r\ndrain\r\n");
  EXPECT_THAT(audit, ElementsAre("root sign-in token r1 allowed", "root pause-tube mail allowed",
                                 "root flush-tube mail allowed", "root drain  allowed"));
  audit.clear();
  // Ten refusals a second have a line of their own, the two above among them.
  for (int i = 0; i < 100; ++i) ask(conn, "use other\r\n");
  EXPECT_EQ(audit.size(), 8u);
}

}  // namespace
}  // namespace perennial::core
