#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/status.h"
#include "store/format/format.h"
#include "store/salvage/entry_cursor.h"
#include "store/salvage/job_evidence.h"
#include "store/salvage/salvaged.h"

// Included by store's own files only.
namespace perennial::store {

// A table that is damaged: opened alone, so that it hides nothing of the others.
struct OpenedTable {
  DamagedTable found;
  std::unique_ptr<Database> db;  // Null: nothing of it can be read.
  std::vector<KeySpan> readable = {};
};

// All that can be read of one family, key by key in their order.
class FamilyMerge {
 public:
  // An earlier state of the same database.
  struct Copy {
    const Database* db = nullptr;  // Null: there is none.
    // Entries from this time on are of its log, and of the family were in no table since. If the
    // log is damaged, they are what it has lost. The highest number: there are none.
    uint64_t lost_from = std::numeric_limits<uint64_t>::max();
  };
  // `whole` has all tables but the damaged ones, and the log. All outlive this.
  FamilyMerge(const Database& whole, const std::vector<OpenedTable>& damaged, const Copy& copy,
              Family family);

  // The lowest key that was not taken; none at the end.
  std::optional<std::string_view> lowest();

  struct Key {
    KeyTrace trace;
    std::string value;                  // Of the newest put.
    std::optional<std::string> copied;  // The value in the earlier state, if it has one.
  };
  // Takes all entries of `key`. REQUIRES: no lower key is left.
  Key take(std::string_view key);
  const Status& status() const;

 private:
  uint64_t hidden_time(std::string_view key) const;
  void take_copy(std::string_view key, Key& out);

  std::vector<std::unique_ptr<EntryCursor>> cursors_;
  std::unique_ptr<EntryCursor> copy_;         // Null: there is no earlier state.
  const uint64_t lost_from_;                  // Copy::lost_from.
  std::vector<const DamagedTable*> damaged_;  // Those of this family.
};

}  // namespace perennial::store
