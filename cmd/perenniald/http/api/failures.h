#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "cmd/perenniald/http/answer.h"
#include "cmd/perenniald/http/api/note_lines.h"
#include "cmd/perenniald/http/api/sources.h"
#include "cmd/perenniald/http/sign_in.h"

namespace perennial::http {

struct FailuresAsked {
  std::string tube = {};  // Empty: of all that the caller may inspect.
  Nanos since = 0;        // Since the epoch: only jobs that failed later.
  uint64_t limit = 0;     // Of groups.
};

// Lists the jobs that have failed, in groups: those of a tube whose newest notes have the same
// line, the newest group first. One that is buried has failed, and one that died and waits in a
// dead tube. It failed when its newest note was written, or, without one, was put.
//
// The jobs are found by their tubes, in steps, and then their notes are read. One list is made at a
// time for all clients; the others wait for their turn.
class Failures {
 public:
  // What one list looks at, at most: the jobs that failed last, as many of each tube as of each
  // other one; and tubes with such jobs.
  static constexpr size_t jobs_max = 10'000;
  static constexpr size_t jobs_of_tube_max = 1'000;  // If all tubes are asked for.
  static constexpr size_t tubes_max = 10'000;
  // Places where such jobs can be, of one tube.
  static constexpr size_t places_max = 1'000'000;

  Failures(ApiSources& sources, NoteCache& notes) : sources_(sources), notes_(notes) {}

  std::unique_ptr<Answer> open(const Caller& caller, FailuresAsked asked);

 private:
  class List;

  ApiSources& sources_;
  NoteCache& notes_;
  std::deque<List*> lists_;  // In the order in which they have come.
};

}  // namespace perennial::http
