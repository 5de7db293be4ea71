#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "engine/tube.h"

namespace perennial::engine {

// Finds tubes by their names. Owns none.
//
// A hash table grows in one step, for which every name is hashed again: with a million tubes that
// is an eighth of a second. So there are many small tables, which grow at different times.
class TubesByName {
 public:
  size_t size() const { return size_; }

  // Null: there is none of that name.
  Tube* find(std::string_view name) const {
    const size_t hash = hash_of(name);
    const Table& table = tables_[table_of(hash)];
    const auto found = table.find(name, hash);
    return found != table.end() ? found->second : nullptr;
  }
  // REQUIRES: there is none of that name. The name does not change.
  void insert(Tube& tube) {
    tables_[table_of(hash_of(tube.name))].emplace(tube.name, &tube);
    ++size_;
  }
  // REQUIRES: it was inserted.
  void erase(const Tube& tube) { size_ -= tables_[table_of(hash_of(tube.name))].erase(tube.name); }

 private:
  using Table = absl::flat_hash_map<std::string_view, Tube*>;
  static constexpr unsigned tables_bits = 9;

  static size_t hash_of(std::string_view name) { return Table::hasher()(name); }
  // The tables themselves use the lower bits.
  static size_t table_of(size_t hash) { return hash >> (8 * sizeof hash - tables_bits); }

  std::array<Table, size_t{1} << tables_bits> tables_;
  size_t size_ = 0;
};

}  // namespace perennial::engine
