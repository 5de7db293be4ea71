#pragma once

#include "engine/containers/heap.h"
#include "engine/types/basic.h"
#include "engine/types/option_values.h"
#include "engine/types/transition.h"

namespace perennial::engine {

// The neighbours of a ready job in the ReadyOrder of its tube, as numbers of the pool.
struct ReadyNeighbours {
  uint32_t older = 0;
  uint32_t newer = 0;
};

// A job in memory: 80 bytes, without its body. It is in exactly one heap, the one of its state.
struct Job {
  JobId id = 0;
  Nanos created = 0;
  // Delayed and reserved: the deadline. Buried: the bury sequence. Ready: since when it is ready.
  uint64_t order = 0;
  // Where the job is, apart from its heap. A job is never ready and reserved at once.
  union Place {
    ConnId holder = 0;      // The connection of a reserved job. Of a delayed or buried one 0.
    ReadyNeighbours ready;  // Of a ready job.
  } place = {};
  TubeId tube = 0;
  uint32_t priority = 0;
  uint32_t delay_s = 0;
  uint32_t ttr_s = 0;
  uint32_t body_bytes = 0;
  uint32_t reserves = 0;
  uint32_t timeouts = 0;
  uint32_t releases = 0;
  uint32_t buries = 0;
  uint32_t kicks = 0;
  uint32_t heap_index = not_in_heap;
  JobState state = JobState::Ready;
  bool has_fields = false;  // The engine keeps the optional fields of few jobs in a table.
};
static_assert(sizeof(Job) == 80);

using JobHeap = IndexedHeap<Job, &Job::heap_index>;

// Conversions between a job in memory, without its optional fields, and its row on disk. The
// deadline and the holder of a reservation are not kept: they end with the process. Since when a
// job is ready is kept by JobTable::row_of().
JobRow to_row(const Job& job);
Job from_row(const JobRow& row);

// Whether the numbers of a job are wanted at this time.
bool is_matched(const Job& job, const JobMatch& match, Nanos now);

}  // namespace perennial::engine
