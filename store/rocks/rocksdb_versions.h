#pragma once

#include <memory>

// What RocksDB's versions call differently. From 9.11 on a database is opened into a unique_ptr,
// from 11.0 on only so; 7.8 knows raw pointers only. Which there is the compiler finds out, so that
// no version number has to be right. This names nothing of RocksDB's, so that tests can play all
// versions.
namespace perennial::store {

// Db::Open with these arguments and `opened` behind them.
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

// An options file that cannot be written is an error. From 10.2 on it always is, and the option is
// gone.
template <typename DbOptions>
void fail_if_options_file_error(DbOptions& options) {
  if constexpr (requires { options.fail_if_options_file_error; }) {
    options.fail_if_options_file_error = true;
  }
}

}  // namespace perennial::store
