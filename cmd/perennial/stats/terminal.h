#pragma once

#include <memory>
#include <span>

#include "cmd/perennial/stats/top_screen.h"
#include "engine/types/status.h"

namespace perennial::tool {

// Controls the whole terminal from open() until the destructor restores it. Only one may exist.
class Terminal {
 public:
  enum class Key : unsigned char { None, Quit, Resized };

  // InvalidArgument: standard input and output are no terminal, or one of an unknown type.
  static Result<std::unique_ptr<Terminal>> open();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  ScreenSize size() const;
  void show(std::span<const ScreenLine> lines);
  // Waits for a key for at most this time. Also returns when the window changes its size.
  Key wait(int milliseconds);

 private:
  explicit Terminal(void* screen) : screen_(screen) {}

  void* screen_;  // Belongs to the library, whose header is included in one file only.
};

}  // namespace perennial::tool
