#pragma once

#include <cstdint>
#include <string_view>

#include "engine/types/check.h"

// The smallest types and limits that all layers share.
namespace perennial {

// A job's number, from 1. Never used twice in the life of a data directory.
using JobId = uint64_t;
// The highest id that is accepted from another server or from a file. New ids count up from the
// highest known id, so an id near 2^64 would leave too few for later jobs.
inline constexpr JobId foreign_id_max = JobId{1} << 63;
// A tube's number on disk and in memory. Freed numbers are used again, lowest first.
using TubeId = uint32_t;
// Every number of a tube is below this. No more tubes are made, and none with a higher number is
// restored.
inline constexpr TubeId tube_id_limit = 1u << 26;
// A connection's number, from 1. Never used twice in one process. 0 means no connection.
using ConnId = uint64_t;
// The number of a batch of transitions, from 1. It is never reset in the life of a data directory.
using BatchIndex = uint64_t;
// Nanoseconds: a point in time since the epoch, or a duration. The type is signed, so that
// differences are safe.
using Nanos = int64_t;

inline constexpr Nanos nanos_per_ms = 1'000'000;
inline constexpr Nanos nanos_per_second = 1'000'000'000;

// protocol.txt, "Tubes": a name is at most 200 bytes.
inline constexpr uint32_t tube_name_bytes_max = 200;
// protocol.txt, "stats": a ready job with a priority below this is urgent.
inline constexpr uint32_t urgent_priority_limit = 1024;

enum class JobState : uint8_t { Ready, Reserved, Delayed, Buried };
// The protocol's word for the state.
inline std::string_view state_name(JobState state) {
  switch (state) {
    case JobState::Ready:
      return "ready";
    case JobState::Reserved:
      return "reserved";
    case JobState::Delayed:
      return "delayed";
    case JobState::Buried:
      return "buried";
  }
  CHECK(!"a state that is none");
  return {};
}

}  // namespace perennial
