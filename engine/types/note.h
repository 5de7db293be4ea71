#pragma once

#include <cstdint>
#include <string>

#include "engine/types/basic.h"

// What a worker or an operator says about a job: why an attempt failed, for example.
namespace perennial {

// The text of a note is 1 to this many bytes. They need not be UTF-8.
inline constexpr uint32_t note_bytes_max = 4096;
// A job keeps its last notes, this many. A further one takes the place of the oldest.
inline constexpr uint32_t notes_max = 3;
// The name of the user is cut off behind this many bytes.
inline constexpr uint32_t note_user_bytes_max = 200;

struct Note {
  uint32_t number = 0;    // From 1: how many notes the job had with this one.
  uint32_t attempt = 0;   // How often the job was reserved by then.
  Nanos time = 0;         // Since the epoch.
  std::string user = {};  // Who wrote it. Empty: there are no users.
  std::string text = {};

  bool operator==(const Note&) const = default;
};

// Where a note is kept, 0 to notes_max - 1. Note N has the place of note N - notes_max.
constexpr uint32_t place_of_note(uint32_t number) {
  return (number - 1) % notes_max;
}
// How many notes are kept of a job that had so many.
constexpr uint32_t notes_kept(uint32_t had) {
  return had < notes_max ? had : notes_max;
}

}  // namespace perennial
