#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/arguments/consent.h"
#include "cmd/perennial/checkpoints/commands.h"
#include "cmd/perennial/output/json.h"
#include "cmd/perennial/output/readable.h"
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

  // Finds what is to be removed, and changes nothing.
  Status plan() {
    Result<std::vector<CheckpointEntry>> all = store::list_checkpoints(dir_);
    if (!all.ok()) return all.take_status();
    entries_ = all.take();
    Status done = find_owners();
    if (done.ok()) done = find_partial();
    if (!done.ok()) return done;
    for (const CheckpointOwner& owner : owners_) find_old(owner);
    std::ranges::sort(old_, {}, &CheckpointEntry::name);
    const auto others = std::ranges::count_if(
        entries_, [&](const CheckpointEntry& entry) { return !has_owner(entry); });
    if (others > 0) {
      note(fmt::format("{} of other databases, or that do not say whose they are, were left alone",
                       others));
    }
    return {};
  }

  // What a person is asked.
  Intent intent() const {
    std::string act = "remove ";
    if (old_.empty()) act += count_text(partial_.size(), "half-made checkpoint");
    if (!old_.empty()) {
      act += count_text(old_.size(), "checkpoint");
      const std::string& first = old_.front()->name;
      const std::string& last = old_.back()->name;
      act += old_.size() == 1 ? fmt::format(" ({}, {})", first, size_text(old_bytes()))
                              : fmt::format(" ({} to {}, {})", first, last, size_text(old_bytes()));
    }
    if (!old_.empty() && !partial_.empty())
      act += fmt::format(" and {} half-made", partial_.size());
    return {.act = fmt::format("{} from {}", act, dir_),
            .count = old_.size() + partial_.size(),
            .why_nothing = fmt::format("nothing in {} is to be removed", dir_)};
  }

  // What would be removed.
  Pruned planned() const {
    Pruned planned;
    for (const CheckpointEntry* entry : old_) planned.old.push_back(entry->name);
    planned.partial = partial_;
    planned.left_alone = left_alone_;
    return planned;
  }

  // Removes what was planned, and nothing that has come since.
  Result<Pruned> run() {
    if (can_remove_partial_) {
      Status done = remove_partial();
      if (!done.ok()) return done;
    }
    for (const CheckpointEntry* entry : old_) {
      Status done = store::remove_checkpoint(entry->path);
      if (!done.ok() && done.code() != StatusCode::NotFound) return done;
      if (done.ok()) pruned_.old.push_back(entry->name);
    }
    pruned_.left_alone = left_alone_;
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
  // while it runs. It is not held while a person thinks.
  Status find_partial() {
    std::vector<std::string> found;
    for (const CheckpointEntry& entry : entries_)
      if (!entry.complete && has_owner(entry)) found.push_back(entry.name);
    if (options_.place.data_dir.empty()) {
      if (!found.empty()) note(not_without_data_dir);
      return {};
    }
    const Result<store::ReadLock> lock = store::ReadLock::take(options_.place.data_dir);
    can_remove_partial_ = lock.ok();
    if (lock.ok()) {
      partial_ = std::move(found);
      return {};
    }
    if (found.empty()) return {};
    if (lock.status().code() != StatusCode::Locked) return lock.status();
    note(not_while_it_runs);
    return {};
  }

  Status remove_partial() {
    const Result<store::ReadLock> lock = store::ReadLock::take(options_.place.data_dir);
    if (!lock.ok() && lock.status().code() != StatusCode::Locked) return lock.status();
    if (!lock.ok()) {
      if (!partial_.empty()) note(not_while_it_runs);
      return {};
    }
    Result<std::vector<std::string>> removed =
        store::remove_partial_checkpoints(dir_, owners_.front());
    if (!removed.ok()) return removed.take_status();
    pruned_.partial = removed.take();
    return {};
  }

  // The rule of store::prune_checkpoints().
  void find_old(const CheckpointOwner& owner) {
    size_t kept = 0;
    for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
      if (!entry->complete || !owner.owns(entry->database)) continue;
      if (kept < options_.keep) {
        kept += entry->manifest.ok() ? 1 : 0;
      } else {
        old_.push_back(&*entry);
      }
    }
  }

  uint64_t old_bytes() const {
    uint64_t bytes = 0;
    for (const CheckpointEntry* entry : old_)
      if (entry->manifest.ok()) bytes += entry->manifest->bytes();
    return bytes;
  }

  bool has_owner(const CheckpointEntry& entry) const {
    return std::ranges::any_of(
        owners_, [&](const CheckpointOwner& owner) { return owner.owns(entry.database); });
  }

  void note(const std::string& text) {
    if (!left_alone_.empty()) left_alone_ += "; ";
    left_alone_ += text;
  }

  const CheckpointPruneOptions& options_;
  const std::string dir_;
  std::vector<CheckpointEntry> entries_;
  std::vector<CheckpointOwner> owners_;
  std::vector<const CheckpointEntry*> old_;  // Complete ones that are to be removed.
  std::vector<std::string> partial_;
  bool can_remove_partial_ = false;
  std::string left_alone_;
  Pruned pruned_;
};

