#pragma once

#include <memory>
#include <span>

#include "cmd/perennial/live/top_screen.h"
#include "engine/types/status.h"

namespace perennial::tool {

// The whole terminal, from open() until this goes, when it is again as it was. There can be one.
class Terminal {
 public:
  enum class Key : unsigned char { None, Quit, Resized };

  // InvalidArgument: standard input and output are no terminal, or one that is not known.
  static Result<std::unique_ptr<Terminal>> open();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  ScreenSize size() const;
  void show(std::span<const ScreenLine> lines);
  // Waits so long for a key, but no longer than until the window changes its size.
  Key wait(int milliseconds);

 private:
  explicit Terminal(void* screen) : screen_(screen) {}

  void* screen_;  // The library's; its header is in one file.
};

}  // namespace perennial::tool
