#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/types/basic.h"

namespace perennial::migrations {

// A job as beanstalkd's binlog has it. `body` is without its CRLF.
struct LoggedJob {
  JobId id = 1;
  uint8_t state = 1;      // 0 deleted, 1 ready, 2 reserved, 3 buried, 4 delayed.
  std::string tube = {};  // Empty for a short record.
  std::string body = {};
  uint32_t priority = 10;
  Nanos delay = 0;
  Nanos ttr = 60 * nanos_per_second;
  Nanos created = 1'600'000'000 * nanos_per_second;
  Nanos deadline = 0;
  uint32_t reserves = 1;
  uint32_t timeouts = 2;
  uint32_t releases = 3;
  uint32_t buries = 4;
  uint32_t kicks = 5;
};

// Makes the bytes of a binlog file of version 5 or 7, as beanstalkd writes them on a 64-bit
// little-endian machine.
class BinlogBytes {
 public:
  explicit BinlogBytes(uint32_t version);

  BinlogBytes& add(const LoggedJob& job);
  BinlogBytes& zeros(size_t count);
  const std::string& bytes() const { return bytes_; }

 private:
  template <typename T>
  void put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  uint32_t version_;
  std::string bytes_;
};

}  // namespace perennial::migrations
