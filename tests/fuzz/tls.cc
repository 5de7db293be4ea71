#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/perenniald/tls/tls_channel.h"
#include "cmd/perenniald/tls/tls_listener.h"
#include "engine/types/check.h"
#include "tests/cmd/perenniald/tls/tls_peer.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/targets.h"
#include "tests/support/certificates.h"
#include "tests/support/temp_dir.h"

namespace perennial::fuzz {
namespace {

using perenniald::TlsChannel;
using perenniald::TlsListener;
using State = TlsChannel::State;

constexpr Nanos hour = 3'600 * nanos_per_second;

// Makes the certificates once, because that takes longer than an input.
TlsListener& listener() {
  static const std::unique_ptr<TlsListener> made = [] {
    const support::TempDir dir;
    support::Authority authority;
    const support::Certificate own = authority.issue({});
    const auto write = [&dir](const std::string& name, const std::string& content) {
      support::write_file(dir.path() + "/" + name, content);
      return dir.path() + "/" + name;
    };
    auto loaded = TlsListener::load({.certificate = write("pem", own.certificate),
                                     .key = write("key", own.key),
                                     .client_ca = write("ca", authority.certificate()),
                                     .client = perenniald::ClientCertificate::Request});
    CHECK(loaded.ok());
    return loaded.take();
  }();
  return *made;
}

// Gives the channel bytes, as the network would.
void receive(TlsChannel& channel, std::string_view bytes) {
  if (channel.state() == State::Failed) return;
  std::vector<char> plain(bytes.size() + TlsChannel::record_bytes_max);
  const bool was_open = channel.state() != State::Handshaking;
  const size_t count = channel.receive(bytes, plain);
  CHECK(count <= plain.size());
  // Nobody without the keys can finish a handshake or say anything behind it.
  if (!was_open) CHECK(channel.state() == State::Handshaking || channel.state() == State::Failed);
  CHECK(channel.state() == State::Failed ? !channel.failure().empty() : channel.failure().empty());
}

// A record of the client with one bit changed, or with bytes before or behind it.
std::string damaged_record(support::TlsPeer& peer, Choices& choices) {
  peer.say(std::string(1 + choices.byte(), 'x'));
  std::string record = peer.take_bytes();
  const size_t at = choices.number(2) % record.size();
  switch (choices.below(3)) {
    case 0:
      record[at] = static_cast<char>(record[at] ^ (1 << choices.below(8)));
      return record;
    case 1:
      return record.insert(at, choices.short_piece());
    default:
      return record.substr(0, at) + std::string(choices.short_piece());
  }
}

}  // namespace

// An even first byte: a handshake. An odd one: what comes behind a good handshake.
void tls(std::string_view input) {
  Choices choices(input);
  const std::unique_ptr<TlsChannel> channel = listener().open(hour);
  if (choices.byte() % 2 == 0) {
    while (!choices.done()) receive(*channel, choices.short_piece());
    return;
  }
  support::TlsPeer peer;
  peer.exchange(*channel);
  CHECK(channel->state() == State::Open);
  while (!choices.done()) {
    receive(*channel, choices.below(2) == 0 ? std::string(choices.short_piece())
                                            : damaged_record(peer, choices));
  }
  channel->end();
}

}  // namespace perennial::fuzz
