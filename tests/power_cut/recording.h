#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/status.h"
#include "tests/support/recording_format.h"

namespace perennial::power_cut {

using support::EventKind;

struct Event {
  EventKind kind;
  uint32_t handle;
  uint64_t offset;
  uint64_t length;
  std::string_view path;
  std::string_view data;
};

// The events of a file that tests/support/record_writes.cc has written, in their order. A cut "at
// k" comes after the first k events. Owns the bytes.
class Recording {
 public:
  static Result<Recording> read(const std::string& path);

  const std::vector<Event>& events() const { return events_; }
  size_t bytes() const { return bytes_->size(); }
  // How many events there were when the file had this size.
  uint64_t events_within(uint64_t bytes) const;

 private:
  std::unique_ptr<std::string> bytes_;  // The events point into it.
  std::vector<Event> events_;
  std::vector<uint64_t> ends_;  // Where each event ends in the file.
};

}  // namespace perennial::power_cut
