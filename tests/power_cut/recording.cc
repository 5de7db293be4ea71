#include "tests/power_cut/recording.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

namespace perennial::power_cut {

Result<Recording> Recording::read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Status(StatusCode::NotFound, "there is no recording at " + path);
  Recording out;
  out.bytes_ = std::make_unique<std::string>(std::istreambuf_iterator<char>(file),
                                             std::istreambuf_iterator<char>());
  const std::string_view bytes = *out.bytes_;
  for (size_t at = 0; at < bytes.size();) {
    support::EventHead head{};
    if (bytes.size() - at < sizeof head) return Status(StatusCode::Corruption, "a torn recording");
    std::memcpy(&head, bytes.data() + at, sizeof head);
    at += sizeof head;
    if (bytes.size() - at < uint64_t{head.path_bytes} + head.data_bytes) {
      return Status(StatusCode::Corruption, "a torn recording");
    }
    out.events_.push_back({.kind = head.kind,
                           .handle = head.handle,
                           .offset = head.offset,
                           .length = head.length,
                           .path = bytes.substr(at, head.path_bytes),
                           .data = bytes.substr(at + head.path_bytes, head.data_bytes)});
    at += head.path_bytes + head.data_bytes;
    out.ends_.push_back(at);
  }
  return out;
}

uint64_t Recording::events_within(uint64_t bytes) const {
  return static_cast<uint64_t>(std::ranges::upper_bound(ends_, bytes) - ends_.begin());
}

}  // namespace perennial::power_cut
