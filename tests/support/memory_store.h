#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/image.h"
#include "engine/types/basic.h"
#include "store/batch/batch.h"

namespace perennial::support {

// A store for tests: keeps batches as the real one does, in maps, and is stricter. What has been
// written but not synced can be lost. Checks what RocksDB would not: a row is only deleted where it
// is, and only written where none is; a job has a body while it lives, and not longer.
class MemoryStore {
 public:
  // Appends a batch; skips, whole, one at or below the last index.
  void write(const store::Batch& batch);
  // All that was written is durable now.
  void sync();
  // A clean stop: the exact next id takes the place of the mark ahead of it. REQUIRES: all is
  // synced.
  void set_next_id(JobId next_id) { durable_.image.id_limit = current_.image.id_limit = next_id; }
  // A power cut: what was not synced is gone.
  void lose_unsynced();

  BatchIndex last_index() const { return current_.last_index; }
  BatchIndex durable_index() const { return durable_.last_index; }
  Nanos last_now() const { return current_.now; }
  // As after all batches that were written.
  const engine::Image& image() const { return current_.image; }
  std::optional<std::string> body(JobId id) const;

 private:
  struct State {
    engine::Image image;
    std::map<JobId, std::string> bodies;
    BatchIndex last_index = 0;
    Nanos now = 0;
  };
  // A batch's content, with the bytes of its bodies.
  struct Written {
    std::vector<store::JobEffect> jobs;
    std::vector<std::string> bodies;
    std::vector<store::MetaEffect> metas;
    BatchIndex index;
    Nanos now;
  };
  static void apply(State& state, const Written& written);

  State durable_;
  State current_;
  std::vector<Written> unsynced_;
};

}  // namespace perennial::support
