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
// tube and body, a short one only says what has become of a job that an earlier record brought.
struct BinlogRecord {
  // What beanstalkd writes as a number: 0 deleted, 1 ready, 2 reserved, 3 buried, 4 delayed.
  enum class State : uint8_t { Deleted, Ready, Reserved, Buried, Delayed };

  State state = State::Deleted;
  JobRow row;          // Without state, tube and order.
  Nanos deadline = 0;  // Of a delayed job: when it becomes ready.
  bool full = false;
  std::string_view tube;  // With a full record. Like `body` in the file, which must outlive it.
  std::string_view body;  // Likewise; without its CRLF.
};

// A binlog file of a 64-bit little-endian machine, versions 5 and 7, mapped into memory and read
// from its beginning. There is no checksum in it, so that every field is checked for sense instead.
class BinlogFile {
 public:
  // Why there is no further record.
  enum class End : uint8_t {
    Clean,    // The file ends behind a record.
    Zeros,    // The rest was allocated and never written.
    Torn,     // The file ends within a record, as a crash leaves it.
    Damaged,  // The record makes no sense: problem() says why.
  };

  // Io: it cannot be read. Unsupported: a version or machine that is not known here.
  static Result<std::unique_ptr<BinlogFile>> open(const std::string& path);
  ~BinlogFile();
  BinlogFile(const BinlogFile&) = delete;
  BinlogFile& operator=(const BinlogFile&) = delete;

  // The next record, or false at the end.
  bool next(BinlogRecord& record);

  const std::string& path() const { return path_; }
  size_t offset() const { return offset_; }  // Of the record that next() reads next, or could not.
  End end() const { return end_; }
  const std::string& problem() const { return problem_; }

 private:
  BinlogFile(std::string path, std::string_view bytes) : path_(std::move(path)), bytes_(bytes) {}
  Status read_version();
  bool stop(End end, std::string problem = {});
  bool read_job(std::string_view job, BinlogRecord& record);
  bool read_body(size_t at, size_t bytes, BinlogRecord& record);

  std::string path_;
  std::string_view bytes_;  // The mapping.
  size_t offset_ = 0;
  uint32_t version_ = 0;
  End end_ = End::Clean;
  std::string problem_;
};

}  // namespace perennial::migrations
