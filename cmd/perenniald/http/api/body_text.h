#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace perennial::http {

// A member of a JSON object with a body as a put takes it: `"body":"..."` if it is UTF-8, and else
// `"body_base64":"..."`. A body may have a gigabyte, so it is made in parts.
class BodyText {
 public:
  explicit BodyText(std::string body) : body_(std::move(body)) {}

  // Does the next part, of so many bytes of the body: at least 16. Returns whether the member is
  // whole, after which this is not to be called again.
  bool add_some(size_t bytes, std::string& out);

 private:
  enum class Stage : uint8_t { Checking, Text, Base64 };

  // The end of the part that begins at `at_`: no character is in two parts.
  size_t part_end(size_t bytes) const;

  const std::string body_;
  Stage stage_ = Stage::Checking;
  size_t at_ = 0;
};

}  // namespace perennial::http
