#pragma once

#include <ctime>
#include <memory>
#include <string>

#include "cmd/perenniald/tls/tls_channel.h"
#include "cmd/perenniald/tls/tls_settings.h"
#include "engine/types/basic.h"
#include "engine/types/status.h"

namespace perennial::perenniald {

// The version of the OpenSSL that is loaded.
std::string openssl_version();

// The TLS of one listening socket: its certificate, its rules for clients, and the keys of its
// session tickets. No other listener knows these keys, so a session that was made where no
// certificate is needed cannot be resumed where one is.
//
// It outlives the channels that it opens. Its own functions are called on one thread, and a channel
// on one at a time, which may be another.
class TlsListener {
 public:
  // InvalidArgument: a file is missing, cannot be used, or does not fit the others. The message
  // names it and says what to do.
  static Result<std::unique_ptr<TlsListener>> load(const TlsSettings& settings);
  ~TlsListener();
  TlsListener(const TlsListener&) = delete;
  TlsListener& operator=(const TlsListener&) = delete;

  std::unique_ptr<TlsChannel> open(Nanos now);

  // Whether a file is another than at the last load or reload, also if that failed.
  bool files_changed() const;
  // Reads the files again. Channels of before keep what they have, but for the revocation lists:
  // TlsChannel::is_revoked(). After a failure new channels begin with the old files, too.
  Status reload(Nanos now);

  // When the server's certificate expires, as text.
  const std::string& certificate_end() const;
  // The same in seconds since the epoch.
  std::time_t certificate_end_at() const;

 private:
  struct Impl;
  explicit TlsListener(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace perennial::perenniald
