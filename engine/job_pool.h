#pragma once

#include <cstddef>

#include "engine/job.h"

namespace perennial::engine {

// Owns the memory of all jobs, in aligned chunks: no header per job, and a chunk whose jobs are all
// gone is given back, so that memory follows the number of jobs down as well as up. Chunks are so
// large that an allocator gives each back to the kernel by itself.
class JobPool {
 public:
  JobPool() = default;
  JobPool(const JobPool&) = delete;
  JobPool& operator=(const JobPool&) = delete;
  ~JobPool();

  // The pointer stays good until release().
  Job* take(const Job& job);
  void release(Job* job);

  size_t bytes() const { return chunk_count_ * chunk_bytes; }

 private:
  static constexpr size_t chunk_bytes = size_t{256} << 10;
  struct Chunk;

  void link(Chunk* chunk);
  void unlink(Chunk* chunk);
  Chunk* add_chunk();

  Chunk* open_ = nullptr;   // A list of the chunks that have room.
  Chunk* full_ = nullptr;   // A list of the others.
  size_t empty_count_ = 0;  // Chunks without a job: at most one is kept.
  size_t chunk_count_ = 0;
};

}  // namespace perennial::engine
