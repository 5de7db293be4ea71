#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "engine/types/basic.h"

namespace perennial::tool {

// A line on standard error that shows the progress of a long operation: how much is done, the rate
// and the time left. It is shown only on a terminal, and only after the operation has taken a
// second.
class Progress {
 public:
  // The terminal and the clock, which tests replace.
  struct Terminal {
    bool is_terminal = false;
    std::function<Nanos()> now = {};
    std::function<void(std::string_view)> write = {};
  };
  static Terminal standard_error();

  // `what` names what is counted ("jobs dumped"). `total` is the final count; 0 if it is not known.
  Progress(std::string what, uint64_t total, Terminal terminal = standard_error());
  ~Progress();  // Clears the line.
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Reports that `done` are done. Cheap enough to be called for every job, because only every 256th
  // call reads the clock.
  void at(uint64_t done) {
    if (terminal_.is_terminal && (++calls_ & 0xff) == 0) look(done);
  }
  // The same for long steps: every call reads the clock.
  void look(uint64_t done);

 private:
  const std::string what_;
  const uint64_t total_;
  const Terminal terminal_;
  const Nanos begun_;
  Nanos next_;
  uint64_t calls_ = 0;
  bool shown_ = false;
};

}  // namespace perennial::tool
