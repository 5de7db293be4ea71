#pragma once

#include <uv.h>

#include "cmd/perenniald/core/core.h"
#include "cmd/perenniald/loop/clock.h"
#include "cmd/perenniald/server/bodies/body_damage.h"
#include "cmd/perenniald/server/bodies/body_reads.h"
#include "cmd/perenniald/server/bodies/body_search.h"
#include "cmd/perenniald/server/bodies/ended_reads.h"
#include "cmd/perenniald/server/bodies/note_reads.h"
#include "store/batch/batch.h"

namespace perennial::perenniald {

// What the server has to do with bodies on disk: it reads those that core asks for, looks for bytes
// in them, and finds those that are lost. A disk that cannot be read ends the process.
class Bodies final : private BodyDamage::Jobs {
 public:
  // All of them outlive this, and the store that is given to it its reads. `done` is called for
  // each body that was read: BodyReads.
  Bodies(uv_loop_t& loop, core::Core& core, TurnClock& clock, BodyReads::Done done);

  BodyReads& reads() { return reads_; }
  NoteReads& notes() { return notes_; }
  EndedReads& ended() { return ended_; }
  BodySearch& search() { return search_; }
  BodyDamage& damage() { return damage_; }
  const BodyDamage& damage() const { return damage_; }
  // REQUIRES: it is called before each batch is written.
  void before_write(const store::Batch& batch) {
    reads_.before_write(batch);
    notes_.before_write(batch);
  }
  // Whether anything is under way, for which the store must stay.
  bool busy() const { return reads_.busy() || search_.busy() || notes_.busy() || ended_.busy(); }

 private:
  bool exists(JobId job) const override;
  void on_lost(JobId job) override;
  void on_over() override;
  void on_notes(const core::NoteRead& read, Result<std::vector<Note>> notes);

  core::Core& core_;
  TurnClock& clock_;
  BodyReads reads_;
  BodySearch search_;
  NoteReads notes_;
  EndedReads ended_;
  BodyDamage damage_;
};

}  // namespace perennial::perenniald
