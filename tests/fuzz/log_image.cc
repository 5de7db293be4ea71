#include "tests/fuzz/log_image.h"

#include <algorithm>

#include <fmt/format.h>

#include "store/format/bytes.h"
#include "tests/store/log_bytes.h"

namespace perennial::fuzz {
namespace {

constexpr size_t block_bytes = 32 << 10;
constexpr size_t header_bytes = 7;
constexpr size_t file_bytes_max = 9 * block_bytes;
constexpr int steps_max = 64;
constexpr size_t files_max = 8;

size_t bytes_left_in_block(size_t at) {
  return block_bytes - at % block_bytes;
}

}  // namespace

void LogBytes::add_record(std::string_view payload) {
  bool is_first = true;
  while (true) {
    if (bytes_left_in_block(bytes_.size()) < header_bytes)
      add_zeros(bytes_left_in_block(bytes_.size()));
    const size_t left = bytes_left_in_block(bytes_.size()) - header_bytes;
    const std::string part(payload.substr(0, left));
    payload.remove_prefix(part.size());
    const bool is_last = payload.empty();
    const char kind = is_first ? (is_last ? 1 : 2) : (is_last ? 4 : 3);
    bytes_ += store::piece(kind, part);
    if (is_last) return;
    is_first = false;
  }
}

void LogBytes::add_raw(std::string_view bytes) {
  while (bytes.size() >= header_bytes && store::get<uint32_t>(bytes, 0) == 0) {
    const auto length = store::get<uint16_t>(bytes, 4);
    if (bytes[6] == 0 || length > bytes.size() - header_bytes) break;
    bytes_ += store::piece(bytes[6], std::string(bytes.substr(header_bytes, length)));
    bytes.remove_prefix(header_bytes + length);
  }
  bytes_ += bytes;
}

void LogBytes::flip(size_t from_end, uint8_t bits) {
  if (from_end >= bytes_.size()) return;
  char& byte = bytes_[bytes_.size() - 1 - from_end];
  byte = static_cast<char>(byte ^ bits);
}

void LogBytes::cut_off(size_t count) {
  bytes_.resize(bytes_.size() - std::min(count, bytes_.size()));
}

LogImage::LogImage(Choices& choices, uint64_t first) {
  files_.push_back({.number = first, .log = {}});
  row_ = small_commit_row(choices);
  for (int i = 0; i < steps_max && !choices.done(); ++i) step(choices);
}

void LogImage::step(Choices& choices) {
  LogBytes& log = files_.back().log;
  switch (choices.below(8)) {
    case 0:
    case 1:
      if (log.bytes().size() < file_bytes_max) add_batch(choices);
      return;
    case 2:
      if (files_.size() == files_max) return;
      files_.push_back({.number = files_.back().number + 1 + choices.below(3), .log = {}});
      return;
    case 3:
      return log.add_raw(choices.short_piece());
    case 4:
      return log.add_zeros(choices.number(2));
    case 5: {
      const size_t from_end = choices.number(2);
      return log.flip(from_end, choices.byte());
    }
    case 6:
      return log.cut_off(choices.number(2));
    default:
      return log.add_record(choices.short_piece());
  }
}

// With the choices 0, 1, 1 and 0 the batch continues the history as the store would.
void LogImage::add_batch(Choices& choices) {
  row_.epoch += choices.below(3);
  row_.index += choices.below(4);
  row_.known_durable = std::min<uint64_t>(row_.known_durable + choices.below(4), row_.index);
  sequence_ += choices.below(3);
  const size_t filler_bytes = choices.below(8) == 7 ? choices.number(2) : choices.byte();
  constexpr uint32_t rows = 2;
  std::string payload(12, '\0');
  store::put(payload.data(), sequence_);
  store::put(payload.data() + 8, filler_bytes == 0 ? 1 : rows);
  payload +=
      "\x01\x01"
      "c\x28";
  payload += store::view(store::encode(row_));
  payload.append(filler_bytes, 'r');
  files_.back().log.add_record(payload);
  sequence_ += filler_bytes == 0 ? 1 : rows;
}

store::CommitRow small_commit_row(Choices& choices) {
  store::CommitRow row;
  row.epoch = choices.byte();
  row.index = choices.byte();
  row.known_durable = std::min<uint64_t>(choices.byte(), row.index);
  return row;
}

std::string log_name(uint64_t number) {
  return fmt::format("{:06}.log", number);
}

}  // namespace perennial::fuzz
