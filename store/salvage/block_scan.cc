#include "store/salvage/block_scan.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "store/damage/table_blocks.h"

namespace perennial::store {
namespace {

using Outcome = BlockAttempt::Outcome;

// The part of a file that is looked at. What the disk cannot read seems to be zeros.
class FileWindow {
 public:
  FileWindow(rocksdb::FSRandomAccessFile& file, uint64_t file_bytes)
      : file_(file), file_bytes_(file_bytes) {}

  // The view is valid until the next call. REQUIRES: the bytes are in the file.
  std::string_view view(uint64_t offset, uint64_t bytes) {
    const bool is_here = begin_ <= offset && offset + bytes <= begin_ + buffer_.size();
    if (!is_here) load(offset, std::min(std::max(bytes, chunk_bytes), file_bytes_ - offset));
    return std::string_view(buffer_).substr(offset - begin_, bytes);
  }
  uint64_t loaded_bytes() const { return loaded_bytes_; }

 private:
  static constexpr uint64_t chunk_bytes = 4 << 20;

  void load(uint64_t offset, uint64_t bytes) {
    buffer_.resize(bytes);
    begin_ = offset;
    loaded_bytes_ += bytes;
    rocksdb::Slice got;
    const rocksdb::IOStatus status =
        file_.Read(offset, bytes, rocksdb::IOOptions(), &got, buffer_.data(), nullptr);
    const size_t there = status.ok() ? got.size() : 0;
    if (there > 0 && got.data() != buffer_.data()) std::memmove(buffer_.data(), got.data(), there);
    std::fill(buffer_.begin() + static_cast<std::ptrdiff_t>(there), buffer_.end(), '\0');
  }

  rocksdb::FSRandomAccessFile& file_;
  const uint64_t file_bytes_;
  uint64_t begin_ = 0;
  std::string buffer_;
  uint64_t loaded_bytes_ = 0;
};

class Scan {
 public:
  Scan(rocksdb::FSRandomAccessFile& file, uint64_t file_bytes, const TableBounds& bounds)
      : window_(file, file_bytes), file_bytes_(file_bytes), bounds_(bounds) {}

  std::vector<BlockRun> run() {
    std::vector<BlockRun> out;
    bool goes_on = false;  // Whether the block before this place belongs to the last run.
    for (uint64_t at = 0; at < file_bytes_ && work() < scan_work_max * file_bytes_;) {
      BlockAttempt attempt = try_block(at);
      if (attempt.outcome != Outcome::Block) {
        goes_on = false;
        ++at;
        continue;
      }
      if (!goes_on || !follows(out.back(), attempt.block)) out.emplace_back();
      goes_on = true;
      at += attempt.block.bytes + block_trailer_bytes;
      out.back().push_back(std::move(attempt.block));
    }
    return out;
  }

 private:
  static constexpr uint64_t first_view_bytes = 64 << 10;

  static bool follows(const BlockRun& run, const DataBlock& block) {
    return sorts_before(run.back().last_key, block.first_key);
  }
  uint64_t work() const { return examined_bytes_ + window_.loaded_bytes(); }

  // Nearly all attempts fail within a few bytes, so it begins with a short view, and doubles it
  // only while the bytes look like a block that goes on.
  BlockAttempt try_block(uint64_t at) {
    const uint64_t left = std::min(file_bytes_ - at, data_block_bytes_max + block_trailer_bytes);
    for (uint64_t bytes = std::min(first_view_bytes, left);; bytes = std::min(2 * bytes, left)) {
      BlockAttempt attempt = read_data_block(window_.view(at, bytes), left, bounds_);
      examined_bytes_ += attempt.examined_bytes;
      attempt.block.offset = at;
      if (attempt.outcome != Outcome::NeedsMore || bytes == left) return attempt;
    }
  }

  FileWindow window_;
  const uint64_t file_bytes_;
  const TableBounds& bounds_;
  uint64_t examined_bytes_ = 0;
};

uint64_t bytes_of(const BlockRun& run) {
  return run.back().offset + run.back().bytes - run.front().offset;
}

// Returns the runs that ascend and have the most bytes together, of all choices of them: the
// longest increasing subsequence, weighted with bytes. For each run the best choice that it can
// continue is the one that ends with the greatest key below its first one.
std::vector<BlockRun> in_order(std::vector<BlockRun> runs) {
  struct Choice {
    uint64_t bytes = 0;
    size_t run = 0;  // The last one of the choice.
  };
  // By the last key: the choices to which no other one with a lower key is better. So of any two
  // the one with the higher key has more bytes.
  std::map<std::string_view, Choice, decltype(&sorts_before)> best(&sorts_before);
  constexpr size_t none = std::numeric_limits<size_t>::max();
  std::vector<size_t> before(runs.size(), none);
  for (size_t place = 0; place < runs.size(); ++place) {
    Choice choice = {.bytes = bytes_of(runs[place]), .run = place};
    const auto behind = best.lower_bound(runs[place].front().first_key);
    if (behind != best.begin()) {
      choice.bytes += std::prev(behind)->second.bytes;
      before[place] = std::prev(behind)->second.run;
    }
    const std::string_view key = runs[place].back().last_key;
    auto at = best.upper_bound(key);
    if (at != best.begin() && std::prev(at)->second.bytes >= choice.bytes) continue;
    while (at != best.end() && at->second.bytes <= choice.bytes) at = best.erase(at);
    best.insert_or_assign(key, choice);
  }
  std::vector<BlockRun> out;
  for (size_t place = best.empty() ? none : best.rbegin()->second.run; place != none;
       place = before[place]) {
    out.push_back(std::move(runs[place]));
  }
  std::ranges::reverse(out);
  return out;
}

}  // namespace

std::vector<BlockRun> scan_blocks(rocksdb::FSRandomAccessFile& file, uint64_t file_bytes,
                                  const TableBounds& bounds) {
  return in_order(Scan(file, file_bytes, bounds).run());
}

}  // namespace perennial::store
