#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/checkpoints/commands.h"
#include "store/checkpoint/checkpoint.h"
#include "store/disk/data_dir.h"
#include "store/disk/identity.h"

namespace perennial::tool {
namespace {

using store::CheckpointEntry;
using store::CheckpointOwner;

constexpr const char* not_without_data_dir =
    "half-made ones were left alone: give --data-dir as well, so that it is seen whether a server "
    "is making one";
constexpr const char* not_while_it_runs =
    "half-made ones were left alone, because a server uses the data directory: it may be making "
    "one, and removes any others itself";

struct Pruned {
  std::vector<std::string> old;
  std::vector<std::string> partial;
  std::string left_alone;  // What was left alone and why, or empty.
};

class Pruning {
 public:
  Pruning(const CheckpointPruneOptions& options, std::string dir)
      : options_(options), dir_(std::move(dir)) {}

  Result<Pruned> run() {
    Result<std::vector<CheckpointEntry>> all = store::list_checkpoints(dir_);
    if (!all.ok()) return all.take_status();
    entries_ = all.take();
    Status done = find_owners();
    if (done.ok()) done = remove_partial();
    if (done.ok()) done = remove_old();
    if (!done.ok()) return done;
    return std::move(pruned_);
  }

 private:
  // The owner is the database of the data directory. Without one, each database that has
  // checkpoints there is an owner, and checkpoints without an owner are counted together.
  Status find_owners() {
    if (options_.place.data_dir.empty()) {
      std::set<std::string> databases;
      for (const CheckpointEntry& entry : entries_) databases.insert(entry.database);
      for (const std::string& database : databases) {
        owners_.push_back({.database = database, .has_unmarked = database.empty()});
      }
      return {};
    }
    const std::string& data_dir = options_.place.data_dir;
    Result<std::string> database = store::read_identity(data_dir);
    if (!database.ok()) return database.take_status();
    owners_ = {store::checkpoint_owner(data_dir, database.take(), dir_)};
    return {};
  }

  // A partial checkpoint may be one that a server is making, and a temporary one, which is not
  // listed, may be in use. Only the lock of the data directory excludes that: a server holds it
  // while it runs.
  Status remove_partial() {
    const auto is_partial = [&](const CheckpointEntry& entry) {
      return !entry.complete && has_owner(entry);
    };
    const bool has_some = std::ranges::any_of(entries_, is_partial);
    if (options_.place.data_dir.empty()) {
      if (has_some) note(not_without_data_dir);
      return {};
    }
    const Result<store::ReadLock> lock = store::ReadLock::take(options_.place.data_dir);
    if (lock.ok()) {
      return take(store::remove_partial_checkpoints(dir_, owners_.front()), pruned_.partial);
    }
    if (!has_some) return {};
    if (lock.status().code() != StatusCode::Locked) return lock.status();
    note(not_while_it_runs);
    return {};
  }

  Status remove_old() {
    for (const CheckpointOwner& owner : owners_) {
      Status done = take(store::prune_checkpoints(dir_, owner, options_.keep), pruned_.old);
      if (!done.ok()) return done;
    }
    std::ranges::sort(pruned_.old);
    const auto others = std::ranges::count_if(
        entries_, [&](const CheckpointEntry& entry) { return !has_owner(entry); });
    if (others == 0) return {};
    note(fmt::format("{} of other databases, or that do not say whose they are, were left alone",
                     others));
    return {};
  }

  bool has_owner(const CheckpointEntry& entry) const {
    return std::ranges::any_of(
        owners_, [&](const CheckpointOwner& owner) { return owner.owns(entry.database); });
  }

  void note(const std::string& text) {
    if (!pruned_.left_alone.empty()) pruned_.left_alone += "; ";
    pruned_.left_alone += text;
  }

  static Status take(Result<std::vector<std::string>> removed, std::vector<std::string>& out) {
    if (!removed.ok()) return removed.take_status();
    out.insert(out.end(), removed->begin(), removed->end());
    return {};
  }

  const CheckpointPruneOptions& options_;
  const std::string dir_;
  std::vector<CheckpointEntry> entries_;
  std::vector<CheckpointOwner> owners_;
  Pruned pruned_;
};

void print_pruned(const Pruned& pruned, bool json) {
  if (json) {
    const nlohmann::ordered_json out = {{"removed", pruned.old},
                                        {"removed_half_made", pruned.partial},
                                        {"note", pruned.left_alone}};
    std::puts(out.dump(2).c_str());
    return;
  }
  for (const std::string& name : pruned.old) fmt::print("removed {}\n", name);
  for (const std::string& name : pruned.partial) fmt::print("removed {}, half-made\n", name);
  if (!pruned.left_alone.empty()) fmt::print("{}\n", pruned.left_alone);
  if (pruned.old.empty() && pruned.partial.empty()) fmt::print("nothing to remove\n");
}

}  // namespace

Status checkpoint_prune(const CheckpointPruneOptions& options) {
  Result<std::string> dir = dir_of(options.place);
  if (!dir.ok()) return dir.take_status();
  const Result<Pruned> pruned = Pruning(options, dir.take()).run();
  if (!pruned.ok()) return pruned.status();
  print_pruned(*pruned, options.json);
  return {};
}

Subcommand checkpoint_prune_command() {
  const auto options = std::make_shared<CheckpointPruneOptions>();
  std::vector<Flag> flags =
      place_flags(options->place, {{"--json", "", "Report as JSON", &options->json}});
  flags.insert(
      flags.begin(),
      {"--keep", "N", "How many to keep, at least 1", &options->keep, true, {}, 1, 1'000'000});
  return {
      .name = "checkpoint prune",
      .summary = "Remove old checkpoints, and half-made ones",
      .about =
          "Keeps the newest checkpoints and removes all that are older. One whose manifest is "
          "damaged does not count as kept, so that as many good ones as you said are left. "
          "Works while a server runs.\n\n"
          "Several databases may have their checkpoints in one directory. With --data-dir only "
          "those of that data directory are counted and removed, and in its own DIR/checkpoints "
          "also those that do not say whose they are: damaged ones, and those that an older "
          "version made. With --dir alone as many are kept of each database, and of those that do "
          "not say whose they are.\n\n"
          "Half-made checkpoints are removed, too, but only where --data-dir is given and no "
          "server uses it: a server may be making one, and removes what an earlier one left.",
      .examples =
          "  perennial checkpoint prune --data-dir /var/lib/perennial --keep 7\n"
          "  perennial checkpoint prune --dir /srv/checkpoints --keep 24\n",
      .flags = std::move(flags),
      .run = [options] { return checkpoint_prune(*options); },
  };
}

}  // namespace perennial::tool
