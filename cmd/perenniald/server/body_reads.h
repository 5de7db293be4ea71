#pragma once

#include <functional>

#include <uv.h>

#include "absl/container/flat_hash_map.h"
#include "cmd/perenniald/core/core.h"
#include "store/batch/batch.h"
#include "store/store.h"

namespace perennial::perenniald {

// Reads bodies that core does not have, each as the database was when it was asked for. A small one
// that RocksDB has in memory is given at once: it often lies in a block that was read for the job
// before it. All others are read on libuv's pool.
//
// What is asked for is in the database, and nearly always still there when the pool comes to it. So
// a read takes no snapshot (store::Store::read_body says why) until a batch is about to be written
// that deletes its body, and is only repeated under that if it came too late.
class BodyReads {
 public:
  using Done = std::function<void(const core::BodyRead& read, Result<Body> body)>;

  // `loop` and `store` outlive the reads. `done` is told of each body on the loop, maybe before
  // start() returns; NotFound and Corruption are a damaged one. `failed` is told when the disk does
  // not give what it has taken.
  BodyReads(uv_loop_t& loop, Done done, std::function<void(const Status&)> failed);
  ~BodyReads();
  BodyReads(const BodyReads&) = delete;
  BodyReads& operator=(const BodyReads&) = delete;

  // REQUIRES: no read of this job is under way.
  void start(const store::Store& store, const core::BodyRead& read);
  // REQUIRES: called before each batch is written.
  void before_write(const store::Batch& batch);
  bool busy() const { return !under_way_.empty(); }

 private:
  struct Work;
  void queue(Work& work);
  void on_read(Work& work);

  uv_loop_t& loop_;
  Done done_;
  std::function<void(const Status&)> failed_;
  // Each is owned by the request to libuv.
  absl::flat_hash_map<JobId, Work*> under_way_;
};

}  // namespace perennial::perenniald
