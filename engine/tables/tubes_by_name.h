#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "engine/tables/tube.h"

namespace perennial::engine {

// Finds tubes by their names. Does not own the tubes.
//
// A hash table grows in one step that hashes every name again, which takes 125 ms for a million
// tubes. There are therefore 512 small tables, which grow at different times.
class TubesByName {
 public:
  size_t size() const { return size_; }

  // Returns null if there is no tube of that name.
  Tube* find(std::string_view name) const {
    const size_t hash = hash_of(name);
    const Table& table = tables_[table_of(hash)];
    const auto found = table.find(name, hash);
    return found != table.end() ? found->second : nullptr;
  }
  // REQUIRES: no tube of that name was inserted. The name of the tube does not change.
  void insert(Tube& tube) {
    tables_[table_of(hash_of(tube.name))].emplace(tube.name, &tube);
    ++size_;
  }
  // REQUIRES: the tube was inserted.
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
