#pragma once

#include <cstdint>
#include <vector>

#include "cmd/common/socket.h"
#include "cmd/perennial/bench/bench_put.h"

namespace perennial::bench {

// Puts one job into each of so many tubes, "bench-0" and up.
Status fill_tubes(const common::Address& server, const PutOptions& options);

// Connections that say nothing; they last as long as what this returns.
Result<std::vector<common::Socket>> open_idle(const common::Address& server, uint32_t count);

// Raises this process's limit of open files to what it is allowed.
void allow_many_files();

}  // namespace perennial::bench
