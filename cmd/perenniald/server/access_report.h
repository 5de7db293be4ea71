#pragma once

#include <string>

#include "cmd/perenniald/access/users.h"
#include "cmd/perenniald/config/config.h"

// Who gets in where, as whom, and may do what: --print-access, and `perennial users check`.
namespace perennial::perenniald {

// A text for people: each listener, each user, and a remark for whatever cannot be meant, such as a
// user whom no listener lets in. `users` is null if there are none: everybody may do everything.
std::string access_report(const Config& config, const access::Users* users);

}  // namespace perennial::perenniald
