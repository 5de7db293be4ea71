#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "engine/tables/conn_table.h"
#include "engine/tables/counters.h"
#include "engine/tables/ended_table.h"
#include "engine/tables/field_table.h"
#include "engine/tables/job_table.h"
#include "engine/tables/key_table.h"
#include "engine/tables/listing.h"
#include "engine/tables/schedule_table.h"
#include "engine/tables/tube_table.h"
#include "engine/tables/turn.h"
#include "engine/types/basic.h"
#include "engine/types/input.h"

namespace perennial::engine {

// All that an engine keeps, and the input that is being applied. Each table keeps itself true;
// rules, operations and commands are functions of a State.
class State {
 public:
  explicit State(const Limits& limits_of_engine);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // When the next Tick with this `go_on` is due; no value while nothing waits for time.
  std::optional<Nanos> next_deadline(bool go_on) const;
  Tube& tube_of(const Job& job) { return tubes.of(job.tube); }
  const Tube& tube_of(const Job& job) const { return tubes.of(job.tube); }
  // Counts what happens to the job, for its tube and for all.
  void count(const Job& job, uint64_t JobEnds::*what) {
    ++(counters.job_ends.*what);
    ++(tube_of(job).job_ends.*what);
  }

  const Limits limits;
  Turn turn;
  FieldTable fields;
  TubeTable tubes;
  ConnTable conns;
  JobTable jobs;
  KeyTable keys;
  EndedTable ended;
  ScheduleTable schedules;
  Counters counters;
  bool is_draining = false;

  // Connections whose operation did not fit into a turn, oldest first.
  std::vector<ConnId> left_over;
  // Closing connections that still have tubes to leave.
  std::deque<ConnId> leaving;
  Listings listings;
  // Schedules of a zone whose planned times no Tick since the start has compared with the calendar,
  // which another start may have had in another version.
  std::vector<std::string> uncompared;
};

}  // namespace perennial::engine
