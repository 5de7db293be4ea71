#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <uv.h>

#include "cmd/perenniald/core/core.h"
#include "engine/types/note.h"
#include "store/batch/batch.h"
#include "store/store.h"

namespace perennial::perenniald {

// Reads the notes of jobs on libuv's pool, each as the database was when core asked: they are on
// disk only. Some reads are under way at once, and the others wait for them.
//
// A job rarely gets a note while its notes are read. So a read begins without a snapshot, as that
// of a body does (BodyReads). A snapshot is taken when a batch that changes the notes of such a job
// is about to be written. All reads that it concerns share it, and one that may have come too late
// is repeated under it.
class NoteReads {
 public:
  using Done = std::function<void(const core::NoteRead& read, Result<std::vector<Note>> notes)>;
  static constexpr size_t under_way_default = 256;

  // `loop` outlives this, and the store of start() outlives its reads. `done` is called on the loop
  // for each read; Corruption means that a note is damaged. `failed` is called when the disk cannot
  // be read. At most `under_way_max` reads, at least one, are given to the pool at once.
  NoteReads(uv_loop_t& loop, Done done, std::function<void(const Status&)> failed,
            size_t under_way_max = under_way_default);
  ~NoteReads();
  NoteReads(const NoteReads&) = delete;
  NoteReads& operator=(const NoteReads&) = delete;

  // REQUIRES: it is the store of the reads that have not ended.
  void start(const store::Store& store, const core::NoteRead& read);
  // Takes a snapshot for the reads of jobs whose notes `batch` changes. REQUIRES: it is called
  // before each batch is written, and no other batch is about to be.
  void before_write(const store::Batch& batch);
  bool busy() const { return under_way_ > 0; }

 private:
  struct Work;
  // The reads without a snapshot that have not ended, by job.
  using Current = std::multimap<JobId, Work*>;
  void begin_next();
  void queue(Work& work);
  void on_read(Work& work);

  uv_loop_t& loop_;
  Done done_;
  std::function<void(const Status&)> failed_;
  const size_t under_way_max_;
  size_t under_way_ = 0;
  std::deque<std::unique_ptr<Work>> waiting_;
  Current current_;
};

}  // namespace perennial::perenniald
