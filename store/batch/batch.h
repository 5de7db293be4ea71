#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/types/basic.h"
#include "engine/types/transition.h"

namespace perennial::store {

// What one batch does to one job: where its row was after the batch before, and what it is after
// this one.
struct JobEffect {
  JobId id = 0;
  std::optional<JobState> before;
  std::optional<JobRow> after;
  // The body of a job that came in this batch; empty otherwise. Its bytes belong to whoever added
  // it and must stay where they are until the batch has been written.
  std::string_view body;
};

// The writes to meta are never coalesced: they are applied in the order in which they came.
using MetaEffect = std::variant<TubeStored, TubeEnded, TubePaused, PauseEnded, NextIdRaised>;

// A batch's place in history.
struct BatchPlace {
  uint64_t epoch = 0;  // Of whoever sealed it. History has one writer at a time, and a later one
                       // has a higher epoch.
  BatchIndex index = 0;
  BatchIndex known_durable = 0;  // The highest index that was known to be durable.
  Nanos now = 0;                 // The engine's time.

  bool operator==(const BatchPlace&) const = default;
};

// A batch of more operations takes so long to write that no loop should wait for it.
inline constexpr size_t small_batch_operations_max = 200;

// The unit of group commit: the net effect of many transitions, written whole or not at all. A
// value: it knows no RocksDB. It is numbered when it is sealed. After seal() it is only read.
class Batch {
 public:
  // Adds a transition; transitions come in the order in which the engine made them. `body` goes
  // with a JobMoved that has no `before`, and with nothing else.
  void add(const Transition& transition, std::string_view body = {});

  void seal(const BatchPlace& place);

  // Empties it for another use; keeps its memory.
  void clear();

  bool empty() const { return transitions_ == 0; }
  // Whether it holds a promised transition.
  bool promised() const { return promised_; }
  // Whether it must be synced in every mode before its replies leave: it holds a NextIdRaised.
  bool must_sync() const { return must_sync_; }
  // How many transitions were added, and roughly how many bytes writing them takes.
  size_t transitions() const { return transitions_; }
  size_t bytes() const { return bytes_; }
  // How many operations it writes at most, the commit row aside.
  size_t operations() const;

  // All zero before it is sealed.
  const BatchPlace& place() const { return place_; }
  uint64_t epoch() const { return place_.epoch; }
  BatchIndex index() const { return place_.index; }
  BatchIndex known_durable() const { return place_.known_durable; }
  Nanos now() const { return place_.now; }
  // In the order in which each job was first touched. Effects from none to none are among them:
  // they write nothing.
  std::span<const JobEffect> jobs() const { return jobs_; }
  std::span<const MetaEffect> metas() const { return metas_; }

 private:
  void add_job(const JobMoved& moved, std::string_view body);

  absl::flat_hash_map<JobId, uint32_t> position_;  // Of each job in jobs_.
  std::vector<JobEffect> jobs_;
  std::vector<MetaEffect> metas_;
  size_t transitions_ = 0;
  size_t bytes_ = 0;
  bool promised_ = false;
  bool must_sync_ = false;
  BatchPlace place_;
};

}  // namespace perennial::store
