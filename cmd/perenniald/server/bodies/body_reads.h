#pragma once

#include <functional>

#include <uv.h>

#include "absl/container/flat_hash_map.h"
#include "cmd/perenniald/core/core.h"
#include "store/batch/batch.h"
#include "store/store.h"

namespace perennial::perenniald {

// Reads bodies that core does not have in memory, each as the database was when core asked. A small
// body that RocksDB has in memory is read at once: it often lies in a block that was read for the
// job before it. All other bodies are read on libuv's pool.
//
// When core asks, the body is in the database, and it is nearly always still there when the pool
// reads it. So a read begins without a snapshot. A snapshot is taken only when a batch that deletes
// the body is about to be written, and the read is repeated under it if it came too late. A
// snapshot for each read would be simpler, but RocksDB compacts tables each time the oldest
// snapshot ends (store::Store::read_body).
class BodyReads {
 public:
  using Done = std::function<void(const core::BodyRead& read, Result<Body> body)>;

  // `loop` outlives this, and the store of start() outlives its reads. `done` is called on the loop
  // for each body, perhaps before start() returns; NotFound and Corruption mean that the body is
  // damaged. `failed` is called when the disk cannot be read.
  BodyReads(uv_loop_t& loop, Done done, std::function<void(const Status&)> failed);
  ~BodyReads();
  BodyReads(const BodyReads&) = delete;
  BodyReads& operator=(const BodyReads&) = delete;

  // Begins a read. REQUIRES: no read of this job is under way.
  void start(const store::Store& store, const core::BodyRead& read);
  // Takes snapshots of the bodies that `batch` deletes and that are being read. REQUIRES: it is
  // called before each batch is written.
  void before_write(const store::Batch& batch);
  bool busy() const { return !under_way_.empty(); }

 private:
  struct Work;
  void queue(Work& work);
  void on_read(Work& work);

  uv_loop_t& loop_;
  Done done_;
  std::function<void(const Status&)> failed_;
  // libuv's request owns each Work.
  absl::flat_hash_map<JobId, Work*> under_way_;
};

}  // namespace perennial::perenniald
