#include "cmd/perennial/checkpoints/checkpoint_choice.h"

#include <algorithm>
#include <cstdio>
#include <functional>

#include <fmt/format.h>

#include "store/checkpoint/table_identity.h"
#include "store/disk/identity.h"

namespace perennial::tool {
namespace {

using store::CheckpointEntry;
using store::CheckpointManifest;

// Times of rows can be compared only within one database. A restore makes another one.
std::string identity_of(const std::string& data_dir) {
  const Result<std::string> identity = store::read_identity(data_dir);
  return identity.ok() ? *identity : std::string();
}

bool is_of(const std::string& data_dir, const CheckpointManifest& manifest) {
  const std::string own = identity_of(data_dir);
  return !own.empty() && manifest.database == own && store::is_served(manifest.format);
}

// A person who names a checkpoint of a directory that has lost its identity is believed, unless the
// tables say that they were made by another database.
Result<bool> is_taken_at_word(const std::string& data_dir, const CheckpointManifest& manifest) {
  const Result<std::string> own = store::read_identity(data_dir);
  if (!own.ok() || !own->empty() || !store::is_served(manifest.format)) return false;
  const Result<std::string> of_tables = store::identity_of_newest_table(data_dir + "/db");
  if (!of_tables.ok()) return of_tables.status();
  return of_tables->empty() || *of_tables == manifest.database;
}

}  // namespace

CheckpointChoice choose_checkpoint(const std::string& data_dir) {
  CheckpointChoice out;
  Result<std::vector<CheckpointEntry>> all = store::list_checkpoints(data_dir + "/checkpoints");
  if (!all.ok()) return out;
  std::vector<CheckpointEntry> entries = all.take();
  const std::string own = identity_of(data_dir);
  std::erase_if(entries, [&](const CheckpointEntry& entry) {
    return !entry.complete || (!own.empty() && entry.database != own);
  });
  std::ranges::sort(entries, std::greater(), &CheckpointEntry::name);
  for (const CheckpointEntry& entry : entries) {
    Result<CheckpointManifest> verified = store::verify_checkpoint(entry.path);
    if (verified.ok() && verified->has_counts) {
      const bool is_same = is_of(data_dir, *verified);
      out.chosen = {.path = entry.path, .manifest = verified.take(), .is_of_directory = is_same};
      return out;
    }
    out.damaged.push_back(entry.name);
  }
  return out;
}

Result<std::string> checkpoint_for_salvage(const std::string& data_dir, const std::string& asked) {
  if (asked == "none") return std::string();
  if (asked.empty()) {
    const CheckpointChoice choice = choose_checkpoint(data_dir);
    const bool fits = choice.chosen && choice.chosen->is_of_directory;
    return fits ? choice.chosen->path : std::string();
  }
  const Result<CheckpointManifest> verified = store::verify_checkpoint(asked);
  if (!verified.ok()) return verified.status();
  if (is_of(data_dir, *verified)) return asked;
  const Result<bool> is_believed = is_taken_at_word(data_dir, *verified);
  if (!is_believed.ok()) return is_believed.status();
  if (*is_believed) {
    fmt::print(
        stderr,
        "perennial: warning: {}/db has lost its file IDENTITY; {} is taken for a checkpoint of "
        "this database, because it was named\n",
        data_dir, asked);
    return asked;
  }
  return Status(StatusCode::InvalidArgument,
                fmt::format("{} is no checkpoint of the database in {}: give one that its server "
                            "has made since the last restore, or --checkpoint none",
                            asked, data_dir));
}

}  // namespace perennial::tool
