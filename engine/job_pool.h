#pragma once

#include <cstddef>

#include "engine/job.h"

namespace perennial::engine {

// Owns the memory of all jobs, in aligned chunks. There is no header per job. A chunk whose jobs
// are all released is freed, so that memory follows the number of jobs down as well as up. A chunk
// is so large that the allocator maps it separately and returns it to the kernel.
class JobPool {
 public:
  JobPool() = default;
  JobPool(const JobPool&) = delete;
  JobPool& operator=(const JobPool&) = delete;
  ~JobPool();

  // Copies the job into the pool. The pointer is valid until release().
  Job* take(const Job& job);
  void release(Job* job);

  size_t bytes() const { return chunk_count_ * chunk_bytes; }

 private:
  static constexpr size_t chunk_bytes = size_t{256} << 10;
  struct Chunk;

  void link(Chunk* chunk);
  void unlink(Chunk* chunk);
  Chunk* add_chunk();

  Chunk* open_ = nullptr;   // A list of the chunks with a free slot.
  Chunk* full_ = nullptr;   // A list of the others.
  size_t empty_count_ = 0;  // The chunks without a job. At most one is kept.
  size_t chunk_count_ = 0;
};

}  // namespace perennial::engine
