#include "engine/containers/job_pool.h"

#include <cstdlib>
#include <new>
#include <type_traits>

namespace perennial::engine {

static_assert(std::is_trivially_destructible_v<Job>);

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
  Chunk* const chunk = chunk_of(*job);
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
  chunks_[chunk->number] = nullptr;
  free_numbers_.push_back(chunk->number);
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
  if (free_numbers_.empty()) {
    free_numbers_.push_back(static_cast<uint32_t>(chunks_.size()));
    chunks_.push_back(nullptr);
  }
  chunk->number = free_numbers_.back();
  free_numbers_.pop_back();
  CHECK(chunk->number < numbers_max >> slot_bits);
  chunks_[chunk->number] = chunk;
  ++chunk_count_;
  ++empty_count_;
  link(chunk);
  return chunk;
}

}  // namespace perennial::engine
