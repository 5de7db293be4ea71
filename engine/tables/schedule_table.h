#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "engine/types/basic.h"
#include "engine/types/input.h"
#include "engine/types/schedule.h"
#include "engine/types/stats.h"
#include "engine/types/transition.h"

namespace perennial::engine {

// A put of a schedule that was refused: for which planned time, and why.
struct ScheduleRefusal {
  Nanos planned;
  PutRefusal why;
};

// A schedule, and what is known of it in memory only.
struct ScheduleEntry {
  ScheduleStored stored;
  Nanos offset = 0;  // Its planned times are due by so much later.
  // A put of it was refused, and is tried again at this time of the engine. 0: none was.
  Nanos retry_at = 0;
  // What was refused last, if that time has not passed meanwhile.
  std::optional<ScheduleRefusal> refused = {};
  // How many of the planned times that were missed it has made up for without a break.
  uint32_t made_up = 0;

  const Schedule& schedule() const { return *stored.schedule; }
  const ScheduleProgress& progress() const { return stored.progress; }
  // When its next planned time is due, by the wall clock. None: it is paused, or there is no time.
  std::optional<Nanos> due() const;
};

// The schedules by name, and by when each is due. It keeps them, and does not decide what becomes
// of a planned time: engine/operations/schedules.cc.
//
// Invariant: a schedule that is due at some time is either in the order of these times or, after a
// refusal, in that of the times at which it is tried again. Both orders break ties by name.
class ScheduleTable {
 public:
  // Its nodes stay where they are, so the names in the orders are those of the map.
  using ByName = std::map<std::string, ScheduleEntry, std::less<>>;

  // REQUIRES: the limits outlive it.
  explicit ScheduleTable(const Limits& limits) : limits_(limits) {}
  ScheduleTable(const ScheduleTable&) = delete;
  ScheduleTable& operator=(const ScheduleTable&) = delete;

  // Null: there is none. An entry stays where it is until it is erased.
  const ScheduleEntry* find(std::string_view name) const;
  // The one behind this name, in the order of names. Null: there is none.
  const ScheduleEntry* next(std::string_view after) const;
  size_t size() const { return by_name_.size(); }
  // Whether a schedule of this name may be set.
  bool may_set(std::string_view name) const {
    return by_name_.size() < limits_.schedules_max || find(name) != nullptr;
  }
  const ByName& by_name() const { return by_name_; }

  // Replaces the schedule of this name, if there is one. It is not refused any more.
  void set(const ScheduleStored& stored);
  // A planned time has passed, or the schedule was paused. It is not refused any more.
  void change(const ScheduleEntry& entry, const ScheduleProgress& progress, uint32_t made_up);
  // Its put was refused now.
  void refuse(const ScheduleEntry& entry, const ScheduleRefusal& refusal, Nanos retry_at);
  // Its put was refused, and is due as any other again.
  void end_refusal(const ScheduleEntry& entry);
  void erase(const ScheduleEntry& entry);

  // The one that is due first; null: none is due at any time.
  const ScheduleEntry* first_due() const { return first_of(by_due_); }
  // The one that is tried again first; null: none was refused.
  const ScheduleEntry* first_retry() const { return first_of(by_retry_); }
  size_t refused() const { return by_retry_.size(); }
  // An estimate, in bytes.
  size_t memory_bytes() const { return bytes_; }

 private:
  friend struct Check;
  // Names by time.
  using Order = std::set<std::pair<Nanos, std::string_view>>;

  const ScheduleEntry* first_of(const Order& order) const {
    return order.empty() ? nullptr : find(order.begin()->second);
  }
  // The same entry, which the table may change.
  ByName::iterator own(const ScheduleEntry& entry);
  // Adds it to the order that it belongs to, or removes it.
  void enter(ByName::iterator place);
  void leave(ByName::iterator place);
  static size_t bytes_of(const ScheduleEntry& entry);

  const Limits& limits_;
  ByName by_name_;
  Order by_due_;
  Order by_retry_;
  size_t bytes_ = 0;
};

}  // namespace perennial::engine
