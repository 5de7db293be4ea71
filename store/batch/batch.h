#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/types/basic.h"
#include "engine/types/boxed.h"
#include "engine/types/transition.h"

namespace perennial::store {

// The effect of one batch on one job: the state of its row before this batch, and the row after it.
struct JobEffect {
  JobId id = 0;
  std::optional<JobState> before;
  std::optional<JobRow> after;
  // The job has ended in this batch, and is kept. Then it has no row after it, and its body and its
  // notes stay, or are written if it was put in this batch, too.
  Boxed<EndedJob> ended = {};
  // The body of a job that was put in this batch; empty otherwise. The caller that added it owns
  // the bytes, and keeps them at their address until the batch is written.
  std::string_view body;
};

// A write to meta. These are never merged: they are applied in the order in which they were added.
// So the last settings of a tube win.
using MetaEffect =
    std::variant<TubeStored, TubeEnded, TubePaused, PauseEnded, NextIdRaised, SettingsStored>;

// The effect of one batch on one key of a tube, which is its last write. A key that was stored and
// freed within the batch is still deleted, because an earlier batch may have stored it, too.
using KeyEffect = std::variant<KeyStored, KeyFreed>;

// The effect of one batch on the notes of a job: a place that has a note, which is the last one
// that the batch has put there, or the end of all notes with the job.
using NoteEffect = std::variant<NoteStored, NotesRemoved>;

// The effect of one batch on the schedule of this name: what is stored of it afterwards.
struct ScheduleEffect {
  std::string name;
  Boxed<Schedule> schedule = {};  // None: the batch does not set it.
  // How far it is. None: it was deleted. It is deleted also if it was set and deleted within the
  // batch, because an earlier batch may have stored it, too.
  std::optional<ScheduleProgress> progress = {};
  // The body of its jobs, if it is set. The caller that added it owns the bytes, as that of a job.
  std::string_view body = {};
};

// A batch's place in history.
struct BatchPlace {
  // The epoch of the writer that sealed the batch. History has one writer at a time, and a later
  // writer has a higher epoch.
  uint64_t epoch = 0;
  BatchIndex index = 0;
  // The highest index that was known to be durable when the batch was sealed.
  BatchIndex known_durable = 0;
  Nanos now = 0;  // The engine's time, in nanoseconds since the Unix epoch.

  bool operator==(const BatchPlace&) const = default;
};

// The event loop does not write a batch with more operations itself, because the write would take
// too long. A put has three, so this is a batch of some 200 clients with a put each.
inline constexpr size_t small_batch_operations_max = 640;

// The unit of group commit: the net effect of many transitions, written as a whole or not at all.
// It is a value and knows no RocksDB. seal() gives the batch its index. A sealed batch does not
// change.
class Batch {
 public:
  // Adds a transition. Transitions are added in the order in which the engine made them. Only a
  // JobMoved without `before` and a ScheduleStored have a `body`. REQUIRES: a JobEnded comes behind
  // the JobMoved that takes its job away, and no EndedGone of the same job is in the batch.
  void add(const Transition& transition, std::string_view body = {});

  void seal(const BatchPlace& place);
  // Changes the place of a sealed batch, for a database that counts epochs of its own. REQUIRES:
  // the index stays.
  void reseal(const BatchPlace& place);

  // Empties the batch for another use and keeps its memory.
  void clear();

  bool empty() const { return transitions_ == 0; }
  // Returns whether the batch holds a promised transition.
  bool promised() const { return promised_; }
  // Returns whether the batch holds a NextIdRaised. Such a batch is synced in every durability mode
  // before its replies leave.
  bool must_sync() const { return must_sync_; }
  // The number of transitions that were added, and roughly the bytes that their write takes.
  size_t transitions() const { return transitions_; }
  size_t bytes() const { return bytes_; }
  // The highest number of operations that the batch writes, without the commit row.
  size_t operations() const;

  // All fields are zero before the batch is sealed.
  const BatchPlace& place() const { return place_; }
  uint64_t epoch() const { return place_.epoch; }
  BatchIndex index() const { return place_.index; }
  BatchIndex known_durable() const { return place_.known_durable; }
  Nanos now() const { return place_.now; }
  // Ordered by the first transition of each job. They include effects from none to none, which
  // write nothing.
  std::span<const JobEffect> jobs() const { return jobs_; }
  std::span<const MetaEffect> metas() const { return metas_; }
  // Ordered by the first transition of each key.
  std::span<const KeyEffect> keys() const { return rare().keys; }
  // At most one for each place of each job, or one for the job that is gone. The same transitions
  // give the same order. A job that was put and deleted within the batch has none.
  std::span<const NoteEffect> notes() const { return rare().notes; }
  // Ended jobs that go, without spans of their own. A tube may use the place of one again for a job
  // that ends in this batch.
  std::span<const EndedGone> gone() const { return rare().gone; }
  // The places of the ended jobs after the batch, of each tube in which it has changed them.
  const std::map<std::string, EndedSpan>& spans() const { return rare().spans; }
  // Ordered by the first transition of each schedule.
  std::span<const ScheduleEffect> schedules() const { return rare().schedules; }

 private:
  // What many batches have nothing of: keys, notes, ended jobs and schedules. A batch changes its
  // place three times on its way to the log, and the empty containers would cost it more than a
  // job.
  struct Rare {
    // The position in `keys` of each key, by its tube and itself.
    absl::flat_hash_map<std::pair<std::string, std::string>, uint32_t> key_position;
    std::vector<KeyEffect> keys;
    // The position in `notes` of each note that is stored, by its job and place.
    absl::flat_hash_map<std::pair<JobId, uint32_t>, uint32_t> note_position;
    std::vector<NoteEffect> notes;
    size_t note_operations = 0;  // Also those that delete notes with an ended job.
    std::vector<EndedGone> gone;
    std::map<std::string, EndedSpan> spans;
    absl::flat_hash_map<std::string, uint32_t> schedule_position;  // In `schedules`, by name.
    std::vector<ScheduleEffect> schedules;

    void clear();
  };

  static const Rare& no_rare();
  const Rare& rare() const { return rare_ ? *rare_ : no_rare(); }
  void add_job(const JobMoved& moved, std::string_view body);
  void add_meta(MetaEffect effect);
  void add_key(const std::string& tube, const std::string& key, KeyEffect effect);
  void add_note(const NoteStored& stored);
  void add_note(const NotesRemoved& removed);
  void add_ended(const JobEnded& ended);
  void add_gone(const EndedGone& gone);
  void set_span(const std::string& tube, const EndedSpan& span);
  void drop_note(JobId job, uint32_t place);
  void add_schedule(const ScheduleStored& stored, std::string_view body);
  void add_schedule(const ScheduleChanged& changed);
  void add_schedule(const ScheduleDeleted& deleted);
  // Returns the effect of this name, which is made if there is none.
  ScheduleEffect& schedule_of(const std::string& name);
  void drop_definition(ScheduleEffect& effect);

  absl::flat_hash_map<JobId, uint32_t> position_;  // The position of each job in jobs_.
  std::vector<JobEffect> jobs_;
  std::vector<MetaEffect> metas_;
  Boxed<Rare> rare_;
  size_t transitions_ = 0;
  size_t bytes_ = 0;
  bool promised_ = false;
  bool must_sync_ = false;
  BatchPlace place_;
};

}  // namespace perennial::store
