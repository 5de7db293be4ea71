#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include <uv.h>

#include "engine/types/basic.h"
#include "store/store.h"

namespace perennial::perenniald {

// Looks at bodies, on libuv's pool. No snapshot is taken: a body that was deleted
// meanwhile is not found, and one whose batch is not written yet is neither.
class BodySearch {
 public:
  // Whether a body is wanted. It is called on the pool.
  using Test = std::function<bool(std::string_view body)>;
  // The jobs whose bodies are wanted, in the order in which they were given.
  using Done = std::function<void(std::vector<JobId> found)>;

  // `loop` outlives this. `failed` is called when the disk cannot be read.
  BodySearch(uv_loop_t& loop, std::function<void(const Status&)> failed);
  ~BodySearch();
  BodySearch(const BodySearch&) = delete;
  BodySearch& operator=(const BodySearch&) = delete;

  // `done` is called on the loop, after this has returned. The store outlives the search. A body
  // that is damaged is not found here: whoever reserves its job learns of it.
  void start(const store::Store& store, std::vector<JobId> jobs, Test is_wanted, Done done);
  bool busy() const { return under_way_ > 0; }

 private:
  struct Work;
  void on_searched(Work& work);

  uv_loop_t& loop_;
  const std::function<void(const Status&)> failed_;
  size_t under_way_ = 0;
};

}  // namespace perennial::perenniald
