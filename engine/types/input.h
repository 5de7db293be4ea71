#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/calendar.h"
#include "engine/types/command.h"
#include "engine/types/reply.h"
#include "engine/types/stats.h"
#include "engine/types/transition.h"

namespace perennial::engine {

// Limits of the engine. Beyond a count of jobs, tubes, watched tubes or reservations the client
// gets OUT_OF_MEMORY, and no other client is affected. 0 means no limit where the comment says so.
struct Limits {
  uint64_t jobs_max = 0;  // 0: no limit.
  uint32_t tubes_max = 1'000'000;
  uint32_t watched_max = 100'000;   // Tubes, per connection.
  uint32_t reserved_max = 100'000;  // Jobs, per connection.
  uint64_t keys_max = 0;            // Held or in a cooldown. 0: no limit.
  uint32_t settings_max = 10'000;   // Tubes with settings of their own.
  uint32_t schedules_max = 100'000;
  // When schedules are due. Null: none can be set, and none fires. The only thing that is shared:
  // it does not change.
  std::shared_ptr<const Calendar> calendar = {};
  // What a tube without a setting of its own has. The longest pattern that fits counts.
  std::vector<TubeDefaults> tube_defaults = {};
  // Which tubes are measured one by one, and the most that are at the same time. Null: none is. The
  // answer follows from the name alone.
  MeasuredAs measured_as = {};
  uint32_t measured_max = 100;
  // Whether statistics show what extensions add.
  bool has_extensions = true;
  // When a turn has moved this many jobs, kicks, the ends of connections and Ticks move no more in
  // that turn. What is left is due at once, in the next turn. At least 1.
  uint32_t transitions_per_turn_max = 10'000;
  // The same bound for the other costs of a turn, in the unit of Output::cost. It applies to
  // listings, too. At least 1.
  uint64_t cost_per_turn_max = 500'000;
  // A listing of more tubes than this is given in parts of this many tubes, in the turns that
  // follow. At least 1.
  uint32_t names_per_part_max = 4'096;
  // The bytes of jobs in one reply to reserve-batch, after which it takes no further one.
  uint64_t batch_reply_bytes_max = 4 << 20;
  // How many ids one NextIdRaised makes available. At least 1.
  uint32_t id_block = 10'000;
};

// What happens to the engine besides commands.
// A client has connected.
struct Opened {
  // The client is a part of this server. It counts as no connection, producer or worker, and
  // commands of it that change nothing are not counted.
  bool is_internal = false;
};
// The client is gone: its reserved jobs become ready.
struct Closed {
  bool after_quit = false;  // The client has said so, and none of its attempts is counted.
};
// The client has sent a further line while it waits with `abort:yes`.
struct WaitAborted {};
struct HalfClosed {};  // The client sends no more but still reads: a waiting reserve times out.
struct Tick {          // Time has passed, possibly up to next_deadline().
  // Whether to continue what may move millions of jobs: delays that are over, and the kicks and
  // ends of connections that earlier turns have left over.
  bool go_on = true;
};
// SIGUSR1: every later put is refused, until `undrain`.
struct DrainSignal {};
struct Damaged {  // The body of this job cannot be read: the job is buried.
  JobId id;
};
// A job that has ended is put back, as a new one, if a put of it would be accepted now. REQUIRES:
// it was read from disk, with its notes, and is not gone since. Output::restored says what became
// of it.
struct Restore {
  EndedJob job;
  std::vector<Note> notes = {};
};
// Jobs of one tube that have ended go, the oldest ones.
struct EndedOver {
  struct Gone {
    uint64_t place;
    JobId job;
    uint32_t notes;  // How many are kept of it.
  };
  std::string tube;
  std::vector<Gone> jobs;  // In the order of their places; perhaps none.
  uint64_t first;          // The first place that is left in use; that behind the last if none is.
};
// A command asks about jobs that have ended, which only the disk knows: it is counted as every
// other one of its kind, and answered elsewhere.
struct EndedAsked {
  std::variant<ListJobs, ListNotes> command;
};

using Event = std::variant<Opened, Closed, WaitAborted, HalfClosed, Tick, DrainSignal, Damaged,
                           Restore, EndedOver, EndedAsked, Command>;

struct Input {
  Nanos now = 0;  // Never less than that of an earlier input.
  // What the wall clock shows, in nanoseconds since the epoch. It may go back and forth, and only
  // schedules read it. While there are any, a Tick comes at least once a second.
  Nanos wall = 0;
  ConnId conn = 0;           // The connection of the event; 0 where it is not a connection's.
  bool accepts_puts = true;  // Whether disk and memory have space for another job.
  // Whether jobs that end may be kept: not where the disk is short, nor while a node of the cluster
  // could not read it.
  bool keeps_ended = true;
  Event event;
  std::string_view user = {};  // Who acts. Empty: there are no users.
};

struct ConnReply {
  ConnId conn;
  Reply reply;
};

// A part of a listing that is too long for one turn. Between the first and the last part the
// connections get no other reply. The last part ends the reply.
struct NamesPart {
  std::vector<ConnId> conns;
  NamesSize size;  // The size of all parts together.
  TubeNames names = {};
  bool is_first = false;
  bool is_last = false;
};

// The results of an input, in the order in which they happened. apply() appends, so that one Output
// serves all inputs of a turn.
struct Output {
  std::vector<Transition> transitions;
  std::vector<ConnReply> replies;
  std::vector<NamesPart> names_parts;
  // What became of a Restore, as a put of the job would have been answered: INSERTED with its new
  // id, a Duplicate, or why not. INTERNAL_ERROR: it is not there any more.
  std::optional<Reply> restored;
  // What the input cost beyond the fixed cost of every input: cost.h.
  uint64_t cost = 0;

  void clear() {
    transitions.clear();
    replies.clear();
    names_parts.clear();
    restored.reset();
    cost = 0;
  }
};

}  // namespace perennial::engine