void print_as_json(const Pruned& pruned, bool dry_run) {
  nlohmann::ordered_json out;
  if (dry_run) out["dry_run"] = true;
  out["removed"] = pruned.old;
  out["removed_half_made"] = pruned.partial;
  out["note"] = pruned.left_alone;
  print_result(out);
}

void print_pruned(const Pruned& pruned) {
  for (const std::string& name : pruned.old) fmt::print("removed {}\n", name);
  for (const std::string& name : pruned.partial) fmt::print("removed {}, half-made\n", name);
  if (!pruned.left_alone.empty()) fmt::print("{}\n", pruned.left_alone);
  if (pruned.old.empty() && pruned.partial.empty()) fmt::print("nothing to remove\n");
}

}  // namespace

Status checkpoint_prune(const CheckpointPruneOptions& options) {
  Result<std::string> dir = dir_of(options.place);
  if (!dir.ok()) return dir.take_status();
  const Consent& consent = options.consent;
  Pruning pruning(options, dir.take());
  if (Status planned = pruning.plan(); !planned.ok()) return planned;
  const Intent intent = pruning.intent();
  // Temporary ones that a crash left are removed without a word, as a server does.
  if (intent.count > 0 || consent.dry_run) {
    const Result<Decision> decision = decide(consent, intent);
    if (!decision.ok()) return decision.status();
    if (*decision != Decision::Do) {
      const Pruned planned = pruning.planned();
      if (consent.json) {
        print_as_json(planned, true);
      } else if (!planned.left_alone.empty()) {
        fmt::print("{}\n", planned.left_alone);
      }
      return {};
    }
  }
  const Result<Pruned> pruned = pruning.run();
  if (!pruned.ok()) return pruned.status();
  consent.json ? print_as_json(*pruned, false) : print_pruned(*pruned);
  return {};
}

Subcommand checkpoint_prune_command() {
  const auto options = std::make_shared<CheckpointPruneOptions>();
  std::vector<Flag> flags = place_flags(options->place, with_consent_flags(options->consent, {}));
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
          "server uses it: a server may be making one, and removes what an earlier one left.\n\n"
          "It asks before, with names and sizes; a script gives --yes. A checkpoint shares files "
          "with others and with the server, so that its removal may free less than its size.",
      .examples =
          "  perennial checkpoint prune --data-dir /var/lib/perennial --keep 7 --dry-run\n"
          "  perennial checkpoint prune --dir /srv/checkpoints --keep 24 --yes\n",
      .flags = std::move(flags),
      .run = [options] { return checkpoint_prune(*options); },
  };
}

}  // namespace perennial::tool
