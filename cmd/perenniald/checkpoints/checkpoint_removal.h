#pragma once

#include <string>
#include <vector>

#include <uv.h>

namespace perennial::perenniald {

// Removes checkpoints on libuv's pool, because a filesystem may take long for it. A failure is
// logged, and the next start removes what is left. The loop runs until all are removed.
void remove_in_background(uv_loop_t& loop, std::vector<std::string> paths);

}  // namespace perennial::perenniald
