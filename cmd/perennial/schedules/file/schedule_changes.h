#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/perennial/schedules/file/schedule_file.h"
#include "cmd/perennial/schedules/server_schedules.h"

// What makes the schedules of a server those of a file. Pure.
namespace perennial::tool {

// A value that is another one on the server. "-": there is none.
struct ChangedValue {
  std::string name;
  std::string before;
  std::string after;

  bool operator==(const ChangedValue&) const = default;
};

struct ScheduleChange {
  enum class Kind : uint8_t { Add, Change, Delete };
  Kind kind;
  std::string name;
  std::vector<ChangedValue> values = {};   // Of a change.
  const WantedSchedule* wanted = nullptr;  // Not of a deletion. It outlives this.
};

struct ScheduleChanges {
  std::vector<ScheduleChange> all;  // In the order of the file, and then those to delete.
  uint64_t unchanged = 0;

  uint64_t count(ScheduleChange::Kind kind) const;
};

// The values that differ. What the file leaves to the server does not: an anchor, and whether the
// schedule is paused.
std::vector<ChangedValue> changed_values(const WantedSchedule& wanted, const ToldSchedule& told);

// `told`: what the server has of each of `wanted`. `to_delete`: names.
ScheduleChanges compare(const std::vector<WantedSchedule>& wanted,
                        const std::vector<std::optional<ToldSchedule>>& told,
                        const std::vector<std::string>& to_delete);

// A line for each of them: "+ name", "~ name: key: old -> new", "- name", "= 3 unchanged".
std::string changes_text(const ScheduleChanges& changes);

}  // namespace perennial::tool
