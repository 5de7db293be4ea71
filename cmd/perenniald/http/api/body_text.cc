#include "cmd/perenniald/http/api/body_text.h"

#include <algorithm>
#include <string_view>

#include <utf8.h>

#include "cmd/common/base64.h"
#include "cmd/common/characters.h"
#include "cmd/perenniald/http/api/json.h"

namespace perennial::http {
namespace {

constexpr size_t utf8_bytes_max = 4;  // Of a character.

}  // namespace

// What is no UTF-8 may be cut anywhere: it is found to be none all the same.
size_t BodyText::part_end(size_t bytes) const {
  if (body_.size() - at_ <= bytes) return body_.size();
  if (stage_ == Stage::Base64) return at_ + bytes / 3 * 3;  // Without padding within the text.
  size_t end = at_ + bytes;
  for (size_t i = 1; i < utf8_bytes_max && common::continues_character(body_[end]); ++i) --end;
  return end;
}

bool BodyText::add_some(size_t bytes, std::string& out) {
  const size_t end = part_end(bytes);
  const std::string_view part = std::string_view(body_).substr(at_, end - at_);
  at_ = end;
  if (stage_ == Stage::Checking) {
    const bool is_text = utf8::is_valid(part.begin(), part.end());
    if (is_text && end < body_.size()) return false;
    stage_ = is_text ? Stage::Text : Stage::Base64;
    out += is_text ? "\"body\":\"" : "\"body_base64\":\"";
    at_ = 0;
    // A small one is made at once.
    return body_.size() <= bytes && add_some(bytes, out);
  }
  if (stage_ == Stage::Text) {
    const std::string quoted = dumped(Json(part));
    out.append(quoted, 1, quoted.size() - 2);
  } else {
    out += common::to_base64(part);
  }
  if (end < body_.size()) return false;
  out += '"';
  return true;
}

}  // namespace perennial::http
