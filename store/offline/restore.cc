#include "store/offline/restore.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>

#include "store/disk/database_copy.h"
#include "store/disk/file_tree.h"
#include "store/reader.h"
#include "store/store.h"

namespace perennial::store {
namespace {

constexpr std::string_view restoring_suffix = ".restoring";

// The steps of a restore.
class Restoration {
 public:
  explicit Restoration(const Restore& how)
      : how_(how),
        tree_(how.env),
        from_(without_trailing_slashes(how.from)),
        to_(without_trailing_slashes(how.to)),
        temporary_(to_ + std::string(restoring_suffix)) {}

  Result<Restored> run() {
    if (Status free = check_target(); !free.ok()) return free;
    Result<CheckpointManifest> manifest = verify_checkpoint(from_, how_.progress, how_.env);
    if (!manifest.ok()) return manifest.take_status();
    restored_ = {.manifest = manifest.take(), .next_id = 1};
    restored_.next_id = restored_.manifest.next_id;
    if (Status known = check_format(); !known.ok()) return known;
    if (Status found = find_schedules(); !found.ok()) return found;
    if (Status removed = remove_leftover(); !removed.ok()) return removed;
    Status made = make();
    if (made.ok()) return std::move(restored_);
    ignore(tree_.remove(temporary_), "there is a failure to report already");
    return made;
  }

 private:
  Status check_target() const {
    if (to_.empty()) return {StatusCode::InvalidArgument, "no directory given to restore to"};
    const Result<bool> is_there = tree_.exists(to_);
    if (!is_there.ok()) return is_there.status();
    if (*is_there) {
      return {StatusCode::InvalidArgument,
              to_ + " is there already: give the name of a directory that is not"};
    }
    const std::string parent = parent_of(to_);
    const Result<bool> has_parent = tree_.exists(parent);
    if (!has_parent.ok()) return has_parent.status();
    if (*has_parent) return {};
    return {StatusCode::InvalidArgument, parent + " is not there: make it first"};
  }

  Status check_format() const {
    const CheckpointManifest& manifest = restored_.manifest;
    if (manifest.format > format_version) {
      return {StatusCode::Unsupported,
              fmt::format("checkpoint {} has format {}, which only a newer program reads: version "
                          "{} made it",
                          from_, manifest.format, manifest.server_version)};
    }
    if (is_served(manifest.format) || how_.skip_ids == 0) return {};
    return {StatusCode::Unsupported,
            fmt::format("checkpoint {} has the older format {}, in which this program cannot move "
                        "the next id: restore it with --exact, and then either run perennial "
                        "migrate on it or start the server that made it, version {}",
                        from_, manifest.format, manifest.server_version)};
  }

  // Removes the directory of an interrupted restore, and refuses one that holds other names.
  Status remove_leftover() const {
    constexpr std::array<std::string_view, 4> known = {"db", "lock", "durable", "durable.new"};
    const Result<bool> is_there = tree_.exists(temporary_);
    if (!is_there.ok()) return is_there.status();
    if (!*is_there) return {};
    const Result<std::vector<std::string>> names = tree_.list(temporary_);
    if (!names.ok()) return names.status();
    for (const std::string& name : *names) {
      if (std::ranges::find(known, name) != known.end()) continue;
      return {StatusCode::InvalidArgument,
              fmt::format("{} is in the way, and is not what a restore leaves: it holds {}; move "
                          "it away",
                          temporary_, name)};
    }
    return tree_.remove(temporary_);
  }

  Status make() {
    const std::string db = temporary_ + "/db";
    if (Status made = tree_.make_dir(temporary_); !made.ok()) return made;
    if (Status made = tree_.make_dir(db); !made.ok()) return made;
    if (Status copied = copy_database(tree_, from_ + "/db", db, how_.copy); !copied.ok()) {
      return copied;
    }
    if (how_.skip_ids > 0 || !to_pause_.empty()) {
      if (Status changed = change(); !changed.ok()) return changed;
    }
    Status done = tree_.sync_dir(temporary_);
    if (done.ok()) done = tree_.publish(temporary_, to_);
    return done;
  }

  // Finds the schedules that are to be paused. Without any the copy is not opened for them, so that
  // it stays as it was.
  Status find_schedules() {
    if (!how_.pause_schedules || restored_.manifest.format < format_with_schedules) return {};
    const Result<std::unique_ptr<Reader>> reader = Reader::open({.path = from_, .env = how_.env});
    if (!reader.ok()) return reader.status();
    const auto nothing = [](const auto&...) { return Status(); };
    const auto take = [this](const ScheduleStored& stored, std::string_view /*body*/) {
      if (stored.progress.is_paused) return Status();
      to_pause_.push_back({.name = stored.schedule->name, .progress = stored.progress});
      to_pause_.back().progress.is_paused = true;
      return Status();
    };
    return (*reader)->load({.tube = nothing,
                            .pause = nothing,
                            .settings = nothing,
                            .job = nothing,
                            .key = nothing,
                            .schedule = take});
  }

  Status pause_schedules(Store& store) {
    if (to_pause_.empty() || !store.cluster_id().empty()) return {};
    Batch batch;
    for (const ScheduleChanged& paused : to_pause_) batch.add(paused);
    batch.seal({.epoch = store.opening().epoch,
                .index = store.applied() + 1,
                .known_durable = store.durable(),
                .now = store.opening().last_now});
    restored_.schedules_paused = to_pause_.size();
    return store.write(batch, true);
  }

  // Does a start and a clean stop, as a server would: the start finds all damage that a start can
  // find, and the stop writes the next id.
  Status change() {
    Result<std::unique_ptr<Store>> store = Store::open({.data_dir = temporary_, .env = how_.env});
    if (!store.ok()) return store.take_status();
    const Opening& opening = (*store)->opening();
    if (opening.last_index != restored_.manifest.commit.index) {
      return {StatusCode::Corruption,
              fmt::format("the copy ends with commit {}, and the checkpoint with {}",
                          opening.last_index, restored_.manifest.commit.index)};
    }
    restored_.next_id = opening.next_id;
    if (how_.skip_ids > 0) {
      const Result<JobId> raised = skip_ids(opening.next_id, how_.skip_ids);
      if (!raised.ok()) return raised.status();
      restored_.next_id = *raised;
    }
    if (Status paused = pause_schedules(**store); !paused.ok()) return paused;
    restored_.is_of_cluster = !(*store)->cluster_id().empty();
    return (*store)->close(restored_.next_id);
  }

  const Restore& how_;
  const FileTree tree_;
  const std::string from_;
  const std::string to_;
  const std::string temporary_;
  Restored restored_;
  std::vector<ScheduleChanged> to_pause_;
};

}  // namespace

Result<Restored> restore_checkpoint(const Restore& restore) {
  ::umask(0077);  // Applies to all files that are made here, also by RocksDB.
  Result<Restored> restored = Restoration(restore).run();
  if (restored.ok()) return restored;
  return restored.take_status().with("restore " + restore.from);
}

}  // namespace perennial::store
