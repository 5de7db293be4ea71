#pragma once

#include <cstdint>
#include <string>

#include "cmd/perenniald/access/users.h"

namespace perennial::access {

// From which clients commands for operators are accepted: all, those on a unix socket, or none. To
// all others they are DENIED.
enum class AdminOn : uint8_t { Any, Unix, None };

// What the listener says of a client.
struct ClientRights {
  bool may_checkpoint = false;  // For all others `checkpoint` is an unknown command.
  bool is_unix = false;         // It came over a unix socket.
  bool is_local = false;        // It is on this machine.
  bool is_tls = false;          // Nobody on the way reads it.
  // What the listener and the connection show of who it is.
  Identity identity = {};
  // Whether a token is accepted: not where anybody on the way could read it.
  bool may_send_token = true;
  // It is a part of this server that speaks for somebody: all extensions are there, and
  // engine::Opened says what is not counted.
  bool is_internal = false;
  // It stands for leases: it deletes and notes only jobs that it holds (Delete::only_held).
  bool has_leases = false;
  // From where it came, as far as wrong tokens are counted. Empty: they are not.
  std::string address = {};
  // What it says over HTTP of the clients for whom it asks is believed.
  bool is_proxy = false;
};

}  // namespace perennial::access
