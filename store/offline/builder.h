#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "engine/types/transition.h"
#include "store/format/format.h"
#include "store/types/options.h"

namespace perennial::store {

// Makes a data directory of jobs that come from elsewhere: a dump, another server. It grows under
// the name PATH.loading and takes its own when it is complete and durable, so that a crash leaves
// nothing under PATH; what a crash left under the other name is replaced. Its memory does not grow
// with the number of jobs. A Builder that failed is only to be destroyed.
class Builder {
 public:
  struct Options {
    std::string path = {};
    Events events = {};
    // The file system, the machine's if null. It must outlive the builder.
    rocksdb::Env* env = nullptr;
  };

  // InvalidArgument: there is something at the path, and it is not an empty directory. Locked:
  // somebody else builds there. NoSpace, Io: it cannot be made.
  static Result<std::unique_ptr<Builder>> begin(Options options);
  // Unless it was published, all that was written is removed.
  ~Builder();

  // The number of the tube of that name, by the server's own rule; the same for the same name.
  // InvalidArgument: no tube can have this name.
  Result<TubeId> tube(std::string_view name);
  // REQUIRES: the tube's number came from tube().
  Status add_pause(const TubePaused& pause);
  // REQUIRES: ids ascend, and the tube's number came from tube(). InvalidArgument: the row does not
  // make sense.
  Status add_job(const JobRow& row, std::string_view body);

  // Ends it: the directory appears, durable, as a clean stop after that commit would leave it.
  // InvalidArgument: the commit makes no sense, or a job has an id at or above next_id.
  Status publish(const CommitRow& commit, JobId next_id);

 private:
  struct Impl;
  explicit Builder(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace perennial::store
