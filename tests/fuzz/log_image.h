#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/format/format.h"
#include "tests/fuzz/choices.h"

namespace perennial::fuzz {

// The bytes of a file in RocksDB's log format.
class LogBytes {
 public:
  const std::string& bytes() const { return bytes_; }
  // Appends a record, in pieces where blocks end.
  void add_record(std::string_view payload);
  // Appends the bytes unchanged, except that a checksum of 0 is replaced by the correct one, which
  // no fuzzer guesses.
  void add_raw(std::string_view bytes);
  void add_zeros(size_t count) { bytes_.append(count, '\0'); }
  // Flips bits at an offset from the end. Offsets outside of the file are ignored.
  void flip(size_t from_end, uint8_t bits);
  void cut_off(size_t count);

 private:
  std::string bytes_;
};

// The log files of a database, built as an input says: with consistent and inconsistent records and
// with damage. Their size is limited, so that no input takes long.
class LogImage {
 public:
  struct File {
    uint64_t number;
    LogBytes log;
  };

  // Consumes the rest of the input. `first` is the number of the oldest file.
  LogImage(Choices& choices, uint64_t first);
  const std::vector<File>& files() const { return files_; }

 private:
  void step(Choices& choices);
  void add_batch(Choices& choices);

  std::vector<File> files_;
  store::CommitRow row_;
  uint64_t sequence_ = 1;
};

// A plausible commit row with small numbers.
store::CommitRow small_commit_row(Choices& choices);
// "000012.log".
std::string log_name(uint64_t number);

}  // namespace perennial::fuzz
