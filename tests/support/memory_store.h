#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/image.h"
#include "store/batch/batch.h"

namespace perennial::support {

// A store for tests, which keeps batches in maps and is stricter than the real one. Written but
// unsynced batches can be lost. It checks what RocksDB does not: a row is deleted only where it
// exists and written only where none exists, a job has a body exactly as long as it exists, and the
// notes that its row counts. A job that has ended and is kept has both, and one place in its tube.
class MemoryStore {
 public:
  // Appends a batch. Skips a whole batch at or below the last index.
  void write(const store::Batch& batch);
  // Makes everything that was written durable.
  void sync();
  // A clean stop: the exact next id replaces the mark ahead of it. REQUIRES: everything is synced.
  void set_next_id(JobId next_id) { durable_.image.id_limit = current_.image.id_limit = next_id; }
  // A power cut: unsynced batches are lost.
  void lose_unsynced();

  BatchIndex last_index() const { return current_.last_index; }
  BatchIndex durable_index() const { return durable_.last_index; }
  Nanos last_now() const { return current_.now; }
  // The image after all batches that were written.
  const engine::Image& image() const { return current_.image; }
  std::optional<std::string> body(JobId id) const;
  // Oldest first.
  std::vector<Note> notes(JobId id) const;
  // The jobs that have ended and are kept, by id.
  const std::map<JobId, EndedJob>& ended() const { return current_.ended; }
  // The bodies of schedules, by name.
  const std::map<std::string, std::string>& schedule_bodies() const {
    return current_.schedule_bodies;
  }

 private:
  struct State {
    engine::Image image;
    std::map<JobId, std::string> bodies;
    std::map<JobId, std::map<uint32_t, Note>> notes;  // By place.
    std::map<JobId, EndedJob> ended;
    std::map<std::pair<std::string, uint64_t>, JobId> ended_order;  // By tube and place.
    std::map<std::string, std::string> schedule_bodies;             // By name.
    BatchIndex last_index = 0;
    Nanos now = 0;
  };
  // The content of a batch with the bytes of its bodies.
  struct Written {
    std::vector<store::JobEffect> jobs;
    std::vector<std::string> bodies;
    std::vector<store::MetaEffect> metas;
    std::vector<store::KeyEffect> keys;
    std::vector<store::NoteEffect> notes;
    std::vector<EndedGone> gone;
    std::map<std::string, EndedSpan> spans;
    std::vector<store::ScheduleEffect> schedules;
    std::vector<std::string> schedule_bodies;
    BatchIndex index;
    Nanos now;
  };
  static void apply(State& state, const Written& written);
  static void apply_notes(State& state, const Written& written);
  static void apply_gone(State& state, const Written& written);
  static void apply_ended(State& state, const EndedJob& job);
  static void apply_spans(State& state, const Written& written);
  static void apply_schedules(State& state, const Written& written);

  State durable_;
  State current_;
  std::vector<Written> unsynced_;
};

}  // namespace perennial::support
