#pragma once

#include <chrono>
#include <string>

// A limit for all that a probe does. That of each wait is not enough: a name may take long to look
// up, and a server may answer a byte a second.
namespace perennial::tool {

// What is said when the time is over, and how the process ends then.
struct LateEnd {
  int fd;
  std::string text;
  int exit_code;
};

// After `limit` the process ends as `end` says, unless in_time() is called before. Once in a
// process.
void end_after(std::chrono::milliseconds limit, LateEnd end);
void in_time();

}  // namespace perennial::tool
