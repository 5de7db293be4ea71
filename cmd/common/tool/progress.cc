#include "cmd/common/tool/progress.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "cmd/common/tool/quiet.h"

namespace perennial::tool {
namespace {

constexpr Nanos first_shown_after = nanos_per_second;
constexpr Nanos interval = nanos_per_second / 2;
constexpr std::string_view clear_line = "\r\033[K";

Nanos steady_clock() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<uint64_t>(seconds);
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

Progress::Terminal Progress::standard_error() {
  return {.is_terminal = !is_quiet() && ::isatty(STDERR_FILENO) == 1,
          .now = steady_clock,
          .write = [](std::string_view text) {
            // A failed write is ignored, because progress that cannot be shown is not an error.
            [[maybe_unused]] const ssize_t written =
                ::write(STDERR_FILENO, text.data(), text.size());
          }};
}

Progress::Progress(std::string what, uint64_t total, Terminal terminal)
    : what_(std::move(what)),
      total_(total),
      terminal_(std::move(terminal)),
      begun_(terminal_.now()),
      next_(begun_ + first_shown_after) {}

Progress::~Progress() {
  if (shown_) terminal_.write(clear_line);
}

void Progress::look(uint64_t done) {
  if (!terminal_.is_terminal) return;
  const Nanos now = terminal_.now();
  if (now < next_) return;
  next_ = now + interval;
  shown_ = true;
  const double seconds = static_cast<double>(now - begun_) / nanos_per_second;
  const double rate = static_cast<double>(done) / seconds;
  std::string line = fmt::format("{}{} {}", clear_line, done, what_);
  if (total_ > 0) line += fmt::format(" of {}", total_);
  line += fmt::format(", {:.0f}/s", rate);
  if (total_ > done && done > 0) {
    line += fmt::format(", {} left", duration_text(static_cast<double>(total_ - done) / rate));
  }
  terminal_.write(line);
}

}  // namespace perennial::tool
