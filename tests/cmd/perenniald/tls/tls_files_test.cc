// What the files of a listener must be like, and what a reload makes of them.

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/perenniald/tls/client_files.h"
#include "cmd/perenniald/tls/tls_listener.h"
#include "tests/cmd/perenniald/tls/tls_peer.h"
#include "tests/support/certificates.h"
#include "tests/support/temp_dir.h"

namespace perennial::perenniald {
namespace {

using support::Certificate;
using support::write_file;
using testing::HasSubstr;
using testing::StartsWith;

class TlsFilesTest : public testing::Test {
 protected:
  TlsFilesTest() {
    write_own(authority_.issue({.dns = {"localhost"}, .usage = "serverAuth"}));
    write_file(settings_.client_ca, authority_.certificate());
    write_file(settings_.crl, authority_.revocation_list({}));
  }

  void write_own(const Certificate& own) const {
    write_file(settings_.certificate, own.certificate);
    write_file(settings_.key, own.key);
  }
  std::string path(const std::string& name) const { return dir_.path() + "/" + name; }
  // Why the files are refused; empty if they are not.
  std::string refusal() const {
    const Result<std::unique_ptr<TlsListener>> loaded = TlsListener::load(settings_);
    return loaded.ok() ? "" : loaded.status().message();
  }

