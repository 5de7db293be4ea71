#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/types/basic.h"

namespace perennial::access {

// A line of the audit: a sign-in, a refusal, or a command of an operator.
struct AuditEvent {
  ConnId conn = 0;
  std::string_view action;     // "sign-in", or the word of a command.
  std::string_view user = {};  // Empty: nobody yet.
  // The address that the listener gave, without a port; empty: a unix socket.
  std::string from = {};
  std::string subject = {};  // The tube or job that the command names, or how the user signed in.
  bool refused = false;
  bool is_internal = false;  // As in ClientRights: the HTTP port has asked.
  uint64_t not_logged = 0;   // Earlier ones of its kind that were too many for lines of their own.
};

}  // namespace perennial::access
