#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perennial::oracle {

// A conversation in which time matters. Connections are single letters; each uses and watches a
// tube of the script's own, and no other. The lines:
//
//   a> delete $1          send, wait for the reply
//   a> put 0 0 5 | body   the size is filled in
//   a! reserve            send, do not wait
//   a<                    wait for the next reply
//   a|                    end the input, go on reading
//   a.                    hang up
//   at 1300               wait until so many milliseconds after the start
//
// {T} is the tube, $1 the id of the first job that was inserted, and so on.
struct Script {
  std::string name;
  std::vector<std::string> lines;
};

// A reply without what differs from run to run, and its time.
struct Event {
  std::string text;
  int64_t at_ms = 0;
};

std::vector<Event> play(const Script& script, uint16_t port);

// Whether both servers sent the same replies at about the same times.
bool alike(const std::vector<Event>& theirs, const std::vector<Event>& ours);

std::string describe(const std::vector<Event>& events);

}  // namespace perennial::oracle
