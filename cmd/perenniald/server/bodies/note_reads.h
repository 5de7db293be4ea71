#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <uv.h>

#include "cmd/perenniald/core/core.h"
#include "engine/types/note.h"
#include "store/store.h"

namespace perennial::perenniald {

// Reads the notes of jobs on libuv's pool: they are on disk only. A read shows the database as it
// is when the pool gets to it: core::NoteWaits.
class NoteReads {
 public:
  using Done = std::function<void(const core::NoteRead& read, Result<std::vector<Note>> notes)>;

  // `loop` outlives this, and the store of start() outlives its reads. `done` is called on the loop
  // for each read; Corruption means that a note is damaged. `failed` is called when the disk cannot
  // be read.
  NoteReads(uv_loop_t& loop, Done done, std::function<void(const Status&)> failed);
  ~NoteReads();
  NoteReads(const NoteReads&) = delete;
  NoteReads& operator=(const NoteReads&) = delete;

  void start(const store::Store& store, const core::NoteRead& read);
  bool busy() const { return under_way_ > 0; }

 private:
  struct Work;
  void on_read(Work& work);

  uv_loop_t& loop_;
  Done done_;
  std::function<void(const Status&)> failed_;
  size_t under_way_ = 0;
};

}  // namespace perennial::perenniald
