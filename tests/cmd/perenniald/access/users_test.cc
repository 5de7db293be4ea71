#include "cmd/perenniald/access/users.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perennial::access {
namespace {

using testing::ElementsAre;

TEST(Pattern, StandsForAnyBytes) {
  struct Case {
    std::string pattern;
    std::string name;
    bool fits;
  };
  const std::vector<Case> cases = {
      {"mail", "mail", true},     {"mail", "mails", false},   {"mail", "mai", false},
      {"mail*", "mail", true},    {"mail*", "mail-eu", true}, {"mail*", "xmail", false},
      {"*mail", "eu-mail", true}, {"*mail", "mailx", false},  {"*", "", true},
      {"*", "anything", true},    {"**", "anything", true},   {"m*l", "mail", true},
      {"m*l", "ml", true},        {"m*l", "mall-x", false},   {"m*a*l", "maal", true},
      {"a*b*c", "a-b-b-c", true}, {"a*b*c", "a-c-b", false},  {"", "", true},
      {"", "x", false},           {"*ab", "aab", true},       {"*ab*", "xxabxx", true},
      {"mail.*", "mailx", false}, {"*.mail", ".mail", true},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(fits_pattern(each.pattern, each.name), each.fits) << each.pattern << " " << each.name;
  }
}

// T32: the product of the lengths, and no recursion.
TEST(Pattern, OfManyStarsIsJudgedInTime) {
  std::string pattern;
  for (int i = 0; i < 100; ++i) pattern += "*a";
  EXPECT_FALSE(fits_pattern(pattern, std::string(199, 'a') + "b"));
  EXPECT_TRUE(fits_pattern(pattern, std::string(200, 'a')));
}

TEST(Verbs, HaveTheirNames) {
  for (const VerbRow& row : verb_rows) EXPECT_EQ(verb_named(row.name), row.verb);
  EXPECT_FALSE(verb_named("write"));
}

TEST(Grants, OnlyAdd) {
  const User user = {.name = "u",
                     .grants = {{{"mail*", "sms"}, {Verb::Produce}},
                                {{"mail-eu"}, {Verb::Consume, Verb::Inspect}},
                                {{}, {Verb::Monitor}}}};
  EXPECT_EQ(user.verbs_on("mail"), VerbSet({Verb::Produce}));
  EXPECT_EQ(user.verbs_on("mail-eu"), VerbSet({Verb::Produce, Verb::Consume, Verb::Inspect}));
  EXPECT_EQ(user.verbs_on("sms"), VerbSet({Verb::Produce}));
  EXPECT_TRUE(user.verbs_on("default").empty());
  EXPECT_TRUE(user.may(Verb::Monitor));
  EXPECT_FALSE(user.may(Verb::Admin));
  EXPECT_FALSE(user.may_everywhere(Verb::Produce));
  const User all = {.name = "a", .grants = {{{"x", "*"}, {Verb::Inspect}}}};
  EXPECT_TRUE(all.may_everywhere(Verb::Inspect));
  EXPECT_FALSE(all.may_everywhere(Verb::Manage));
}

common::TokenRecord record(const std::string& id) {
  return common::token_record("prn_" + id + "_" + std::string(common::token_secret_bytes, 'x'));
}

TEST(Users, AreFoundByWhatTheyShow) {
  const Users users({{.name = "mailer",
                      .tokens = {record("k1"), record("k2")},
                      .certificates = {"spiffe://corp/mailer", "mailer.corp.example", "CN=mailer"}},
                     {.name = "root", .uids = {0}, .gids = {10}},
                     {.name = "web", .certificates = {"CN=web"}, .uids = {33}}});
  const User* const mailer = users.find("mailer");
  const User* const root = users.find("root");
  const User* const web = users.find("web");
  ASSERT_TRUE(mailer != nullptr && root != nullptr && web != nullptr);
  EXPECT_EQ(users.find("nobody"), nullptr);
  const std::string secret(common::token_secret_bytes, 'x');
  EXPECT_EQ(users.by_token("prn_k1_" + secret), mailer);
  EXPECT_EQ(users.by_token("prn_k2_" + secret), mailer);
  EXPECT_EQ(users.by_token("prn_k3_" + secret), nullptr);
  EXPECT_EQ(users.by_token("prn_k1_" + secret.substr(1) + "y"), nullptr);
  EXPECT_EQ(users.by_token(""), nullptr);
  EXPECT_EQ(users.by_identity(record("k2")), mailer);
  EXPECT_EQ(users.by_identity(std::monostate()), nullptr);
  EXPECT_EQ(users.by_identity(UserName{"web"}), web);
  // A uid goes before a gid.
  EXPECT_EQ(users.by_process({.uid = 33, .gid = 10}), web);
  EXPECT_EQ(users.by_process({.uid = 1000, .gid = 10}), root);
  EXPECT_EQ(users.by_process({.uid = 1000, .gid = 1000}), nullptr);
}

// T20: the first kind of name that the certificate has decides, and only the whole name counts.
TEST(Users, ACertificateHasTheNameOfItsFirstKind) {
  const Users users({{.name = "uri", .certificates = {"spiffe://corp/mailer"}},
                     {.name = "dns", .certificates = {"mailer.corp.example"}},
                     {.name = "cn", .certificates = {"CN=mailer"}}});
  const auto name_of = [&](const CertificateNames& names) {
    const User* const user = users.by_certificate(names);
    return user == nullptr ? std::string() : user->name;
  };
  EXPECT_EQ(name_of({.uris = {"spiffe://corp/mailer"}, .dns = {"mailer.corp.example"}}), "uri");
  EXPECT_EQ(name_of({.uris = {"spiffe://corp/other"}, .dns = {"mailer.corp.example"}}), "");
  EXPECT_EQ(name_of({.dns = {"mailer.corp.example"}, .common_name = "mailer"}), "dns");
  EXPECT_EQ(name_of({.dns = {"x.corp.example"}, .common_name = "mailer"}), "");
  EXPECT_EQ(name_of({.common_name = "mailer"}), "cn");
  EXPECT_EQ(name_of({.common_name = "CN=mailer"}), "");
  EXPECT_EQ(name_of({.common_name = "Mailer"}), "");
  EXPECT_EQ(name_of({.dns = {"*.corp.example"}}), "");
  // A name of one kind is not one of another.
  EXPECT_EQ(name_of({.dns = {"CN=mailer"}}), "");
  EXPECT_EQ(name_of({.uris = {"CN=mailer"}}), "");
  EXPECT_EQ(name_of({.uris = {"mailer.corp.example"}}), "");
  EXPECT_EQ(name_of({.dns = {"spiffe://corp/mailer"}}), "");
  EXPECT_EQ(name_of({}), "");
}

TEST(Users, ThatCannotBeToldApartAreProblems) {
  EXPECT_THAT(Users::problems({{.name = "a"}, {.name = "a"}}),
              ElementsAre("user 'a' is there twice"));
  EXPECT_THAT(Users::problems({{.name = "a", .tokens = {record("k1")}},
                               {.name = "b", .tokens = {record("k1")}, .uids = {5}},
                               {.name = "c", .certificates = {"x"}, .uids = {5}},
                               {.name = "d", .certificates = {"x"}, .gids = {5, 5}}}),
              ElementsAre("users 'a' and 'b' both have the token id 'k1'",
                          "users 'b' and 'c' both have the uid 5",
                          "users 'c' and 'd' both have the certificate 'x'",
                          "user 'd' has the gid 5 twice"));
  EXPECT_TRUE(Users::problems({{.name = "a", .uids = {5}}, {.name = "b", .gids = {5}}}).empty());
}

}  // namespace
}  // namespace perennial::access
