#include "store/recovery/log_records.h"

#include <algorithm>
#include <utility>

#include "store/format/bytes.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

constexpr size_t block_bytes = 32 << 10;
constexpr size_t header_bytes = 7;
// A larger buffer is not faster: reading a log of 64 MiB takes 46 ms with 2 MiB, too.
constexpr size_t buffer_bytes_max = 8 * block_bytes;

size_t end_of_block(size_t at) {
  return (at / block_bytes + 1) * block_bytes;
}

// RocksDB stores checksums in this form, so that a checksum over bytes that contain checksums stays
// a good one.
uint32_t masked(uint32_t checksum) {
  return ((checksum >> 15) | (checksum << 17)) + 0xa282ead8U;
}

}  // namespace

LogReader::LogReader(std::unique_ptr<rocksdb::FSSequentialFile> file, size_t head_bytes_max)
    : file_(std::move(file)),
      head_bytes_max_(head_bytes_max),
      checksums_(rocksdb::GetFileChecksumGenCrc32cFactory()),
      buffer_(buffer_bytes_max, '\0') {}

Result<bool> LogReader::next(LogRecord& record) {
  record = {};
  head_.clear();
  bool has_begun = false;
  while (true) {
    Result<Piece> found = peek();
    if (!found.ok()) return found.take_status();
    const Piece piece = *found;
    if (piece.is_zeros) {  // Zeros are the end of the log unless a piece follows them.
      if (!zeros_begin_) zeros_begin_ = buffer_begin_ + piece.begin;
      position_ = piece.end;
      continue;
    }
    const bool goes_on = !zeros_begin_ && (piece.kind == Kind::Middle || piece.kind == Kind::Last);
    if (has_begun && !goes_on) {  // The next call returns the piece that is here instead.
      record.problem = piece.problem.empty() ? "it is not complete" : piece.problem;
      record.ends_with_file = piece.kind == Kind::End || piece.ends_with_file;
      return true;
    }
    if (piece.kind == Kind::End) return false;
    if (zeros_begin_) {
      record.begin = *std::exchange(zeros_begin_, std::nullopt);
      record.end = buffer_begin_ + piece.begin;
      record.problem = "zeros are where it should be";
      return true;
    }
    if (!has_begun) record.begin = buffer_begin_ + piece.begin;
    take(piece, record);
    if (goes_on && !has_begun) {
      record.problem = "its beginning is missing";
      record.head = {};
    }
    if (!record.problem.empty() || piece.kind == Kind::Full || piece.kind == Kind::Last)
      return true;
    has_begun = true;
  }
}

void LogReader::take(const Piece& piece, LogRecord& record) {
  record.end = buffer_begin_ + piece.end;
  record.problem = piece.problem;
  record.ends_with_file = piece.ends_with_file;
  position_ = piece.end;
  if (piece.kind == Kind::Damage) return;
  const size_t payload = piece.begin + header_bytes;
  const size_t wanted = std::min(head_bytes_max_ - head_.size(), piece.end - payload);
  head_.append(buffer_, payload, wanted);
  record.head = head_;
}

Status LogReader::fill() {
  buffer_begin_ += buffer_bytes_;
  buffer_bytes_ = position_ = 0;
  rocksdb::Slice got;
  const auto status = file_->Read(buffer_bytes_max, {}, &got, buffer_.data(), nullptr);
  if (!status.ok()) return from_rocksdb(status);
  if (got.data() != buffer_.data()) std::copy_n(got.data(), got.size(), buffer_.data());
  buffer_bytes_ = got.size();
  return {};
}

Result<LogReader::Piece> LogReader::peek() {
  while (true) {
    if (position_ == buffer_bytes_) {
      if (Status filled = fill(); !filled.ok()) return filled;
      if (buffer_bytes_ == 0) return Piece{};
    }
    const size_t whole_block_end = end_of_block(position_);
    if (whole_block_end - position_ >= header_bytes) {
      return piece_at(position_, std::min(whole_block_end, buffer_bytes_));
    }
    position_ = std::min(whole_block_end, buffer_bytes_);  // Padding: too short for a header.
  }
}

LogReader::Piece LogReader::piece_at(size_t at, size_t block_end) const {
  if (is_piece(at, block_end)) {
    const size_t length = get<uint16_t>(buffer_, at + 4);
    return {
        .kind = static_cast<Kind>(buffer_[at + 6]), .begin = at, .end = at + header_bytes + length};
  }
  if (all_zero(std::string_view(buffer_).substr(at, block_end - at))) {
    return {.kind = Kind::Damage, .begin = at, .end = block_end, .is_zeros = true};
  }
  const bool has_header = block_end - at >= header_bytes;
  const size_t rest_bytes = has_header ? block_end - at - header_bytes : 0;
  const bool is_long = has_header && get<uint16_t>(buffer_, at + 4) > rest_bytes;
  const bool is_last_block = block_end != end_of_block(at);
  // A piece whose checksum fits once its length is corrected was written whole, and is damage. Only
  // a piece that the file's end has torn may be dropped as one that was never complete.
  const bool is_short = !has_header || (is_long && !checksum_fits(at, rest_bytes));
  if (!is_last_block || !is_short) {
    return damage_at(at, block_end, is_long ? "its length is wrong" : "its checksum is wrong");
  }
  Piece piece = damage_at(at, block_end, "the file ends in the middle of it");
  piece.ends_with_file = piece.end == block_end;
  return piece;
}

// The damage ends where the next piece begins. The place that the damaged piece names as its end is
// tried first. Trying every byte from the beginning could take bytes of a body for a record.
LogReader::Piece LogReader::damage_at(size_t at, size_t block_end, std::string_view problem) const {
  Piece piece = {.kind = Kind::Damage, .begin = at, .end = block_end, .problem = problem};
  if (block_end - at < header_bytes) return piece;
  const size_t next = at + header_bytes + get<uint16_t>(buffer_, at + 4);
  if (next < block_end && is_piece(next, block_end)) {
    piece.end = next;
    return piece;
  }
  for (size_t candidate = at + 1; candidate < block_end; ++candidate) {
    if (!is_piece(candidate, block_end)) continue;
    piece.end = candidate;
    break;
  }
  return piece;
}

bool LogReader::is_piece(size_t at, size_t block_end) const {
  if (block_end - at < header_bytes) return false;
  const auto kind = static_cast<uint8_t>(buffer_[at + 6]);
  if (kind < static_cast<uint8_t>(Kind::Full) || kind > static_cast<uint8_t>(Kind::Last))
    return false;
  const size_t length = get<uint16_t>(buffer_, at + 4);
  return length <= block_end - at - header_bytes && checksum_fits(at, length);
}

// The checksum covers the kind, too.
bool LogReader::checksum_fits(size_t at, size_t length) const {
  const auto checksum = checksums_->CreateFileChecksumGenerator({});
  checksum->Update(buffer_.data() + at + 6, 1 + length);
  checksum->Finalize();
  return masked(get_big_endian<uint32_t>(checksum->GetChecksum())) == get<uint32_t>(buffer_, at);
}

}  // namespace perennial::store
