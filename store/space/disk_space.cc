#include "store/space/disk_space.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <rocksdb/env.h>
#include <sys/statvfs.h>

#include "engine/types/logfmt.h"
#include "engine/types/stats.h"
#include "store/space/compaction_guard.h"
#include "store/types/group_access.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

constexpr uint64_t one_mib = 1 << 20;
constexpr Nanos ballast_retry_interval = 60 * nanos_per_second;

void derive(uint64_t& bytes, uint64_t from_disk) {
  if (bytes == derived) bytes = from_disk;
}

}  // namespace

std::string_view space_state_name(SpaceState state) {
  static_assert(static_cast<size_t>(SpaceState::Ok) == 0);
  static_assert(static_cast<size_t>(SpaceState::LowSpace) == 1);
  static_assert(static_cast<size_t>(SpaceState::NoBallast) == 2);
  return store_states[static_cast<size_t>(state)];
}

// README.md, "Disk space", has the rules for these sizes, and disk_space_test.cc checks them.
void fit_to_disk(Options& options, uint64_t disk_bytes, uint64_t disk_files) {
  derive(options.ballast_bytes, std::min(2 * options.log_bytes_max, disk_bytes / 8));
  options.log_bytes_max = std::min(options.log_bytes_max, std::max(2 * one_mib, disk_bytes / 32));
  options.compaction_bytes_max =
      std::min(options.compaction_bytes_max, std::max(2 * one_mib, disk_bytes / 32));
  // By default twice the log bound and two large compactions.
  derive(options.low_water_bytes,
         std::min(std::max(640 * one_mib, 4 * options.log_bytes_max), disk_bytes / 4));
  derive(options.open_bytes_min, std::clamp(disk_bytes / 256, 2 * one_mib, 16 * one_mib));
  derive(options.low_water_files, std::min<uint64_t>(1'000, disk_files / 4));
  derive(options.open_files_min, std::min<uint64_t>(32, disk_files / 8));
}

Status check_space_options(const Options& options, const Space& disk) {
  if (options.low_water_files > disk.files / 5 * 4) {
    return {
        StatusCode::InvalidArgument,
        fmt::format("low_water_files of {} and a quarter more are more than the disk can hold: {}",
                    options.low_water_files, disk.files)};
  }
  if (options.low_water_bytes == 0) return {};
  const uint64_t lowest = low_water_bytes_min(options);
  if (options.low_water_bytes < lowest) {
    return {StatusCode::InvalidArgument,
            fmt::format("low_water_bytes is {}, and must be at least {}: what a start needs that "
                        "finds a whole log, and as much as another log",
                        options.low_water_bytes, lowest)};
  }
  const SpaceLimits limits = {.low_water_bytes = options.low_water_bytes,
                              .ballast_bytes = options.ballast_bytes};
  if (limits.high_water_bytes() + limits.ballast_bytes <= disk.bytes) return {};
  return {StatusCode::InvalidArgument,
          fmt::format("low_water_bytes of {}, a quarter more and ballast_bytes of {} are more than "
                      "the disk has: {}",
                      options.low_water_bytes, options.ballast_bytes, disk.bytes)};
}

uint64_t low_water_bytes_min(const Options& options) {
  return start_bytes(options, options.log_bytes_max) + options.log_bytes_max;
}

uint64_t start_bytes(const Options& options, uint64_t log_bytes) {
  return std::max(options.open_bytes_min, log_bytes + log_bytes / 4);
}

uint64_t compactions_leave_bytes(const Options& options, uint64_t log_bytes) {
  return start_bytes(options, log_bytes + options.log_bytes_max / 4) + small_compaction_bytes;
}

// A file system that makes inodes as they are needed, such as btrfs, says that it has none.
Result<Space> disk_size_of(const std::string& path) {
  struct statvfs disk = {};
  if (::statvfs(path.c_str(), &disk) != 0) return from_errno(errno, "ask for the disk's size");
  return Space{.bytes = uint64_t{disk.f_blocks} * disk.f_frsize,
               .files = disk.f_files == 0 ? unlimited_files : disk.f_files};
}

Result<Space> free_space_of(const std::string& path, const Options& options) {
  if (is_of_machine(options.env)) {
    // RocksDB's GetFreeSpace() is not used here. For root it returns f_bfree, which includes blocks
    // that no process may use: 16 MiB and more on ext4.
    struct statvfs disk = {};
    if (::statvfs(path.c_str(), &disk) != 0) return from_errno(errno, "ask for free room");
    return Space{.bytes = uint64_t{disk.f_bavail} * disk.f_frsize,
                 .files = disk.f_files == 0 ? unlimited_files : disk.f_favail};
  }
  Space free;
  if (const auto asked = options.env->GetFreeSpace(path, &free.bytes); !asked.ok()) {
    return from_rocksdb(asked).with("ask for free room");
  }
  return free;
}

DiskSpace::DiskSpace(DataDir& dir, const Options& options)
    : dir_(dir),
      options_(options),
      limits_{.low_water_bytes = options.low_water_bytes,
              .ballast_bytes = options.ballast_bytes,
              .log_bytes_max = options.log_bytes_max,
              .low_water_files = options.low_water_files},
      has_ballast_(dir.ballast_bytes() > 0) {}

// The space is checked before RocksDB opens: on a full disk an open can fail after it has changed
// the directory.
Status DiskSpace::ensure_space_for_start(uint64_t replay_bytes) {
  const Space needed = {.bytes = start_bytes(options_, replay_bytes),
                        .files = options_.open_files_min};
  const auto lacks = [&needed](const Space& free) {
    return free.bytes < needed.bytes || free.files < needed.files;
  };
  Result<Space> free = free_space_of(dir_.path(), options_);
  // A ballast of another size comes from another configuration, or was not completely written.
  const bool misfits = limits_.ballast_bytes > 0 && dir_.ballast_bytes() != limits_.ballast_bytes;
  if (free.ok() && has_ballast_ && (lacks(*free) || misfits)) {
    if (Status released = release_ballast(); !released.ok()) return released;
    free = free_space_of(dir_.path(), options_);
  }
  if (!free.ok()) return free.take_status();
  note(*free);
  if (!lacks(*free)) return {};
  if (free->bytes < needed.bytes) {
    return {StatusCode::NoSpace,
            fmt::format("{} bytes are free, and a start needs {}", free->bytes, needed.bytes)};
  }
  return {StatusCode::NoSpace,
          fmt::format("the file system has room for {} more files (inodes), and a start needs {}",
                      free->files, needed.files)};
}

void DiskSpace::note(const Space& free) {
  free_bytes_.store(free.bytes, std::memory_order_relaxed);
  free_files_.store(free.files, std::memory_order_relaxed);
}

// The low-water mark allows for a log of at most log_bytes_max. One large body can make the log
// longer. The bytes above the bound are still to be written twice: to a table by a flush, and once
// more by a compaction. So twice these bytes are subtracted from what puts may use.
Status DiskSpace::poll(uint64_t log_bytes) {
  log_excess_bytes_ = 2 * (log_bytes - std::min(log_bytes, options_.log_bytes_max));
  Result<Space> free = free_space_of(dir_.path(), options_);
  if (!free.ok()) return free.take_status();
  if (has_ballast_ && limits_.needs_ballast(free->bytes)) {
    if (Status released = release_ballast(); !released.ok()) return released;
    free = free_space_of(dir_.path(), options_);
    if (!free.ok()) return free.take_status();
  }
  note(*free);
  const SpaceState before = state();
  SpaceState now = SpaceState::Ok;
  if (limits_.refuses_puts(before != SpaceState::Ok, *free)) {
    const bool gave_up = limits_.ballast_bytes > 0 && !has_ballast_;
    now = gave_up ? SpaceState::NoBallast : SpaceState::LowSpace;
  }
  if (now == before) return {};
  state_.store(now, std::memory_order_relaxed);
  std::string files;
  if (free->files != unlimited_files) {
    files = fmt::format(" free_files={} low_water_files={}", free->files, limits_.low_water_files);
  }
  const Events& events = options_.events;
  const auto& tell = now != SpaceState::Ok && events.scarce ? events.scarce : events.info;
  if (!tell) return {};
  tell("store.space",
       fmt::format("state={} free_bytes={} low_water_bytes={}{}", space_state_name(now),
                   free->bytes, limits_.low_water_bytes, files));
  return {};
}

DiskLeft DiskSpace::left() const {
  if (limits_.low_water_bytes == 0) return {};
  const uint64_t taken = limits_.low_water_bytes + log_excess_bytes_;
  return {.bytes = free_bytes() - std::min(free_bytes(), taken),
          .slack_bytes = limits_.low_water_bytes / 4};
}

void DiskSpace::make_ballast() {
  if (has_ballast_ || limits_.ballast_bytes == 0) return;
  if (cannot_make_ && options_.steady_clock() < retry_at_) return;
  const Result<Space> free = free_space_of(dir_.path(), options_);
  if (!free.ok() || !limits_.affords_ballast(*free)) return;
  const Status made = dir_.make_ballast(limits_.ballast_bytes);
  cannot_make_ = !made.ok();
  if (made.ok()) {
    has_ballast_ = true;
    reported_failure_.clear();
    return inform("store.ballast", fmt::format("made_bytes={}", limits_.ballast_bytes));
  }
  retry_at_ = options_.steady_clock() + ballast_retry_interval;
  if (std::exchange(reported_failure_, made.message()) == made.message()) return;
  inform("store.ballast", fmt::format("made_bytes=0 error={}", logfmt_text(made.message())));
}

Status DiskSpace::release_ballast() {
  const uint64_t bytes = dir_.ballast_bytes();
  if (Status removed = dir_.remove_ballast(); !removed.ok()) return removed;
  has_ballast_ = false;
  inform("store.ballast", fmt::format("released_bytes={}", bytes));
  return {};
}

void DiskSpace::inform(std::string_view at, std::string_view fields) const {
  if (options_.events.info) options_.events.info(at, fields);
}

}  // namespace perennial::store
