#include "cmd/perenniald/process/failure.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "cmd/common/exit_codes.h"
#include "cmd/common/shell_word.h"
#include "cmd/perenniald/process/log.h"

namespace perennial::perenniald {
namespace {

int open_exit_code(StatusCode code) {
  switch (code) {
    case StatusCode::InvalidArgument:
      return common::exit_usage;
    case StatusCode::Locked:
      return common::exit_locked;
    case StatusCode::Corruption:
    case StatusCode::Unsupported:
      return common::exit_damaged;
    case StatusCode::NoSpace:
      return common::exit_disk_full;
    case StatusCode::NotFound:
    case StatusCode::Io:
    case StatusCode::Ok:
      break;
  }
  return common::exit_unreadable;
}

}  // namespace

// A directory that is not one of ours has the same code, and so has a checkpoint; their messages
// say so.
bool is_damage(const Status& status) {
  const auto says = [&](std::string_view what) {
    return status.message().find(what) != std::string::npos;
  };
  // A disk that cannot read a part of a table damages it.
  if (status.code() == StatusCode::Io) return says(".sst");
  if (status.code() != StatusCode::Corruption) return false;
  return !says("is not a data directory") && !says("is a checkpoint") && !says("import-binlog");
}

Failure open_failure(const Status& status, const std::string& data_dir) {
  std::string message = status.message();
  if (status.code() == StatusCode::Io &&
      status.message().find("Permission denied") != std::string::npos) {
    message += fmt::format(
        "; this is uid {} with gid {}, and the directory and its files must be its own, or those "
        "of a "
        "server of this group with data_group_access: write",
        ::geteuid(), ::getegid());
  }
  if (is_damage(status)) {
    message += fmt::format("; perennial check --data-dir {} says what loses least",
                           common::shell_word(data_dir));
  }
  return {open_exit_code(status.code()), "store.open", std::move(message)};
}

Failure running_failure(const Status& status) {
  const bool full = status.code() == StatusCode::NoSpace;
  return {full ? common::exit_disk_full : common::exit_io, "store.failed", status.message()};
}

int report(const Failure& failure) {
  log(Level::Error, failure.at,
      {{"exit", fmt::format("{}", failure.exit_code)}, {"error", failure.message}});
  return failure.exit_code;
}

void end_process(const Failure& failure) {
  const int exit_code = report(failure);
  flush_log();
  _exit(exit_code);
}

}  // namespace perennial::perenniald
