#pragma once

#include <string>
#include <vector>

#include <uv.h>

namespace perennial::perenniald {

// Removes checkpoints on libuv's pool, because a file system may take long for it. What cannot be
// removed is said in the log, and left for the next start. The loop runs until it is done.
void remove_in_background(uv_loop_t& loop, std::vector<std::string> paths);

}  // namespace perennial::perenniald
