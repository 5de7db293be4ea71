#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "engine/types/basic.h"
#include "engine/types/boxed.h"
#include "engine/types/ended_job.h"
#include "engine/types/job_fields.h"
#include "engine/types/job_row.h"
#include "engine/types/note.h"
#include "engine/types/schedule.h"

// What an input changed. The engine describes the change, and the store writes it. Folding all
// transitions from empty gives the engine's state.
namespace perennial {

// A job that was put (no `before`), deleted (no `after`) or moved. `before` is its state just
// before.
struct JobMoved {
  JobId id;
  std::optional<JobState> before;
  std::optional<JobRow> after;
  // Whether the transition is promised: put, delete, release, bury, kick and kick-job promise. A
  // reservation, a timeout, a delay that ends and a closed connection do not, because a restart
  // makes those transitions again.
  bool promised;
};

// A tube got its first job or pause, and therefore a row.
struct TubeStored {
  TubeId tube;
  std::string name;
};
// A stored tube ended, and its pause with it. Its number is free again. The transition is promised
// if its cause is.
struct TubeEnded {
  TubeId tube;
};
// A tube was paused by pause-tube. The transition is promised.
struct TubePaused {
  TubeId tube;
  // The length that was asked for, at least 1. protocol.txt allows 0, which ends a pause at once.
  Nanos pause;
  Nanos until;
};
// A pause is over. The transition is not promised.
struct PauseEnded {
  TubeId tube;
};
// From here on ids below `next_id` may be given out, and none at or above it. The transition must
// be on disk, synced, before a client gets an id of its block, in every durability mode.
struct NextIdRaised {
  JobId next_id;
};

// A key of a tube is held, or is in its cooldown. It replaces what was stored of the key. A tube is
// named, not numbered, because a cooldown outlives its tube. Not promised by itself: it belongs to
// a JobMoved of the same input.
struct KeyStored {
  std::string tube;
  std::string key;
  JobId job;  // The job that holds the key or held it last.
  KeyUntil until;
  // Since the epoch. 0: held for as long as the job says, which is never so with KeyUntil::Ttl.
  Nanos expires_at;

  bool operator==(const KeyStored&) const = default;
};
// A key that was stored is free again. Not promised by itself.
struct KeyFreed {
  std::string tube;
  std::string key;

  bool operator==(const KeyFreed&) const = default;
};
// The settings of the tube of this name. They replace what was stored. Settings without a value
// remove the record. The transition is promised.
struct SettingsStored {
  std::string tube;
  TubeSettings settings;

  bool operator==(const SettingsStored&) const = default;
};
// A job has a further note, which takes the place of one that it has no more: place_of_note(). Not
// promised by itself: it belongs to a JobMoved of the same input, whose row counts the note.
struct NoteStored {
  JobId job;
  Note note;

  bool operator==(const NoteStored&) const = default;
};
// The job is gone, and its notes with it. Not promised by itself.
struct NotesRemoved {
  JobId job;
  uint32_t kept;  // How many there were: 1 to notes_max.

  bool operator==(const NotesRemoved&) const = default;
};

// A job that has left is kept for a while: its body and its notes stay. It comes right behind the
// JobMoved that takes the job away, and is promised as that.
struct JobEnded {
  Boxed<EndedJob> job;
  EndedSpan span;  // Of its tube, with this job.

  bool operator==(const JobEnded&) const = default;
};
// A job that had ended is not kept any more, or was restored: its body and its notes go. Not
// promised by itself. Never in one batch with the JobEnded of the job.
struct EndedGone {
  std::string tube;
  uint64_t place;
  JobId job;
  uint32_t notes;  // How many are kept of it: 0 to notes_max.
  EndedSpan span;  // Of its tube, without this job.

  bool operator==(const EndedGone&) const = default;
};

// The first places of a tube's ended jobs are empty, because the jobs were restored. Not promised.
struct EndedTrimmed {
  std::string tube;
  EndedSpan span;

  bool operator==(const EndedTrimmed&) const = default;
};

// A client has set a schedule. It replaces what was stored of the name. Core has the body. The
// transition is promised.
struct ScheduleStored {
  Boxed<Schedule> schedule;  // Always there. It is larger than what other transitions have.
  ScheduleProgress progress = {};

  bool operator==(const ScheduleStored&) const = default;
};
// A planned time of the schedule has passed, or it was paused: what it is now. Where the schedule
// puts a job, this comes before the JobMoved of that job, in the same input, and names the job as
// the last one. So both are in one batch, and core knows by then that the body of the job is that
// of the schedule. The transition is promised, as the put is.
struct ScheduleChanged {
  std::string name;
  ScheduleProgress progress;

  bool operator==(const ScheduleChanged&) const = default;
};
// The schedule is gone. The jobs that it has put stay. The transition is promised.
struct ScheduleDeleted {
  std::string name;

  bool operator==(const ScheduleDeleted&) const = default;
};

using Transition =
    std::variant<JobMoved, TubeStored, TubeEnded, TubePaused, PauseEnded, NextIdRaised, KeyStored,
                 KeyFreed, SettingsStored, NoteStored, NotesRemoved, JobEnded, EndedGone,
                 EndedTrimmed, ScheduleStored, ScheduleChanged, ScheduleDeleted>;

// Whether a reply that depends on this transition must wait until the transition is on disk.
bool is_promised(const Transition& transition);
// Whether it changes a schedule, and no job.
bool is_of_schedule(const Transition& transition);

}  // namespace perennial
