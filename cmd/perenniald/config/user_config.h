#pragma once

#include "cmd/perenniald/access/users.h"
#include "cmd/perenniald/config/field.h"

// The setting `users`, and the file of `users_file`, which has the same form.
namespace perennial::perenniald {

// The rows of a user.
ConfigFields user_fields();
// Returns what is wrong with a user whose values are each valid.
Problems finish_user(access::User& user, const GivenKeys& given);

}  // namespace perennial::perenniald
