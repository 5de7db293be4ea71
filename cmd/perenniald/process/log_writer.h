#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "engine/types/basic.h"

namespace perennial::perenniald {

// Writes lines to a file descriptor on a thread of its own. Whoever adds a line never waits for the
// reader, which may hang: a pipe, a terminal that was stopped, a disk that does not answer. What
// does not fit is dropped, and a line says how many were, where they are missing.
//
// spdlog's own asynchronous logger would do this, too, but cannot wait for its last line with an
// end, which a process needs before it exits.
class LogWriter {
 public:
  // The lines that wait may have so many bytes, with those that are being written. Important lines
  // may have a quarter more.
  static constexpr size_t bytes_max = 1 << 20;

  // `fd` outlives this, and is not closed. `say_dropped` makes the line that says how many were
  // dropped; it is called on the writer's thread.
  LogWriter(int fd, std::function<std::string(uint64_t)> say_dropped);
  // Waits for the line that is being written.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // `line` ends with a newline. Any thread.
  void add(std::string_view line, bool is_important);
  // Waits until all lines that were added before are written, or for so long. Returns whether they
  // are. Any thread.
  bool flush(Nanos time_max);
  // How many were dropped since the start.
  uint64_t dropped() const;

 private:
  void run();
  // Returns how many lines could not be written.
  uint64_t write_out(std::string bytes);

  const int fd_;
  bool is_torn_ = false;  // The last bytes that were written end within a line.
  const std::function<std::string(uint64_t)> say_dropped_;
  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable added_;
  std::condition_variable written_;
  std::string waiting_;
  size_t being_written_ = 0;  // Bytes.
  uint64_t not_said_ = 0;     // Of the lines that were dropped.
  uint64_t dropped_ = 0;
  uint64_t lines_in_ = 0;   // Added and not dropped,
  uint64_t lines_out_ = 0;  // and written.
  bool stopping_ = false;
  std::thread thread_;  // Last, so that it starts when all other members exist.
};

}  // namespace perennial::perenniald
