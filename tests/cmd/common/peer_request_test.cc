#include "cmd/common/peer/peer_request.h"

#include <filesystem>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/certificates.h"
#include "tests/support/temp_dir.h"

namespace perennial::common {
namespace {

// Answers one request over TLS, if the client trusts the certificate.
class TlsAnswer {
 public:
  TlsAnswer(const std::string& certificate, const std::string& key)
      : context_(SSL_CTX_new(TLS_server_method())), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    EXPECT_EQ(SSL_CTX_use_certificate_chain_file(context_, certificate.c_str()), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context_, key.c_str(), SSL_FILETYPE_PEM), 1);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_, any, size), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    EXPECT_EQ(::getsockname(listener_, any, &size), 0);
    address_ = fmt::format("127.0.0.1:{}", ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~TlsAnswer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
    SSL_CTX_free(context_);
  }
  const std::string& address() const { return address_; }

 private:
  void serve() {
    const int client = ::accept(listener_, nullptr, nullptr);
    if (client < 0) return;
    SSL* const ssl = SSL_new(context_);
    SSL_set_fd(ssl, client);
    char bytes[4096];
    if (SSL_accept(ssl) == 1 && SSL_read(ssl, bytes, sizeof bytes) > 0) {
      const std::string answer =
          "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
      SSL_write(ssl, answer.data(), static_cast<int>(answer.size()));
      SSL_shutdown(ssl);
    }
    SSL_free(ssl);
    ::close(client);
  }

  SSL_CTX* const context_;
  const int listener_;
  std::string address_;
  std::thread thread_;
};

// A folder of CAs, as /etc/ssl/certs is one.
void add_to_folder(const std::string& folder, const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "r");
  X509* const certificate = PEM_read_X509(file, nullptr, nullptr, nullptr);
  std::fclose(file);
  const std::string name = fmt::format("{}/{:08x}.0", folder, X509_subject_name_hash(certificate));
  X509_free(certificate);
  std::filesystem::copy_file(path, name);
}

size_t discard(const char*, size_t, size_t count, void*) {
  return count;
}

// The CAs of the system are a folder that curl has from its build. The request is given one here
// before its access is set.
CURLcode ask(const PeerAccess& access, const std::string& system_folder,
             const std::string& address) {
  CURL* const request = curl_easy_init();
  const std::string url = peer_url(access, address, "/");
  curl_easy_setopt(request, CURLOPT_CAPATH, system_folder.c_str());
  curl_easy_setopt(request, CURLOPT_URL, url.c_str());
  curl_easy_setopt(request, CURLOPT_WRITEFUNCTION, discard);
  curl_easy_setopt(request, CURLOPT_TIMEOUT, 30L);
  const Result<HttpFields> fields = set_peer_access(request, access);
  EXPECT_TRUE(fields.ok());
  const CURLcode code = curl_easy_perform(request);
  curl_easy_cleanup(request);
  return code;
}

// A node whose certificate comes from a public CA would else get the token of the others.
TEST(PeerRequest, TrustsNoCaButItsOwn) {
  const support::TempDir dir;
  support::Authority own("own CA");
  support::Authority system("system CA");
  const auto path = [&](const std::string& name) { return dir.path() + "/" + name; };
  std::filesystem::create_directory(path("system"));
  support::write_file(path("own.pem"), own.certificate());
  support::write_file(path("system.pem"), system.certificate());
  add_to_folder(path("system"), path("system.pem"));
  const support::CertificateFacts facts = {.ips = {"127.0.0.1"}};
  struct Case {
    support::Authority* issuer;
    CURLcode want;
  };
  for (const Case& each : {Case{&own, CURLE_OK}, Case{&system, CURLE_PEER_FAILED_VERIFICATION}}) {
    const support::Certificate certificate = each.issuer->issue(facts);
    support::write_file(path("server.pem"), certificate.certificate);
    support::write_file(path("server.key"), certificate.key);
    const TlsAnswer server(path("server.pem"), path("server.key"));
    EXPECT_EQ(ask({.ca_file = path("own.pem")}, path("system"), server.address()), each.want);
  }
}

}  // namespace
}  // namespace perennial::common
