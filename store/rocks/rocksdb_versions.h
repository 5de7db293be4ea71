#pragma once

#include <memory>

// Calls whose signature differs between versions of RocksDB. 7.8 opens a database into a raw
// pointer, 9.11 also into a unique_ptr, and 11.0 only into a unique_ptr. The compiler tests which
// call exists. Version macros are rejected, because a wrong number would break the build of a
// version that nobody has tried. The header names no type of RocksDB, so that tests can imitate all
// versions.
namespace perennial::store {

// Calls Db::Open with these arguments and `opened` as the last one.
template <typename Db, typename... Arguments>
auto open_db(std::unique_ptr<Db>& opened, const Arguments&... arguments) {
  if constexpr (requires { Db::Open(arguments..., &opened); }) {
    return Db::Open(arguments..., &opened);
  } else {
    Db* raw = nullptr;
    auto status = Db::Open(arguments..., &raw);
    opened.reset(raw);
    return status;
  }
}

template <typename Db, typename... Arguments>
auto open_db_for_read_only(std::unique_ptr<Db>& opened, const Arguments&... arguments) {
  if constexpr (requires { Db::OpenForReadOnly(arguments..., &opened); }) {
    return Db::OpenForReadOnly(arguments..., &opened);
  } else {
    Db* raw = nullptr;
    auto status = Db::OpenForReadOnly(arguments..., &raw);
    opened.reset(raw);
    return status;
  }
}

// Makes an options file that cannot be written an error. From 10.2 on this is always so, and the
// option does not exist.
template <typename DbOptions>
void fail_if_options_file_error(DbOptions& options) {
  if constexpr (requires { options.fail_if_options_file_error; }) {
    options.fail_if_options_file_error = true;
  }
}

}  // namespace perennial::store
