#include "cmd/perenniald/tls/tls_listener.h"

#include <utility>

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "cmd/perenniald/tls/file_stamps.h"
#include "cmd/perenniald/tls/revocations.h"
#include "cmd/perenniald/tls/ticket_keys.h"
#include "cmd/perenniald/tls/tls_channel_impl.h"
#include "cmd/perenniald/tls/tls_context.h"
#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

std::string random_name() {
  std::string name(SSL_MAX_SID_CTX_LENGTH, '\0');
  CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(name.data()), static_cast<int>(name.size())) ==
        1);
  return name;
}

}  // namespace

struct TlsListener::Impl {
  // The files as they were at some moment.
  struct Stamps {
    FileStamp certificate, key, client_ca, crl;

    bool operator==(const Stamps&) const = default;
  };

  Stamps stamps() const {
    return {.certificate = stamp_of(settings.certificate),
            .key = stamp_of(settings.key),
            .client_ca = stamp_of(settings.client_ca),
            .crl = stamp_of(settings.crl)};
  }

  TlsSettings settings;
  std::string session_context = random_name();
  TicketKeys keys = {};
  TlsContext current = {};
  Revocations revocations = {};  // Those of `current`.
  Stamps tried = {};             // At the last attempt to read the files.
  Stamps in_use = {};            // Those of `current`.
};

TlsListener::TlsListener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

TlsListener::~TlsListener() = default;

Result<std::unique_ptr<TlsListener>> TlsListener::load(const TlsSettings& settings) {
  auto impl = std::make_unique<Impl>();
  impl->settings = settings;
  // The stamps come first: a file that changes while it is read is read again.
  impl->tried = impl->in_use = impl->stamps();
  Result<TlsContext> made = make_context(settings, impl->keys, impl->session_context);
  if (!made.ok()) return made.take_status();
  impl->current = made.take();
  impl->revocations.set(std::move(impl->current.revocations));
  return std::unique_ptr<TlsListener>(new TlsListener(std::move(impl)));
}

std::unique_ptr<TlsChannel> TlsListener::open(Nanos now) {
  impl_->keys.rotate(now);
  return std::make_unique<TlsChannel>(
      std::make_unique<TlsChannel::Impl>(*impl_->current.context, impl_->revocations));
}

bool TlsListener::files_changed() const {
  return impl_->stamps() != impl_->tried;
}

Status TlsListener::reload(Nanos now) {
  impl_->tried = impl_->stamps();
  // With other CAs or revocation lists no session of before may be resumed, not even one whose
  // handshake is under way now.
  const bool other_clients =
      impl_->tried.client_ca != impl_->in_use.client_ca || impl_->tried.crl != impl_->in_use.crl;
  std::string session_context = other_clients ? random_name() : impl_->session_context;
  Result<TlsContext> made = make_context(impl_->settings, impl_->keys, session_context);
  if (!made.ok()) return made.take_status();
  if (other_clients) impl_->keys.renew(now);
  impl_->session_context = std::move(session_context);
  impl_->current = made.take();
  impl_->revocations.set(std::move(impl_->current.revocations));
  impl_->in_use = impl_->tried;
  return {};
}

const std::string& TlsListener::certificate_end() const {
  return impl_->current.certificate_end;
}

std::time_t TlsListener::certificate_end_at() const {
  return impl_->current.certificate_end_at;
}

std::string openssl_version() {
  return OpenSSL_version(OPENSSL_VERSION_STRING);
}

}  // namespace perennial::perenniald
