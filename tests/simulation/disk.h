#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cmd/perenniald/core/ended/ended_read.h"
#include "engine/types/basic.h"
#include "engine/types/body.h"
#include "engine/types/image.h"
#include "engine/types/note.h"
#include "engine/types/status.h"
#include "store/batch/batch.h"
#include "store/store.h"

namespace perennial::simulation {

// Where a simulated server stores its batches: the model or the real store. Like the committer, a
// Disk takes one batch at a time.
class Disk {
 public:
  // The report of the committer.
  struct Done {
    BatchIndex reply_index = 0;
    BatchIndex durable = 0;
    std::vector<store::Batch> batches = {};
    Status failure = {};  // The server cannot go on: it answers nothing of what it handed over.
  };
  struct Found {
    store::Opening opening;
    engine::Image image;                                      // Without id_limit.
    std::map<std::string, std::string> schedule_bodies = {};  // By name.
  };

  virtual ~Disk() = default;

  // Recovers. A refused start returns its Status.
  virtual Result<Found> open() = 0;
  virtual void submit(store::Batch&& batch) = 0;
  // Waits until the submitted batch is written as the durability mode requires.
  virtual Done finish() = 0;
  // Returns what has become durable meanwhile, without waiting.
  virtual Done look() = 0;
  virtual Result<Body> body(JobId id) = 0;
  // The notes of a job, oldest first.
  virtual Result<std::vector<Note>> notes(JobId id) = 0;
  // What core wants to know of jobs that have ended.
  virtual Result<core::EndedResult> ended(const core::EndedRead& read) = 0;
  // Whether answers may leave the server: not when another one may serve already.
  virtual bool may_answer() { return true; }
  // Stops cleanly.
  virtual Status close(JobId next_id) = 0;
};

}  // namespace perennial::simulation
