#include "cmd/perenniald/tls/pem_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/common/private_file.h"

namespace perennial::perenniald {
namespace {

// Far more than any chain or list of CAs. The limit is needed for files without an end.
constexpr size_t file_bytes_max = 8 << 20;

// The content of a file. It is overwritten at the end, because it may be a key.
class Content {
 public:
  Content() = default;
  Content(Content&&) = default;
  Content& operator=(Content&&) = default;
  ~Content() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

  Status read(int fd, const std::string& path) {
    size_t filled = 0;
    for (;;) {
      // A growing string would leave copies of a key behind.
      if (filled == bytes_.size() && !grow()) return bad_file(path, "is too long for a PEM file");
      const ssize_t count = ::read(fd, bytes_.data() + filled, bytes_.size() - filled);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return bad_file(path, std::string("cannot be read: ") + std::strerror(errno));
      if (count == 0) break;
      filled += static_cast<size_t>(count);
    }
    size_ = filled;
    return {};
  }
  BioPtr bio() const { return BioPtr(BIO_new_mem_buf(bytes_.data(), static_cast<int>(size_))); }

 private:
  bool grow() {
    const size_t wanted = bytes_.empty() ? size_t{64} << 10 : bytes_.size() * 4;
    if (wanted > file_bytes_max) return false;
    std::vector<char> larger(wanted);
    std::ranges::copy(bytes_, larger.begin());
    OPENSSL_cleanse(bytes_.data(), bytes_.size());
    bytes_ = std::move(larger);
    return true;
  }

  std::vector<char> bytes_;
  size_t size_ = 0;
};

enum class Secrecy { Public, OwnerOnly };

Status check_file(int fd, const std::string& path, Secrecy secrecy) {
  struct stat facts {};
  if (fstat(fd, &facts) != 0) return bad_file(path, std::strerror(errno));
  if (!S_ISREG(facts.st_mode)) return bad_file(path, "is no file");
  return secrecy == Secrecy::OwnerOnly ? common::check_private(facts, path) : Status();
}

Result<Content> read_file(const std::string& path, Secrecy secrecy) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return bad_file(path, std::string("cannot be opened: ") + std::strerror(errno));
  Content content;
  Status status = check_file(fd, path, secrecy);
  if (status.ok()) status = content.read(fd, path);
  ::close(fd);
  if (!status.ok()) return status;
  return content;
}

// No key is asked for its password: a server has nobody to ask.
int no_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

// Reads all objects of one kind.
template <typename Pointer, typename Read>
Result<std::vector<Pointer>> read_all(const std::string& path, Read read, const char* what) {
  Result<Content> content = read_file(path, Secrecy::Public);
  if (!content.ok()) return content.take_status();
  const BioPtr bio = content->bio();
  ERR_clear_error();
  std::vector<Pointer> out;
  for (Pointer next; next.reset(read(bio.get(), nullptr, nullptr, nullptr)), next != nullptr;) {
    out.push_back(std::move(next));
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (!at_end) {
    return bad_file(path, fmt::format("number {} of its {}s is damaged or incomplete: {}",
                                      out.size() + 1, what, take_openssl_error("unknown")));
  }
  ERR_clear_error();
  if (out.empty()) return bad_file(path, fmt::format("holds no {} in PEM (-----BEGIN ...)", what));
  return out;
}

}  // namespace

Status bad_file(const std::string& path, std::string_view what) {
  return {StatusCode::InvalidArgument, fmt::format("{}: {}", path, what)};
}

Result<std::vector<X509Ptr>> read_certificates(const std::string& path) {
  return read_all<X509Ptr>(path, PEM_read_bio_X509, "certificate");
}

Result<std::vector<CrlPtr>> read_revocation_lists(const std::string& path) {
  return read_all<CrlPtr>(path, PEM_read_bio_X509_CRL, "revocation list");
}

Result<KeyPtr> read_key(const std::string& path) {
  Result<Content> content = read_file(path, Secrecy::OwnerOnly);
  if (!content.ok()) return content.take_status();
  const BioPtr bio = content->bio();
  bool has_password = false;
  ERR_clear_error();
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, &has_password));
  if (key != nullptr) return key;
  if (has_password) {
    return bad_file(path,
                    "the key has a password: write it without one (openssl pkey -in OLD -out NEW)");
  }
  return bad_file(
      path, fmt::format("holds no whole private key in PEM: {}", take_openssl_error("unknown")));
}

}  // namespace perennial::perenniald
