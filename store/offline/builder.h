#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/types/basic.h"
#include "engine/types/note.h"
#include "engine/types/status.h"
#include "engine/types/transition.h"
#include "store/format/format.h"
#include "store/types/options.h"

namespace perennial::store {

// Makes a data directory from jobs of another source: a dump, or another server. The directory is
// made as PATH.loading, and is renamed to PATH when it is complete and durable. So a crash leaves
// nothing at PATH, and the next Builder replaces what a crash left at PATH.loading. The memory does
// not grow with the number of jobs. After an error a Builder may only be destroyed.
class Builder {
 public:
  struct Options {
    std::string path = {};
    Events events = {};
    // The environment whose file system is used, the machine's if null. It must outlive the
    // builder.
    rocksdb::Env* env = nullptr;
  };

  // InvalidArgument: the path exists and is not an empty directory. Locked: another process builds
  // there. NoSpace, Io: the directory cannot be made.
  static Result<std::unique_ptr<Builder>> begin(Options options);
  // Removes all that was written, unless publish() succeeded.
  ~Builder();

  // Returns the number of the tube with this name, by the server's own rule. The same name always
  // gives the same number. InvalidArgument: no tube can have this name.
  Result<TubeId> tube(std::string_view name);
  // REQUIRES: the tube's number came from tube().
  Status add_pause(const TubePaused& pause);
  // InvalidArgument: the settings or the row are invalid. REQUIRES: no key is added twice.
  Status add_settings(const SettingsStored& stored);
  Status add_key(const KeyStored& key);
  // InvalidArgument: the schedule or its progress is invalid. REQUIRES: the body has as many bytes
  // as the schedule says, and no name is added twice.
  Status add_schedule(const ScheduleStored& stored, std::string_view body);
  // REQUIRES: ids ascend, and the tube's number came from tube(). InvalidArgument: the row is
  // invalid.
  Status add_job(const JobRow& row, std::string_view body);

  // InvalidArgument: the note is invalid, or its number is not one that the job still has.
  // REQUIRES: `job` is the job that was added last, ended or not, which counts its notes, and no
  // number is added twice.
  Status add_note(JobId job, const Note& note);

  // REQUIRES: ids ascend among the ended jobs, no job has the id, and no other job of the tube has
  // the place. InvalidArgument: the job is invalid. Its notes follow as those of a job.
  Status add_ended(const EndedJob& job, std::string_view body);

  // Publishes the directory durably, in the state that a clean stop after that commit would leave.
  // InvalidArgument: the commit row is invalid, or a job, the job of a key or the last job of a
  // schedule has an id at or above next_id.
  Status publish(const CommitRow& commit, JobId next_id);

 private:
  struct Impl;
  explicit Builder(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace perennial::store
