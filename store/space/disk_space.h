#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/types/status.h"
#include "store/disk/data_dir.h"
#include "store/types/options.h"

// The disk space of a store: how much is free, when puts are refused, and the ballast. The ballast
// is removed when the disk is nearly full, so that deletes and other commands can go on.
namespace perennial::store {

enum class SpaceState : uint8_t {
  Ok,
  LowSpace,   // The free space is below the low-water mark, and puts are refused.
  NoBallast,  // As LowSpace, and the ballast is removed, too.
};

// Returns the word for a state in stats and in logs.
std::string_view space_state_name(SpaceState state);

// The number of files that a file system can hold, where it has no such limit.
inline constexpr uint64_t unlimited_files = ~uint64_t{0};

// The size of a file system, or what of it is free.
struct Space {
  uint64_t bytes = 0;
  uint64_t files = unlimited_files;
};

// Sets each option whose value is `derived` to a value for a disk of this size, and lowers options
// that are too large for it. Below 2 GiB it lowers log_bytes_max, and below 8 GiB
// compaction_bytes_max.
void fit_to_disk(Options& options, uint64_t disk_bytes, uint64_t disk_files = unlimited_files);

// InvalidArgument: the configured low-water mark cannot work. It is either so low that the log
// alone could fill the disk, or so high that puts would always be refused.
// REQUIRES: fit_to_disk().
Status check_space_options(const Options& options, const Space& disk);
// The lowest low-water mark that check_space_options() accepts, in bytes.
uint64_t low_water_bytes_min(const Options& options);

// Returns the free bytes that a start needs to replay `log_bytes` of log: the tables that the log
// becomes and a quarter more, and at least open_bytes_min.
uint64_t start_bytes(const Options& options, uint64_t log_bytes);
// Returns the free bytes that compactions must leave while the log has `log_bytes`. A start can
// then still replay the log if the process is killed before the compactions' inputs are removed.
// The figure includes a quarter of log_bytes_max for what is written until the next poll, and one
// small compaction, which the guard does not stop.
uint64_t compactions_leave_bytes(const Options& options, uint64_t log_bytes);

// Returns the size of the file system that holds `path`.
Result<Space> disk_size_of(const std::string& path);
// Returns what is free of that file system. The bytes come from options.env if that is set, so that
// tests can choose the number.
Result<Space> free_space_of(const std::string& path, const Options& options);

// Decides when space is low. Its functions are pure.
struct SpaceLimits {
  uint64_t low_water_bytes = 0;
  uint64_t ballast_bytes = 0;
  uint64_t log_bytes_max = 0;
  uint64_t low_water_files = 0;

  // Puts that were refused are accepted again from here on. It lies above the low-water mark, so
  // that the state does not flap.
  uint64_t high_water_bytes() const { return low_water_bytes + low_water_bytes / 4; }
  uint64_t high_water_files() const { return low_water_files + low_water_files / 4; }
  bool refuses_puts(bool refused_before, const Space& free) const {
    return free.bytes < (refused_before ? high_water_bytes() : low_water_bytes) ||
           free.files < (refused_before ? high_water_files() : low_water_files);
  }
  bool needs_ballast(uint64_t free_bytes) const { return free_bytes < low_water_bytes / 2; }
  // Whether puts should wait until the log is shorter. The log is longer than its bound while its
  // rows are being flushed; on a busy machine it can be a few times as long. If other programs then
  // fill a disk that is nearly full, a start would have only the ballast, and could not replay the
  // log.
  bool must_shorten(uint64_t free_bytes, uint64_t log_bytes) const {
    const bool is_near = free_bytes < 2 * low_water_bytes;
    return is_near && log_bytes + log_bytes / 4 > std::max(ballast_bytes, 2 * log_bytes_max);
  }
  // Whether the ballast can be made without coming near the low-water mark.
  bool affords_ballast(const Space& free) const {
    return free.bytes >= high_water_bytes() + ballast_bytes && free.files > high_water_files();
  }
};

// The disk space of an open store. It reports each change of state with one event.
class DiskSpace {
 public:
  // `dir` and `options` must outlive this object. REQUIRES: fit_to_disk().
  DiskSpace(DataDir& dir, const Options& options);

  // Removes the ballast, which is a file, too, if less is free than a start needs to replay
  // `replay_bytes` of log.
  // NoSpace: too little is free without the ballast, too.
  Status ensure_space_for_start(uint64_t replay_bytes);
  // Reads the free space, removes the ballast if needs_ballast(), and sets the state. `log_bytes`
  // is the length of the log. One thread calls it at a time.
  Status poll(uint64_t log_bytes);
  // Makes the ballast if it is missing and enough is free for it. After a failure a minute passes
  // before the next attempt. It writes the whole file, so it may take seconds. One thread calls it
  // at a time; this may be another thread than that of poll().
  void make_ballast();

  // The functions below are thread-safe and return what the last poll found.
  SpaceState state() const { return state_.load(std::memory_order_relaxed); }
  // Whether deleted rows should be compacted away soon, because puts are refused or because too
  // little is free for the ballast.
  bool is_scarce() const {
    const bool lacks_ballast = limits_.ballast_bytes > 0 && !has_ballast_ && !cannot_make_;
    return state() != SpaceState::Ok || lacks_ballast;
  }
  // Whether puts should wait until the log is shorter.
  bool must_shorten(uint64_t log_bytes) const {
    return limits_.must_shorten(free_bytes(), log_bytes);
  }
  uint64_t free_bytes() const { return free_bytes_.load(std::memory_order_relaxed); }
  // unlimited_files: the file system has no limit.
  uint64_t free_files() const { return free_files_.load(std::memory_order_relaxed); }
  DiskLeft left() const;

 private:
  void note(const Space& free);
  Status release_ballast();
  void inform(std::string_view at, std::string_view fields) const;

  DataDir& dir_;
  const Options& options_;
  const SpaceLimits limits_;
  std::atomic<bool> has_ballast_;
  std::atomic<SpaceState> state_ = SpaceState::Ok;
  std::atomic<uint64_t> free_bytes_ = 0;
  std::atomic<uint64_t> free_files_ = unlimited_files;
  std::atomic<uint64_t> log_excess_bytes_ = 0;  // Still to be written for a log above its bound.
  std::atomic<bool> cannot_make_ = false;       // The last make_ballast() failed.
  // Only make_ballast() uses these: the time of the next attempt, and the last reported failure.
  Nanos retry_at_ = 0;
  std::string reported_failure_;
};

}  // namespace perennial::store
