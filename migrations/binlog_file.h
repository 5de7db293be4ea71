#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "engine/types/transition.h"

namespace perennial::migrations {

// One record of beanstalkd's binlog: a job as it was when the record was written. A full record has
// tube and body. A short record says only how a job of an earlier full record has changed.
struct BinlogRecord {
  // The numbers that beanstalkd writes: 0 deleted, 1 ready, 2 reserved, 3 buried, 4 delayed.
  enum class State : uint8_t { Deleted, Ready, Reserved, Buried, Delayed };

  State state = State::Deleted;
  JobRow row;          // Its state, tube and order are not set.
  Nanos deadline = 0;  // When a delayed job becomes ready.
  bool full = false;
  // Only in a full record. The views `tube` and `body` are valid while the file is open.
  std::string_view tube;
  std::string_view body;  // Without its CRLF.
};

// A binlog file of a 64-bit little-endian machine, version 5 or 7, mapped into memory and read from
// its beginning. A binlog has no checksums, so every field is checked for a plausible value
// instead.
class BinlogFile {
 public:
  // Why there is no further record.
  enum class End : uint8_t {
    Clean,    // The file ends after a record.
    Zeros,    // The rest was allocated and never written.
    Torn,     // The file ends within a record, as a copy that was cut short does.
    Damaged,  // The record has an invalid field, which problem() names.
  };

  // Maps the file. Io: it cannot be read. Unsupported: its version or byte order is not known.
  static Result<std::unique_ptr<BinlogFile>> open(const std::string& path);
  ~BinlogFile();
  BinlogFile(const BinlogFile&) = delete;
  BinlogFile& operator=(const BinlogFile&) = delete;

  // Reads the next record. Returns false at the end, and end() says why.
  bool next(BinlogRecord& record);

  const std::string& path() const { return path_; }
  // The offset of the record that next() reads next, or could not read.
  size_t offset() const { return offset_; }
  End end() const { return end_; }
  const std::string& problem() const { return problem_; }

 private:
  BinlogFile(std::string path, std::string_view bytes) : path_(std::move(path)), bytes_(bytes) {}
  Status read_version();
  bool stop(End end, std::string problem = {});
  bool read_job(std::string_view job, BinlogRecord& record);
  bool read_body(size_t at, size_t bytes, BinlogRecord& record);

  std::string path_;
  std::string_view bytes_;  // The mapped file.
  size_t offset_ = 0;
  uint32_t version_ = 0;
  End end_ = End::Clean;
  std::string problem_;
};

}  // namespace perennial::migrations
