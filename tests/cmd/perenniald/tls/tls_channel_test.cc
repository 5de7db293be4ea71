// TLS between a channel of the server and a client of OpenSSL, both in memory. The names begin with
// the number of the threat that they are about (etc/docs/security.md).

#include "cmd/perenniald/tls/tls_channel.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "cmd/perenniald/tls/tls_listener.h"
#include "tests/cmd/perenniald/tls/tls_peer.h"
#include "tests/support/certificates.h"
#include "tests/support/temp_dir.h"

namespace perennial::perenniald {
namespace {

using support::Certificate;
using support::TlsPeer;
using testing::HasSubstr;
using State = TlsChannel::State;

constexpr Nanos hour = 3'600 * nanos_per_second;

class TlsChannelTest : public testing::Test {
 protected:
  TlsChannelTest() {
    const Certificate own = authority_.issue({.common_name = "server", .dns = {"localhost"}});
    support::write_file(path("server.pem"), own.certificate);
    support::write_file(path("server.key"), own.key);
    support::write_file(path("ca.pem"), authority_.certificate());
  }

  std::string path(const std::string& name) const { return dir_.path() + "/" + name; }
  std::unique_ptr<TlsListener> listen(ClientCertificate client = ClientCertificate::None,
                                      const std::string& crl = {}) const {
    Result<std::unique_ptr<TlsListener>> made =
        TlsListener::load({.certificate = path("server.pem"),
                           .key = path("server.key"),
                           .client_ca = client == ClientCertificate::None ? "" : path("ca.pem"),
                           .crl = crl,
                           .client = client});
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.take();
  }
  // Connects, and expects that it works.
  std::unique_ptr<TlsChannel> connect(TlsListener& listener, TlsPeer& peer,
                                      Nanos now = hour) const {
    std::unique_ptr<TlsChannel> channel = listener.open(now);
    peer.exchange(*channel);
    EXPECT_EQ(channel->state(), State::Open) << channel->failure();
    EXPECT_TRUE(peer.is_connected());
    return channel;
  }
  // Connects, and returns why it fails.
  static std::string refusal(TlsListener& listener, const TlsPeer::Setup& setup) {
    TlsPeer peer(setup);
    const std::unique_ptr<TlsChannel> channel = listener.open(hour);
    peer.exchange(*channel);
    EXPECT_EQ(channel->state(), State::Failed);
    return channel->failure();
  }