  const support::TempDir dir_;
  support::Authority authority_;
  const TlsSettings settings_ = {.certificate = path("own.pem"),
                                 .key = path("own.key"),
                                 .client_ca = path("ca.pem"),
                                 .crl = path("crl.pem"),
                                 .client = ClientCertificate::Require};
};

TEST_F(TlsFilesTest, GoodFilesAreTaken) {
  EXPECT_EQ(refusal(), "");
  const Result<std::unique_ptr<TlsListener>> loaded = TlsListener::load(settings_);
  EXPECT_THAT((*loaded)->certificate_end(), testing::EndsWith(" UTC"));
}

TEST_F(TlsFilesTest, EachMissingFileIsNamed) {
  for (const std::string& name :
       {settings_.certificate, settings_.key, settings_.client_ca, settings_.crl}) {
    ASSERT_EQ(rename(name.c_str(), path("away").c_str()), 0);
    EXPECT_EQ(refusal(), name + ": cannot be opened: No such file or directory");
    ASSERT_EQ(rename(path("away").c_str(), name.c_str()), 0);
  }
}

TEST_F(TlsFilesTest, AFileThatIsWrittenHalfIsRefused) {
  for (const std::string& name :
       {settings_.certificate, settings_.key, settings_.client_ca, settings_.crl}) {
    struct stat facts {};
    ASSERT_EQ(stat(name.c_str(), &facts), 0);
    ASSERT_EQ(link(name.c_str(), path("whole").c_str()), 0);
    for (const off_t size : {facts.st_size - 10, facts.st_size / 2, off_t{5}, off_t{0}}) {
      ASSERT_EQ(unlink(name.c_str()), 0);
      write_file(name, [&] {
        FILE* const file = fopen(path("whole").c_str(), "r");
        std::string text(static_cast<size_t>(size), '\0');
        EXPECT_EQ(fread(text.data(), 1, text.size(), file), text.size());
        fclose(file);
        return text;
      }());
      EXPECT_THAT(refusal(), StartsWith(name + ": ")) << size;
    }
    ASSERT_EQ(rename(path("whole").c_str(), name.c_str()), 0);
  }
  EXPECT_EQ(refusal(), "");
}

TEST_F(TlsFilesTest, AChainThatEndsInsideOfACertificateIsRefused) {
  const Certificate own = authority_.issue({});
  const std::string second = authority_.certificate();
  write_own({.certificate = own.certificate + second.substr(0, 200), .key = own.key});
  EXPECT_THAT(refusal(), HasSubstr("number 2 of its certificates is damaged or incomplete"));
  write_own({.certificate = own.certificate + second, .key = own.key});
  EXPECT_EQ(refusal(), "");
}

TEST_F(TlsFilesTest, ServerCertificatesThatNobodyCanUseAreRefused) {
  struct Case {
    support::CertificateFacts facts;
    std::string why;
  };
  const std::vector<Case> cases = {
      {{.ends_s = -60}, "expired at "},
      {{.begins_s = 3'600}, "is not valid before "},
      {{.usage = "clientAuth"}, "is not for servers"},
  };
  for (const Case& each : cases) {
    write_own(authority_.issue(each.facts));
    EXPECT_THAT(refusal(), StartsWith(settings_.certificate + ": " + each.why));
  }
}

TEST_F(TlsFilesTest, AKeyOfAnotherCertificateIsRefused) {
  write_file(settings_.key, authority_.issue({}).key);
  EXPECT_EQ(refusal(), settings_.key + ": is not the key of the first certificate in " +
                           settings_.certificate);
}

TEST_F(TlsFilesTest, T26AKeyThatOthersMayReadIsRefused) {
  for (const unsigned mode : {0644U, 0650U, 0604U, 0660U, 0602U}) {
    ASSERT_EQ(chmod(settings_.key.c_str(), mode), 0);
    EXPECT_THAT(refusal(), HasSubstr("others than its owner have access to it"));
    EXPECT_THAT(refusal(), HasSubstr("chmod 0600"));
  }
  for (const unsigned mode : {0400U, 0440U}) {  // A group of this process.
    ASSERT_EQ(chmod(settings_.key.c_str(), mode), 0);
    EXPECT_EQ(refusal(), "");
  }
}

TEST_F(TlsFilesTest, AKeyWithAPasswordIsRefusedWithoutAsking) {
  write_file(settings_.key,
             "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
             "MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiQrk2PqFcZVAICCAAw\n"
             "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEBHBt0lzM3t8nMX6xUE0BJ8EgZCx\n"
             "cHrM4rM8Vv0yrrdv7vXoUzjHjUyMhfH7sS7JuyTLvjpdUylGW2+B3o4WvN5LJ4t0\n"
             "6gL1s7hEGSVjUJN9bYZ3Bs6sWsw3e1cN0Ak2oRr8XS0S5tC8EPzWkZ9eqsqOHHlg\n"
             "gVNVyOlbWGMXs8YJc4x0wcQzJeg5r7k4sXS0Gk8lq3V5BqJ0kN2vSu9UqbIwXfs=\n"
             "-----END ENCRYPTED PRIVATE KEY-----\n");
  EXPECT_THAT(refusal(), HasSubstr("has a password"));
}

TEST_F(TlsFilesTest, AuthoritiesThatAreNoneAreRefused) {
  write_file(settings_.client_ca, authority_.issue({}).certificate);
  EXPECT_THAT(refusal(), HasSubstr("holds a certificate that is none of a CA"));
  write_file(settings_.client_ca, authority_.issue({.is_ca = true, .ends_s = -60}).certificate);
  EXPECT_THAT(refusal(), HasSubstr("all of its certificates have expired"));
  write_file(settings_.client_ca, authority_.issue({}).key);
  EXPECT_THAT(refusal(), HasSubstr("holds no certificate in PEM"));
}

TEST_F(TlsFilesTest, ARevocationListThatHasExpiredIsRefused) {
  write_file(settings_.crl, authority_.revocation_list({}, -60));
  EXPECT_THAT(refusal(), StartsWith(settings_.crl + ": expired at "));
}

TEST_F(TlsFilesTest, DirectoriesAndEndlessFilesAreRefused) {
  TlsSettings settings = settings_;
  settings.certificate = dir_.path();
  EXPECT_THAT(TlsListener::load(settings).status().message(), HasSubstr("is no file"));
  settings.certificate = "/dev/zero";
  EXPECT_THAT(TlsListener::load(settings).status().message(), HasSubstr("is no file"));
}

// ---- Reloads.

TEST_F(TlsFilesTest, AReloadServesTheNewCertificateToNewClientsOnly) {
  Result<std::unique_ptr<TlsListener>> loaded =
      TlsListener::load({.certificate = settings_.certificate, .key = settings_.key});
  TlsListener& listener = **loaded;
  support::TlsPeer before;
  const std::unique_ptr<TlsChannel> old = listener.open(1);
  before.exchange(*old);
  const std::string end = listener.certificate_end();
  write_own(authority_.issue({.ends_s = 7 * 86'400}));
  EXPECT_TRUE(listener.files_changed());
  EXPECT_TRUE(listener.reload(1).ok());
  EXPECT_NE(listener.certificate_end(), end);
  support::TlsPeer after;
  after.exchange(*listener.open(1));
  EXPECT_TRUE(after.is_connected());
  before.say("still here");
  EXPECT_EQ(before.exchange(*old), "still here");
}

TEST_F(TlsFilesTest, T21ABadReloadKeepsTheOldFiles) {
  Result<std::unique_ptr<TlsListener>> loaded =
      TlsListener::load({.certificate = settings_.certificate, .key = settings_.key});
  TlsListener& listener = **loaded;
  const Certificate own = authority_.issue({});
  const Certificate expired = authority_.issue({.ends_s = -60});
  struct Case {
    Certificate files;
    unsigned mode;
  };
  for (const Case& each :
       {Case{{.certificate = "", .key = own.key}, 0600},
        Case{{.certificate = own.certificate.substr(0, 300), .key = own.key}, 0600},
        Case{{.certificate = own.certificate, .key = expired.key}, 0600}, Case{expired, 0600},
        Case{own, 0644}}) {
    write_own(each.files);
    ASSERT_EQ(chmod(settings_.key.c_str(), each.mode), 0);
    EXPECT_TRUE(listener.files_changed());
    EXPECT_FALSE(listener.reload(1).ok());
    EXPECT_FALSE(listener.files_changed());  // One attempt, and one line in the log.
    support::TlsPeer peer;
    peer.exchange(*listener.open(1));
    EXPECT_TRUE(peer.is_connected());
  }
  unlink(settings_.key.c_str());
  EXPECT_TRUE(listener.files_changed());
  EXPECT_FALSE(listener.reload(1).ok());
  write_own(own);
  EXPECT_TRUE(listener.files_changed());
  EXPECT_TRUE(listener.reload(1).ok());
}

// As those with which a node of a cluster goes to etcd.
TEST_F(TlsFilesTest, FilesOfAClientAreLookedAtBeforeTheyAreUsed) {
  const ClientFiles files = {
      .authorities = path("ca.pem"), .certificate = path("own.pem"), .key = path("own.key")};
  const auto refusal_of = [](const ClientFiles& each) {
    return check_client_files(each).message();
  };
  write_own(authority_.issue({.usage = "clientAuth"}));
  EXPECT_EQ(refusal_of(files), "");
  EXPECT_EQ(refusal_of({}), "");
  EXPECT_EQ(refusal_of({.authorities = files.authorities, .certificate = {}, .key = {}}), "");
  const Certificate other = authority_.issue({});
  write_file(files.key, other.key);
  EXPECT_EQ(refusal_of(files),
            files.key + ": is not the key of the first certificate in " + files.certificate);
  write_file(files.key, other.key.substr(0, 60));
  EXPECT_THAT(refusal_of(files), StartsWith(files.key + ": holds no whole private key"));
  write_file(files.key, other.key, 0644);
  EXPECT_THAT(refusal_of(files), StartsWith(files.key + ": "));
  write_own(authority_.issue({.ends_s = -60}));
  EXPECT_THAT(refusal_of(files), StartsWith(files.certificate + ": expired at "));
  write_file(files.authorities, "nothing");
  EXPECT_THAT(refusal_of(files), StartsWith(files.authorities + ": holds no certificate"));
}

}  // namespace
}  // namespace perennial::perenniald
