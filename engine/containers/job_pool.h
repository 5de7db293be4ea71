#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/containers/job.h"

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

  // A job has a number until it is released. Half the size of a pointer, so that a job may name two
  // others in the place of one.
  static uint32_t number_of(const Job& job);
  // REQUIRES: a job has this number.
  Job& at(uint32_t number) const;
  // Numbers are below it.
  static constexpr uint32_t numbers_max = 0xFFFF'0000;

  size_t bytes() const { return chunk_count_ * chunk_bytes; }

 private:
  static constexpr size_t chunk_bytes = size_t{256} << 10;
  // The low bits of a number are the place in the chunk, and the others are the chunk's number.
  static constexpr unsigned slot_bits = 12;
  struct Chunk {
    union Slot {
      Slot* next_free;
      alignas(Job) unsigned char job[sizeof(Job)];
    };
    static constexpr size_t slot_count = (chunk_bytes - 64) / sizeof(Job);

    Chunk* previous = nullptr;
    Chunk* next = nullptr;
    Slot* free = nullptr;
    size_t used = 0;
    uint32_t number = 0;
    Slot slots[slot_count];

    bool full() const { return free == nullptr; }
  };
  static_assert(Chunk::slot_count <= size_t{1} << slot_bits);
  // Chunks are aligned to their size, so the chunk of a job is found from its address.
  static Chunk* chunk_of(const Job& job) {
    auto* const at = reinterpret_cast<char*>(const_cast<Job*>(&job));
    return reinterpret_cast<Chunk*>(at - (reinterpret_cast<uintptr_t>(at) & (chunk_bytes - 1)));
  }

  void link(Chunk* chunk);
  void unlink(Chunk* chunk);
  Chunk* add_chunk();

  Chunk* open_ = nullptr;   // A list of the chunks with a free slot.
  Chunk* full_ = nullptr;   // A list of the others.
  size_t empty_count_ = 0;  // The chunks without a job. At most one is kept.
  size_t chunk_count_ = 0;
  std::vector<Chunk*> chunks_;  // By number. Null: the number is free.
  std::vector<uint32_t> free_numbers_;
};

inline uint32_t JobPool::number_of(const Job& job) {
  const Chunk* const chunk = chunk_of(job);
  const auto* const slot = reinterpret_cast<const Chunk::Slot*>(&job);
  return chunk->number << slot_bits | static_cast<uint32_t>(slot - chunk->slots);
}

inline Job& JobPool::at(uint32_t number) const {
  constexpr uint32_t slot_mask = (uint32_t{1} << slot_bits) - 1;
  Chunk* const chunk = chunks_[number >> slot_bits];
  return *reinterpret_cast<Job*>(chunk->slots[number & slot_mask].job);
}

}  // namespace perennial::engine
