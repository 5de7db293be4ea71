#include "engine/job_pool.h"

#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>

namespace perennial::engine {

static_assert(std::is_trivially_destructible_v<Job>);

struct JobPool::Chunk {
  union Slot {
    Slot* next_free;
    alignas(Job) unsigned char job[sizeof(Job)];
  };
  static constexpr size_t slot_count = (chunk_bytes - 64) / sizeof(Job);

  Chunk* previous = nullptr;
  Chunk* next = nullptr;
  Slot* free = nullptr;
  size_t used = 0;
  Slot slots[slot_count];

  bool full() const { return free == nullptr; }
};

JobPool::~JobPool() {
  for (Chunk* list : {open_, full_}) {
    while (list != nullptr) {
      Chunk* const next = list->next;
      std::free(list);
      list = next;
    }
  }
}

Job* JobPool::take(const Job& job) {
  Chunk* const chunk = open_ != nullptr ? open_ : add_chunk();
  if (chunk->used == 0) --empty_count_;
  Chunk::Slot* const slot = chunk->free;
  if (slot->next_free == nullptr) {
    // full() decides in which list a chunk is, so the chunk leaves its list before the last slot is
    // taken, and joins the other list after it.
    unlink(chunk);
    chunk->free = nullptr;
    link(chunk);
  } else {
    chunk->free = slot->next_free;
  }
  ++chunk->used;
  return new (slot->job) Job(job);
}

void JobPool::release(Job* job) {
  // Chunks are aligned to their size, so the chunk of a job is found from its address.
  const uintptr_t offset = reinterpret_cast<uintptr_t>(job) % chunk_bytes;
  auto* const chunk = reinterpret_cast<Chunk*>(reinterpret_cast<char*>(job) - offset);
  auto* const slot = reinterpret_cast<Chunk::Slot*>(job);
  const bool was_full = chunk->full();
  if (was_full) unlink(chunk);
  slot->next_free = chunk->free;
  chunk->free = slot;
  if (was_full) link(chunk);
  if (--chunk->used > 0) return;
  if (empty_count_ == 0) {
    empty_count_ = 1;
    return;
  }
  unlink(chunk);
  std::free(chunk);
  --chunk_count_;
}

void JobPool::link(Chunk* chunk) {
  Chunk*& list = chunk->full() ? full_ : open_;
  chunk->previous = nullptr;
  chunk->next = list;
  if (list != nullptr) list->previous = chunk;
  list = chunk;
}

void JobPool::unlink(Chunk* chunk) {
  Chunk*& list = chunk->full() ? full_ : open_;
  if (chunk->previous != nullptr) chunk->previous->next = chunk->next;
  if (chunk->next != nullptr) chunk->next->previous = chunk->previous;
  if (list == chunk) list = chunk->next;
}

JobPool::Chunk* JobPool::add_chunk() {
  void* const memory = std::aligned_alloc(chunk_bytes, chunk_bytes);
  CHECK(memory != nullptr);
  static_assert(sizeof(Chunk) <= chunk_bytes);
  auto* const chunk = new (memory) Chunk;
  for (size_t i = Chunk::slot_count; i > 0; --i) {
    chunk->slots[i - 1].next_free = chunk->free;
    chunk->free = &chunk->slots[i - 1];
  }
  ++chunk_count_;
  ++empty_count_;
  link(chunk);
  return chunk;
}

}  // namespace perennial::engine
