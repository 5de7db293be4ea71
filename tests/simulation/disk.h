#pragma once

#include <utility>
#include <vector>

#include "engine/image.h"
#include "engine/types/basic.h"
#include "engine/types/body.h"
#include "engine/types/status.h"
#include "store/batch/batch.h"
#include "store/store.h"

namespace perennial::simulation {

// What a simulated server keeps its batches on: the model, or the real store. It takes one batch
// at a time, as the committer does.
class Disk {
 public:
  // As the committer says it.
  struct Done {
    BatchIndex answerable = 0;
    BatchIndex durable = 0;
    std::vector<store::Batch> batches = {};
  };
  struct Found {
    store::Opening opening;
    engine::Image image;  // Without id_limit.
  };

  virtual ~Disk() = default;

  // Recovers. A refusal is a Status.
  virtual Result<Found> open() = 0;
  virtual void submit(store::Batch&& batch) = 0;
  // Waits until what was submitted is written, as the mode of durability asks.
  virtual Done finish() = 0;
  // What is durable by now without being asked for.
  virtual Done look() = 0;
  virtual Result<Body> body(JobId id) = 0;
  // A clean end.
  virtual Status close(JobId next_id) = 0;
};

}  // namespace perennial::simulation
