#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/command.h"
#include "engine/types/reply.h"
#include "engine/types/transition.h"

namespace perennial::engine {

// Past each of these a client gets OUT_OF_MEMORY and nothing else suffers. 0 is no limit where it
// says so.
struct Limits {
  uint64_t jobs_max = 0;  // 0: none.
  uint32_t tubes_max = 1'000'000;
  uint32_t watched_max = 100'000;   // Tubes, per connection.
  uint32_t reserved_max = 100'000;  // Jobs, per connection.
  // From so many moves on in one turn, which is all inputs of the same time up to the next Tick, a
  // kick, a connection's end and a Tick move no more; what is left is due at once. At least 1.
  uint32_t moves_per_turn_max = 10'000;
  // The same for what else they cost, in the unit of Output::cost, and for listings. At least 1.
  uint64_t cost_per_turn_max = 500'000;
  // A listing of more tubes is given in parts of so many, in the turns after. At least 1.
  uint32_t names_per_part_max = 4'096;
  // How many ids one NextIdRaised makes available. At least 1.
  uint32_t id_block = 10'000;
};

// What happens to the engine besides commands.
struct Opened {};      // A client connected.
struct Closed {};      // It is gone: its reservations become ready.
struct HalfClosed {};  // It will send nothing more, but still reads: a waiting reserve times out.
struct Tick {          // Time has passed: next_deadline() has come, or may have.
  // With what may be millions of moves: delays that are over, and what turns before left over of a
  // kick or of a connection's end.
  bool go_on = true;
};
struct Drain {};  // From here on put is refused. There is no way back, as in beanstalkd.
struct Damaged {  // This job's body cannot be read: bury it.
  JobId id;
};

using Event = std::variant<Opened, Closed, HalfClosed, Tick, Drain, Damaged, Command>;

struct Input {
  Nanos now = 0;     // Never goes back.
  ConnId conn = 0;   // Whose event it is; 0 with Tick, Drain and Damaged.
  bool room = true;  // Whether there is room, on disk and in memory, for another job.
  Event event;
};

struct ConnReply {
  ConnId conn;
  Reply reply;
};

// A part of a listing that is too long for one turn. The connections get no other reply between its
// first and its last, which ends the reply.
struct NamesPart {
  std::vector<ConnId> conns;
  NamesSize size;  // Of all parts together.
  TubeNames names = {};
  bool is_first = false;
  bool is_last = false;
};

// What an input led to, in the order in which it happened. Reused from turn to turn: apply()
// appends.
struct Output {
  std::vector<Transition> transitions;
  std::vector<ConnReply> replies;
  std::vector<NamesPart> names_parts;
  // What it cost: cost.h. Nothing for what every input costs.
  uint64_t cost = 0;

  void clear() {
    transitions.clear();
    replies.clear();
    names_parts.clear();
    cost = 0;
  }
};

}  // namespace perennial::engine
