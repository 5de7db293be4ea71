#pragma once

#include "tests/soak/book.h"
#include "tests/support/client_socket.h"

namespace perennial::soak {

// After a restart, before anybody works: every job that was acknowledged is there, in a state that
// it may have come back in, and settles the book for what follows. `found` is how many there are.
Status check_all(Book& book, support::ClientSocket& client, size_t& found);

// At the end: has every job of the server brought out and deleted. Each was known and is met once,
// none that was acknowledged is missing, and nothing is left. `drained` is how many there were.
Status drain(Book& book, support::ClientSocket& client, size_t& drained);

}  // namespace perennial::soak
