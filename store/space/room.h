#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/types/status.h"
#include "store/disk/data_dir.h"
#include "store/types/options.h"

// Room on the disk: how much there is, when puts must stop, and the ballast that is given up so
// that everything else can go on.
namespace perennial::store {

enum class RoomState : uint8_t {
  Ok,
  LowSpace,   // Below the low-water mark: put is refused.
  NoBallast,  // The same, and the ballast has been given up.
};

// The word for it in stats and in logs.
std::string_view room_state_name(RoomState state);

// Sets what is `derived` to what suits a disk of this size, and lowers what is too large for it:
// below 2 GiB the log, and below 8 GiB the compactions, so that each still finds the room that it
// needs for a while.
void fit_to_disk(Options& options, uint64_t disk_bytes);

// InvalidArgument: a low-water mark, as somebody has set it, that cannot work. Either is so low
// that the log alone could fill the disk below it, or so high that puts would always be refused.
// REQUIRES: fit_to_disk().
Status check_room(const Options& options, uint64_t disk_bytes);
uint64_t low_water_bytes_min(const Options& options);

// How much a start needs: some in any case, and what the tables take that the log turns into.
uint64_t start_bytes(const Options& options, uint64_t log_bytes);
// How much compactions must leave while there is so much log: it can be flushed meanwhile, and a
// start still finds room if they are killed before their old tables are removed. A quarter of the
// log's bound is for what is written until the next look, and a little for compactions that nobody
// stops.
uint64_t compactions_leave_bytes(const Options& options, uint64_t log_bytes);

// How large the file system is that holds `path`.
Result<uint64_t> disk_bytes_of(const std::string& path);
// How much of it is free; asked through the store's env if it has one, so that tests can answer.
Result<uint64_t> free_bytes_of(const std::string& path, const Options& options);

// When it is tight. Pure.
struct RoomLimits {
  uint64_t low_water_bytes = 0;
  uint64_t ballast_bytes = 0;

  // With some distance between refusing and accepting again, so that it does not flap.
  uint64_t high_water_bytes() const { return low_water_bytes + low_water_bytes / 4; }
  bool refuses_puts(bool refused_before, uint64_t free_bytes) const {
    return free_bytes < (refused_before ? high_water_bytes() : low_water_bytes);
  }
  bool needs_ballast(uint64_t free_bytes) const { return free_bytes < low_water_bytes / 2; }
  // Making it must not bring the low-water mark near.
  bool affords_ballast(uint64_t free_bytes) const {
    return free_bytes >= high_water_bytes() + ballast_bytes;
  }
};

// The room of an open store. Says each change in one event.
class Room {
 public:
  // Both outlive this. REQUIRES: fit_to_disk().
  Room(DataDir& dir, const Options& options);

  // Gives up the ballast if there is less room than a start needs that replays so much log, and
  // fails with NoSpace if there still is.
  Status make_room_for_start(uint64_t replay_bytes);
  // Reads how much is free, gives up the ballast if it must, and decides. By one thread at a time.
  // `log_bytes`: how long the log is.
  Status look(uint64_t log_bytes);
  // Makes the ballast if it is missing and there is ample room for it; after a failure a minute
  // passes before it is tried again. May take its time. By one thread at a time, which need not be
  // the one that looks.
  void make_ballast();

  // From any thread; as of the last look.
  RoomState state() const { return state_.load(std::memory_order_relaxed); }
  // Whether what is garbage should be cleared away soon: puts are refused, or there is no room for
  // the ballast.
  bool is_scarce() const {
    const bool lacks_ballast = limits_.ballast_bytes > 0 && !has_ballast_ && !cannot_make_;
    return state() != RoomState::Ok || lacks_ballast;
  }
  // Whether puts should wait until the log is shorter: the disk is so nearly full that others could
  // soon have the rest, and a start that has only the ballast then could not replay so much log.
  bool must_shorten(uint64_t log_bytes) const;
  uint64_t free_bytes() const { return free_bytes_.load(std::memory_order_relaxed); }
  DiskLeft left() const;

 private:
  Status release_ballast();
  void inform(std::string_view at, std::string_view fields) const;

  DataDir& dir_;
  const Options& options_;
  const RoomLimits limits_;
  std::atomic<bool> has_ballast_;
  std::atomic<RoomState> state_ = RoomState::Ok;
  std::atomic<uint64_t> free_bytes_ = 0;
  std::atomic<uint64_t> owed_bytes_ = 0;   // What is still to be written of an overlong log.
  std::atomic<bool> cannot_make_ = false;  // The last attempt failed.
  // By whoever makes it: when to try again, and the failure that was said last.
  Nanos retry_at_ = 0;
  std::string said_failure_;
};

}  // namespace perennial::store
