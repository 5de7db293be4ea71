#include "cmd/perennial/work/standard_error/tail.h"

#include <algorithm>
#include <cstdint>

#include "cmd/common/characters.h"

namespace perennial::tool::work {
namespace {

// How many bytes a character has that begins with this one. 1 if none begins so.
size_t character_bytes(char first) {
  const auto byte = static_cast<uint8_t>(first);
  if (byte >= 0xf0 && byte <= 0xf4) return 4;
  if (byte >= 0xe0) return byte <= 0xef ? 3 : 1;
  return byte >= 0xc2 ? 2 : 1;
}

constexpr size_t character_bytes_max = 4;

// Cuts off a character that has lost its beginning.
std::string_view without_partial_begin(std::string_view text) {
  size_t cut = 0;
  while (cut < character_bytes_max - 1 && cut < text.size() &&
         common::continues_character(text[cut]))
    ++cut;
  return text.substr(cut);
}

}  // namespace

std::string_view without_partial_end(std::string_view text) {
  const size_t furthest = std::min(text.size(), character_bytes_max - 1);
  for (size_t back = 1; back <= furthest; ++back) {
    const char byte = text[text.size() - back];
    if (common::continues_character(byte)) continue;
    return character_bytes(byte) > back ? text.substr(0, text.size() - back) : text;
  }
  return text;
}

void Tail::add(std::string_view piece) {
  constexpr size_t wanted = bytes_max + 1;
  piece = piece.substr(piece.size() - std::min(piece.size(), wanted));
  const size_t before = std::min(kept_.size(), wanted - piece.size());
  kept_.erase(0, kept_.size() - before);
  kept_ += piece;
}

std::string Tail::text() const {
  std::string_view text = kept_;
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  if (kept_.size() > bytes_max && !text.empty()) {
    // A long line before a short one is worth more than nothing.
    const size_t line = text.substr(0, bytes_max / 2).find('\n');
    text = line == std::string_view::npos ? without_partial_begin(text.substr(1))
                                          : text.substr(line + 1);
  }
  return std::string(without_partial_end(text));
}

}  // namespace perennial::tool::work
