#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/types/status.h"

namespace perennial::common {

// How a client speaks TLS. The files are PEM.
struct TlsClientSettings {
  bool is_on = false;
  std::string ca = {};           // The CAs of servers. Empty: those of the system.
  std::string certificate = {};  // To show to a server that asks. Empty: none.
  std::string key = {};          // Of the certificate.
};

// What all TLS connections of a program have in common.
class TlsClient {
 public:
  // Nothing if TLS is off. InvalidArgument: the settings need --tls, or a file is missing or not
  // usable.
  static Result<std::optional<TlsClient>> load_if_on(const TlsClientSettings& settings);
  TlsClient(TlsClient&&) noexcept;
  TlsClient& operator=(TlsClient&&) noexcept;
  ~TlsClient();

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  explicit TlsClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace perennial::common
