#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "engine/types/basic.h"

namespace perennial::tool {

// A line on standard error that says how far something long has come: how much is done, the rate
// and the time left. Only on a terminal, and only once it has taken a second.
class Progress {
 public:
  // The world around it, which tests replace.
  struct Terminal {
    bool is_terminal = false;
    std::function<Nanos()> now = {};
    std::function<void(std::string_view)> write = {};
  };
  static Terminal standard_error();

  // "jobs dumped" and how many there will be; 0 if that is not known.
  Progress(std::string what, uint64_t total, Terminal terminal = standard_error());
  ~Progress();  // Takes the line away.
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // So much is done. Cheap enough to be called for every job.
  void at(uint64_t done) {
    if (terminal_.is_terminal && (++calls_ & 0xff) == 0) look(done);
  }
  // The same for steps that take long, each of which is worth a look at the clock.
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
