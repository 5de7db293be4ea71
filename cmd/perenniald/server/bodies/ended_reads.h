#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <uv.h>

#include "cmd/perenniald/core/ended/ended_read.h"
#include "engine/types/status.h"
#include "store/store.h"

namespace perennial::perenniald {

// Reads jobs that have ended on libuv's pool. A read shows the database as it is when it begins.
class EndedReads {
 public:
  using Done = std::function<void(uint64_t ticket, core::EndedResult&& result)>;

  // `loop` outlives this. `failed` is called when the disk cannot be read.
  EndedReads(uv_loop_t& loop, Done done, std::function<void(const Status&)> failed);
  ~EndedReads();
  EndedReads(const EndedReads&) = delete;
  EndedReads& operator=(const EndedReads&) = delete;

  // `done` is called on the loop, after this has returned. The store outlives the read.
  void start(const store::Store& store, core::EndedRead read);
  bool busy() const { return under_way_ > 0; }

 private:
  struct Work;
  void on_read(Work& work);

  uv_loop_t& loop_;
  const Done done_;
  const std::function<void(const Status&)> failed_;
  size_t under_way_ = 0;
};

}  // namespace perennial::perenniald
