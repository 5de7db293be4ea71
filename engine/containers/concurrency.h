#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/btree_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/functional/function_ref.h"
#include "engine/containers/job.h"
#include "engine/types/job_fields.h"

namespace perennial::engine {

// The ready and reserved jobs of one tube that have concurrency keys: the option `con:` of put.
// While as many jobs with a key are reserved as the best ready one of them allows, no ready job
// with that key may be reserved. So of the ready jobs with one key only the best is in the ready
// heap of the tube, and only while it may be reserved. The others are behind it, in a heap of their
// key. Each call costs the logarithm of the number of jobs, and none looks at them one by one.
//
// Tuber has the same option. There a key is one of all tubes, and a ready heap is searched for a
// job that may run.
//
// Nothing here is stored: a restart counts again.
class ConcurrencyGroups {
 public:
  // Returns the `jobs_max` of a job that was added.
  using JobsMax = absl::FunctionRef<uint32_t(const Job&)>;

  explicit ConcurrencyGroups(JobHeap& ready) : ready_(ready) {}
  ConcurrencyGroups(const ConcurrencyGroups&) = delete;
  ConcurrencyGroups& operator=(const ConcurrencyGroups&) = delete;

  // REQUIRES: the job is in no heap, and `key` is its own.
  void add_ready(const ConcurrencyKey& key, Job& job, JobsMax jobs_max);
  // REQUIRES: the job was added as a ready one, and has the same priority as then.
  void remove_ready(const ConcurrencyKey& key, Job& job, JobsMax jobs_max);
  void add_reserved(const ConcurrencyKey& key, JobsMax jobs_max);
  void remove_reserved(const ConcurrencyKey& key, JobsMax jobs_max);

  // Whether a ready job with this key may not be reserved, because the key is full.
  bool is_full(const ConcurrencyKey& key) const;
  // The ready jobs whose key is full.
  uint64_t parked() const { return parked_; }
  // The ready jobs that are not in the ready heap of the tube.
  size_t behind() const { return behind_; }
  // The best of them. Null: there are none.
  Job* first_behind() const {
    return by_first_.empty() ? nullptr : first_of(*by_first_.top().item);
  }
  bool is_behind(const ConcurrencyKey& key, const Job& job) const;
  template <typename Visit>
  void for_each_behind(Visit visit) const {
    for (const auto& [key, group] : groups_) group.behind.for_each(visit);
  }

  // An estimate, in bytes.
  size_t memory_bytes() const { return groups_.size() * (sizeof(Group) + 128); }
  // Recounts everything from the ready jobs, and compares `reserved`: the number of reserved jobs
  // of each key. For Engine::check().
  void check(const absl::btree_map<std::string, uint64_t>& reserved, JobsMax jobs_max) const;

 private:
  // The jobs with one key. It ends with the last of them.
  struct Group {
    uint64_t reserved = 0;
    Job* next = nullptr;  // The best ready job, which is in the ready heap of the tube, or null.
    JobHeap behind;       // By priority, then id.
    // How many of the ready jobs have each jobs_max. Nearly always one entry.
    absl::btree_map<uint32_t, uint64_t> ready_by_max;
    uint32_t first_index = not_in_heap;
  };

  static Job* first_of(const Group& group) { return group.behind.top().item; }
  static uint64_t ready_with(const Group& group, uint64_t jobs_max);
  void push_behind(Group& group, Job& job);
  void remove_behind(Group& group, Job& job);
  // Puts the group's first job behind into the order of all groups.
  void order(Group& group);
  // Chooses the group's next job again, and ends the group if it has no job.
  void choose(const std::string& key, Group& group, JobsMax jobs_max);

  JobHeap& ready_;  // That of the tube, which owns this.
  absl::node_hash_map<std::string, Group> groups_;
  IndexedHeap<Group, &Group::first_index>
      by_first_;  // Those with jobs behind, by the best of them.
  size_t behind_ = 0;
  uint64_t parked_ = 0;
};

}  // namespace perennial::engine
