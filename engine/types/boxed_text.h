#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/types/boxed.h"

namespace perennial {

// A text that few objects have, in the size of a pointer where a std::string takes 32 bytes. Its
// value is that of a string: one that was never set is empty.
class BoxedText {
 public:
  BoxedText() = default;
  // Implicit, as those of std::string are.
  BoxedText(std::string_view text) {  // NOLINT
    if (!text.empty()) text_ = std::string(text);
  }
  BoxedText(const std::string& text) : BoxedText(std::string_view(text)) {}  // NOLINT
  BoxedText(const char* text) : BoxedText(std::string_view(text)) {}         // NOLINT

  // Valid until the text changes.
  const std::string& str() const {
    static const std::string none;
    return text_ ? *text_ : none;
  }
  operator const std::string&() const { return str(); }  // NOLINT

  bool empty() const { return !text_; }
  size_t size() const { return str().size(); }
  void clear() { text_.reset(); }

  bool operator==(const BoxedText&) const = default;

 private:
  Boxed<std::string> text_;  // Never empty.
};

}  // namespace perennial