  const support::TempDir dir_;
  support::Authority authority_;
};

TEST_F(TlsChannelTest, BytesGoBothWaysWhateverTheSplit) {
  const std::unique_ptr<TlsListener> listener = listen();
  std::string much;
  for (int i = 0; much.size() < 100'000; ++i) much += std::to_string(i);
  for (const size_t piece : {1UL, 7UL, 64UL << 10}) {
    TlsPeer peer;
    const std::unique_ptr<TlsChannel> channel = listener->open(hour);
    EXPECT_EQ(peer.exchange(*channel, piece), "");
    ASSERT_EQ(channel->state(), State::Open) << channel->failure();
    peer.say("put");
    peer.say(much);
    EXPECT_EQ(peer.exchange(*channel, piece), "put" + much);
    channel->send(much);
    channel->send("end");
    peer.exchange(*channel, piece);
    EXPECT_EQ(peer.hear(), much + "end");
  }
}

TEST_F(TlsChannelTest, AllRepliesOfAWriteTravelInOneRecord) {
  const std::unique_ptr<TlsListener> listener = listen();
  TlsPeer peer;
  const std::unique_ptr<TlsChannel> channel = connect(*listener, peer);
  channel->send(std::string(1'000, 'x'));
  EXPECT_LT(channel->output().size(), 1'030U);
}

TEST_F(TlsChannelTest, TheEndOfTheClientIsAHalfClose) {
  const std::unique_ptr<TlsListener> listener = listen();
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsPeer peer({.version_max = version});
    const std::unique_ptr<TlsChannel> channel = connect(*listener, peer);
    peer.say("last");
    peer.end();
    EXPECT_EQ(peer.exchange(*channel), "last");
    EXPECT_EQ(channel->state(), State::Ended);
    channel->send("answer");
    channel->end();
    peer.exchange(*channel);
    EXPECT_EQ(peer.hear(), "answer");
    EXPECT_TRUE(peer.is_ended());
  }
}

TEST_F(TlsChannelTest, TheProtocolIsOursOrNone) {
  const std::unique_ptr<TlsListener> listener = listen();
  TlsPeer ours({.protocols = "\x02h2\x09"
                             "beanstalk"});
  connect(*listener, ours);
  EXPECT_EQ(ours.protocol(), "beanstalk");
  TlsPeer none;
  connect(*listener, none);
  EXPECT_EQ(none.protocol(), "");
  EXPECT_THAT(refusal(*listener, {.protocols = "\x02h2\x08http/1.1"}),
              HasSubstr("no application protocol"));
}

TEST_F(TlsChannelTest, BytesThatAreNoTlsAreRefused) {
  const std::unique_ptr<TlsListener> listener = listen();
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"GET / HTTP/1.1\r\n", "http request"},
      {"put 0 0 10 1\r\na\r\n", "wrong version number"},
      {std::string(100, '\0'), "wrong version number"}};
  for (const auto& [bytes, why] : cases) {
    const std::unique_ptr<TlsChannel> channel = listener->open(hour);
    std::vector<char> plain(64 << 10);
    EXPECT_EQ(channel->receive(bytes, plain), 0U);
    EXPECT_EQ(channel->state(), State::Failed);
    EXPECT_EQ(channel->failure(), why);
  }
}

TEST_F(TlsChannelTest, AFailureAfterTheHandshakeIsNoEnd) {
  const std::unique_ptr<TlsListener> listener = listen();
  TlsPeer peer;
  const std::unique_ptr<TlsChannel> channel = connect(*listener, peer);
  peer.say("secret");
  std::string bytes = peer.take_bytes();
  bytes.back() ^= 1;
  std::vector<char> plain(64 << 10);
  EXPECT_EQ(channel->receive(bytes, plain), 0U);
  EXPECT_EQ(channel->state(), State::Failed);
}

// ---- Who the client is.

TEST_F(TlsChannelTest, TheNamesOfACertificateAreThereInTheirOrder) {
  const std::unique_ptr<TlsListener> listener = listen(ClientCertificate::Require);
  const Certificate certificate = authority_.issue({.common_name = "mailer",
                                                    .uris = {"spiffe://corp/mailer", "urn:b"},
                                                    .dns = {"*.corp", "mail.corp"},
                                                    .usage = "clientAuth"});
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsPeer peer({.certificate = &certificate, .version_max = version});
    const std::unique_ptr<TlsChannel> channel = connect(*listener, peer);
    ASSERT_TRUE(channel->peer());
    EXPECT_THAT(channel->peer()->uris, testing::ElementsAre("spiffe://corp/mailer", "urn:b"));
    EXPECT_THAT(channel->peer()->dns, testing::ElementsAre("*.corp", "mail.corp"));
    EXPECT_EQ(channel->peer()->common_name, "mailer");
  }
}

TEST_F(TlsChannelTest, ACertificateThatIsOnlyRequestedMayBeMissingButNotBad) {
  const std::unique_ptr<TlsListener> listener = listen(ClientCertificate::Request);
  TlsPeer without;
  EXPECT_FALSE(connect(*listener, without)->peer());
  const Certificate good = authority_.issue({.common_name = "a"});
  TlsPeer with({.certificate = &good});
  EXPECT_EQ(connect(*listener, with)->peer()->common_name, "a");
  const Certificate bad = support::Authority("another CA").issue({.common_name = "a"});
  EXPECT_THAT(refusal(*listener, {.certificate = &bad}), HasSubstr("unable to get local issuer"));
}

TEST_F(TlsChannelTest, T20CertificatesOfTheWrongKindAreRefused) {
  const std::unique_ptr<TlsListener> listener = listen(ClientCertificate::Require);
  struct Case {
    Certificate certificate;
    std::string why;
  };
  const std::string nul("mail\0er", 7);
  const std::vector<Case> cases = {
      {authority_.issue({.ends_s = -60}), "certificate has expired"},
      {authority_.issue({.begins_s = 3'600}), "certificate is not yet valid"},
      {authority_.issue({.usage = "serverAuth"}), "unsuitable certificate purpose"},
      {support::self_signed({}), "self-signed certificate"},
      {support::Authority().issue({}), "certificate signature failure"},
      {support::Authority("another CA").issue({}), "unable to get local issuer certificate"},
      {authority_.issue({.common_name = nul}), "a name in the certificate cannot be read"},
      {authority_.issue({.uris = {nul}}), "a name in the certificate cannot be read"},
      {authority_.issue({.dns = {"a\nb"}}), "a name in the certificate cannot be read"},
      {authority_.issue({.dns = {""}}), "a name in the certificate cannot be read"},
  };
  for (const Case& each : cases) {
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
      EXPECT_THAT(refusal(*listener, {.certificate = &each.certificate, .version_max = version}),
                  HasSubstr(each.why));
    }
  }
  EXPECT_THAT(refusal(*listener, {}), HasSubstr("peer did not return a certificate"));
}

TEST_F(TlsChannelTest, T20ARevokedCertificateIsRefused) {
  const Certificate good = authority_.issue({});
  const Certificate bad = authority_.issue({});
  support::write_file(path("crl.pem"), authority_.revocation_list({bad.serial}));
  const std::unique_ptr<TlsListener> listener = listen(ClientCertificate::Require, path("crl.pem"));
  TlsPeer peer({.certificate = &good});
  connect(*listener, peer);
  EXPECT_THAT(refusal(*listener, {.certificate = &bad}), HasSubstr("certificate revoked"));
}

// ---- Sessions.

TEST_F(TlsChannelTest, ASessionIsResumedWithItsIdentity) {
  const Certificate own = authority_.issue({.common_name = "a"});
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const std::unique_ptr<TlsListener> listener = listen(ClientCertificate::Require);
    TlsPeer first({.certificate = &own, .version_max = version});
    EXPECT_FALSE(connect(*listener, first)->is_resumed());
    // Also with the key of the last hour, and also if the connection does not end in order.
    for (const Nanos now : {hour, 2 * hour}) {
      TlsPeer second({.version_max = version, .resumes = &first});
      const std::unique_ptr<TlsChannel> channel = connect(*listener, second, now);
      EXPECT_TRUE(channel->is_resumed());
      EXPECT_EQ(channel->peer()->common_name, "a");
    }
    TlsPeer third({.certificate = &own, .version_max = version, .resumes = &first});
    EXPECT_FALSE(connect(*listener, third, 4 * hour)->is_resumed());
  }
}

TEST_F(TlsChannelTest, T19ASessionOfAnotherListenerIsNotResumed) {
  const std::unique_ptr<TlsListener> open = listen(ClientCertificate::None);
  const std::unique_ptr<TlsListener> strict = listen(ClientCertificate::Require);
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsPeer first({.version_max = version});
    connect(*open, first);
    EXPECT_THAT(refusal(*strict, {.version_max = version, .resumes = &first}),
                HasSubstr("peer did not return a certificate"));
    TlsPeer again({.version_max = version, .resumes = &first});
    EXPECT_TRUE(connect(*open, again)->is_resumed());
  }
}

TEST_F(TlsChannelTest, T19ASessionIsNotResumedAfterAChangeOfTheCaOrTheRevocationList) {
  const Certificate own = authority_.issue({.common_name = "a"});
  support::write_file(path("crl.pem"), authority_.revocation_list({}));
  const std::unique_ptr<TlsListener> listener = listen(ClientCertificate::Require, path("crl.pem"));
  TlsPeer first({.certificate = &own});
  connect(*listener, first);
  TlsPeer under_way({.certificate = &own});
  const std::unique_ptr<TlsChannel> slow = listener->open(hour);
  ASSERT_TRUE(listener->reload(hour).ok());  // Nothing has changed.
  TlsPeer again({.resumes = &first});
  EXPECT_TRUE(connect(*listener, again)->is_resumed());

  support::write_file(path("crl.pem"), authority_.revocation_list({own.serial}));
  EXPECT_TRUE(listener->files_changed());
  ASSERT_TRUE(listener->reload(hour).ok());
  EXPECT_FALSE(listener->files_changed());
  EXPECT_THAT(refusal(*listener, {.certificate = &own, .resumes = &first}),
              HasSubstr("certificate revoked"));
  // A handshake of before the reload began with the old list.
  under_way.exchange(*slow);
  EXPECT_EQ(slow->state(), State::Failed);
  EXPECT_THAT(slow->failure(), HasSubstr("certificate revoked"));
}

// Also one whose session was resumed, and one with a certificate between its own and the CA.
TEST_F(TlsChannelTest, T18ARevocationListSaysWhichConnectionsAreToEnd) {
  const Certificate good = authority_.issue({.common_name = "good"});
  const Certificate bad = authority_.issue({.common_name = "bad"});
  support::write_file(path("crl.pem"), authority_.revocation_list({}));
  const std::unique_ptr<TlsListener> listener = listen(ClientCertificate::Request, path("crl.pem"));
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    support::write_file(path("crl.pem"), authority_.revocation_list({}));
    ASSERT_TRUE(listener->reload(hour).ok());
    TlsPeer of_good({.certificate = &good, .version_max = version});
    TlsPeer of_bad({.certificate = &bad, .version_max = version});
    TlsPeer without({.version_max = version});
    const std::unique_ptr<TlsChannel> stays = connect(*listener, of_good);
    const std::unique_ptr<TlsChannel> ends = connect(*listener, of_bad);
    const std::unique_ptr<TlsChannel> nameless = connect(*listener, without);
    TlsPeer again({.version_max = version, .resumes = &of_bad});
    const std::unique_ptr<TlsChannel> resumed = connect(*listener, again);
    ASSERT_TRUE(resumed->is_resumed());
    for (const auto* each : {&stays, &ends, &nameless, &resumed}) {
      EXPECT_FALSE((*each)->is_revoked());
    }
    support::write_file(path("crl.pem"), authority_.revocation_list({bad.serial}));
    EXPECT_FALSE(ends->is_revoked());  // Nobody has read it.
    ASSERT_TRUE(listener->reload(hour).ok());
    EXPECT_FALSE(stays->is_revoked());
    EXPECT_TRUE(ends->is_revoked());
    EXPECT_FALSE(nameless->is_revoked());
    EXPECT_TRUE(resumed->is_revoked());
    // A list of another CA with the same number says nothing.
    const support::Authority other("another CA");
    support::write_file(path("crl.pem"),
                        authority_.revocation_list({}) + other.revocation_list({good.serial}));
    ASSERT_TRUE(listener->reload(hour).ok());
    EXPECT_FALSE(stays->is_revoked());
    EXPECT_FALSE(ends->is_revoked());
  }
}

TEST_F(TlsChannelTest, T20AnExpiredCertificateIsNotResumed) {
  const std::unique_ptr<TlsListener> listener = listen(ClientCertificate::Require);
  const Certificate own = authority_.issue({.common_name = "a", .ends_s = 1});
  TlsPeer first({.certificate = &own});
  connect(*listener, first);
  sleep(2);
  EXPECT_THAT(refusal(*listener, {.certificate = &own, .resumes = &first}),
              HasSubstr("certificate has expired"));
}

// ---- What clients must not do.

TEST_F(TlsChannelTest, T22RenegotiationEndsTheConnection) {
  const std::unique_ptr<TlsListener> listener = listen();
  TlsPeer peer({.version_max = TLS1_2_VERSION});
  const std::unique_ptr<TlsChannel> channel = connect(*listener, peer);
  peer.renegotiate();
  peer.exchange(*channel);
  EXPECT_EQ(channel->state(), State::Failed);
  EXPECT_EQ(channel->failure(), "renegotiation");
}

TEST_F(TlsChannelTest, AKeyUpdateIsAnswered) {
  const std::unique_ptr<TlsListener> listener = listen();
  TlsPeer peer;
  const std::unique_ptr<TlsChannel> channel = connect(*listener, peer);
  EXPECT_TRUE(peer.update_key());
  peer.say("after");
  EXPECT_EQ(peer.exchange(*channel), "after");
  channel->send("answer");
  peer.exchange(*channel);
  EXPECT_EQ(peer.hear(), "answer");
}

TEST_F(TlsChannelTest, T22RecordsOfOneByteAreRead) {
  const std::unique_ptr<TlsListener> listener = listen();
  TlsPeer peer;
  const std::unique_ptr<TlsChannel> channel = connect(*listener, peer);
  const std::string text(3'000, 'x');
  for (const char c : text) peer.say({&c, 1});
  EXPECT_EQ(peer.exchange(*channel), text);
}

TEST_F(TlsChannelTest, T22EmptyRecordsAreRefused) {
  const std::unique_ptr<TlsListener> listener = listen();
  const std::unique_ptr<TlsChannel> channel = listener->open(hour);
  std::string records;
  while (records.size() < (64 << 10)) records.append("\x16\x03\x01\x00\x00", 5);
  std::vector<char> plain(records.size() + TlsChannel::record_bytes_max);
  channel->receive(records, plain);
  EXPECT_EQ(channel->state(), State::Failed);
  EXPECT_LT(channel->output().size(), 100U);
}

TEST_F(TlsChannelTest, T22AnEndlessHandshakeFails) {
  const std::unique_ptr<TlsListener> listener = listen();
  const std::unique_ptr<TlsChannel> channel = listener->open(hour);
  std::vector<char> plain(64 << 10);
  // A ClientHello of 16 MB in records of one byte.
  std::string record("\x16\x03\x01\x00\x04\x01\xff\xff\xff", 9);
  size_t sent = 0;
  while (channel->state() == State::Handshaking && sent < (1 << 20)) {
    channel->receive(record, plain);
    sent += record.size();
    record.assign("\x16\x03\x01\x00\x01x", 6);
  }
  EXPECT_EQ(channel->state(), State::Failed);
  EXPECT_LE(sent, TlsChannel::handshake_bytes_max + record.size());
}

TEST_F(TlsChannelTest, T24OldVersionsAndWeakCiphersAreRefused) {
  const std::unique_ptr<TlsListener> listener = listen();
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION}) {
    EXPECT_THAT(refusal(*listener, {.version_max = version, .ciphers = "ALL:@SECLEVEL=0"}),
                HasSubstr("unsupported protocol"));
  }
  for (const char* const ciphers : {"ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-AES256-SHA",
                                    "AES128-GCM-SHA256", "DHE-RSA-AES128-GCM-SHA256"}) {
    EXPECT_THAT(refusal(*listener, {.version_max = TLS1_2_VERSION, .ciphers = ciphers}),
                HasSubstr("no shared cipher"))
        << ciphers;
  }
}

}  // namespace
}  // namespace perennial::perenniald
