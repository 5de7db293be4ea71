#include "cmd/common/token.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace perennial::common {
namespace {

const std::string secret(token_secret_bytes, 'x');

TEST(Token, IsMadeInItsFormAndNeverTwice) {
  std::set<std::string> made;
  for (int i = 0; i < 100; ++i) {
    const Result<std::string> token = make_token();
    ASSERT_TRUE(token.ok());
    EXPECT_EQ(token_id(*token).size(), 8u) << *token;
    EXPECT_TRUE(made.insert(*token).second);
    // It fits into a line of beanstalkd's: "auth bearer <token>\r\n".
    EXPECT_LT(token->size() + 14, 224u);
  }
  const Result<std::string> named = make_token("mailer1");
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(token_id(*named), "mailer1");
}

TEST(Token, OfAnotherFormHasNoId) {
  EXPECT_EQ(token_id("prn_k1_" + secret), "k1");
  for (const std::string& text :
       {std::string(), std::string("prn_"), "prn__" + secret, "prn_k1-" + secret,
        "prn_K1_" + secret, "prn_k1_" + secret.substr(1), "prx_k1_" + secret,
        "prn_k1_" + secret.substr(1) + "!", "prn_k1_" + secret.substr(1) + " ",
        "prn_" + std::string(33, 'k') + "_" + secret}) {
    EXPECT_EQ(token_id(text), "") << text;
  }
}

TEST(Token, RecordIsReadBack) {
  const TokenRecord record = token_record("prn_k1_" + secret);
  const std::string text = token_text(record);
  EXPECT_EQ(text.substr(0, 10), "k1:sha256:");
  EXPECT_EQ(text.size(), 10u + 64);
  const Result<TokenRecord> read = parse_token_record(text);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, record);
  EXPECT_TRUE(same_hash(read->hash, token_hash("prn_k1_" + secret)));
  EXPECT_FALSE(same_hash(read->hash, token_hash("prn_k2_" + secret)));
}

// FIPS 180-2, example B.1.
TEST(Token, HashIsSha256) {
  EXPECT_EQ(token_text({.id = "a", .hash = token_hash("abc")}),
            "a:sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

// T25: a token that was put into the configuration by mistake is not repeated in the message.
TEST(Token, ABadRecordIsNotRepeated) {
  const std::string hash(64, 'a');
  for (const std::string& text :
       {"prn_k1_" + secret, "k1:sha256:" + hash.substr(1), "k1:sha256:" + hash + "a",
        "k1:md5:" + hash, ":sha256:" + hash, "K1:sha256:" + hash,
        "k1:sha256:" + hash.substr(1) + "G", "k1:sha256:" + hash.substr(1) + "A"}) {
    const Result<TokenRecord> read = parse_token_record(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.status().message().find(text), std::string::npos);
    EXPECT_NE(read.status().message().find("perennial token new"), std::string::npos);
  }
}

}  // namespace
}  // namespace perennial::common
