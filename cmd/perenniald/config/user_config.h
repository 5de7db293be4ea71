#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/perenniald/core/users.h"

// The setting `users`, and the file of `users_file`, which has the same form.
namespace perennial::perenniald {

// The values of one user: the name of a list, and one of its values. A user has one "name", and
// any number of "tokens", "certificates", "uids" and "gids".
using UserPairs = std::vector<std::pair<std::string, std::string>>;
// The same of one grant: "tubes" and "verbs".
using GrantPairs = UserPairs;

// Each returns every problem.
std::vector<std::string> parse_user(const UserPairs& pairs, core::User& out);
std::vector<std::string> parse_grant(const GrantPairs& pairs, core::Grant& out);

// The inverse, without the grants of a user.
UserPairs user_pairs(const core::User& user);
GrantPairs grant_pairs(const core::Grant& grant);

// Whether the text has the bytes of a tube's name, and "*".
bool is_tube_pattern(std::string_view pattern);

}  // namespace perennial::perenniald
