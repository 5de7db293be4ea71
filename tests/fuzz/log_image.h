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
  // A record, cut into pieces where blocks end.
  void add_record(std::string_view payload);
  // As they are, save that a piece whose checksum is 0 gets the right one: no fuzzer guesses it.
  void add_raw(std::string_view bytes);
  void add_zeros(size_t count) { bytes_.append(count, '\0'); }
  // Damage, counted from the end. Nothing happens outside of the file.
  void flip(size_t from_end, uint8_t bits);
  void cut_off(size_t count);

 private:
  std::string bytes_;
};

// The log files of a database, as an input tells to build them: with records that join and others,
// and with damage. At most so much is built that one input takes no time to speak of.
class LogImage {
 public:
  struct File {
    uint64_t number;
    LogBytes log;
  };

  // Takes all that is left. `first` is the number of the oldest file.
  LogImage(Choices& choices, uint64_t first);
  const std::vector<File>& files() const { return files_; }

 private:
  void step(Choices& choices);
  void add_batch(Choices& choices);

  std::vector<File> files_;
  store::CommitRow row_;
  uint64_t sequence_ = 1;
};

// A commit row of small numbers, which makes sense.
store::CommitRow small_commit_row(Choices& choices);
// "000012.log".
std::string log_name(uint64_t number);

}  // namespace perennial::fuzz
