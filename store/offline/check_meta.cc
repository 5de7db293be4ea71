#include <map>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "store/offline/check_parts.h"
#include "store/rocks/database.h"
#include "store/types/rocks_status.h"

// The check of the family meta.
namespace perennial::store {
namespace {

class MetaCheck {
 public:
  MetaCheck(CheckSummary& summary, FaultList& faults) : summary_(summary), faults_(faults) {}

  void row(std::string_view key, std::string_view value);
  // Called after the last row.
  void finish();
  void break_off(const rocksdb::Status& status);
  MetaFacts take() { return std::move(facts_); }

 private:
  void tube(std::string_view key, std::string_view value);
  void pause(std::string_view key, std::string_view value);
  void settings(std::string_view key, std::string_view value);
  void ended(std::string_view key, std::string_view value);
  void fixed(MetaTag tag, std::string_view key, std::string_view value);
  Status decode_fixed(MetaTag tag, std::string_view value);

  CheckSummary& summary_;
  FaultList& faults_;
  MetaFacts facts_;
  std::string seen_;  // The tags of the rows with a fixed key that were seen.
  std::vector<TubePaused> pauses_;
  std::map<std::string, TubeId, std::less<>> names_;
};

void MetaCheck::row(std::string_view key, std::string_view value) {
  const auto tag = static_cast<MetaTag>(key.empty() ? '\0' : key[0]);
  switch (tag) {
    case MetaTag::Cluster:
    case MetaTag::Commit:
    case MetaTag::FormatVersion:
    case MetaTag::NextId:
    case MetaTag::Migration:
      return fixed(tag, key, value);
    case MetaTag::Pause:
      return pause(key, value);
    case MetaTag::Tube:
      return tube(key, value);
    case MetaTag::Settings:
      return settings(key, value);
    case MetaTag::Ended:
      return ended(key, value);
  }
  faults_.add(Family::Meta, key, "unknown key");
}

void MetaCheck::fixed(MetaTag tag, std::string_view key, std::string_view value) {
  if (key.size() != 1) return faults_.add(Family::Meta, key, "key of the wrong length");
  seen_ += key;
  const Status decoded = decode_fixed(tag, value);
  if (!decoded.ok()) faults_.add(Family::Meta, key, decoded);
}

Status MetaCheck::decode_fixed(MetaTag tag, std::string_view value) {
  if (tag == MetaTag::Cluster) {
    const Result<std::string> cluster = decode_cluster_id(value);
    return cluster.ok() ? Status() : cluster.status();
  }
  if (tag == MetaTag::Commit) {
    const Result<CommitRow> commit = decode_commit(value);
    if (!commit.ok()) return commit.status();
    facts_.now = commit->now;
    return {};
  }
  if (tag == MetaTag::FormatVersion) {
    const Result<uint32_t> version = decode_format_version(value);
    return version.ok() ? Status() : version.status();
  }
  if (tag == MetaTag::Migration) {
    const Result<MigrationRow> migration = decode_migration(value);
    return migration.ok() ? Status() : migration.status();
  }
  const Result<JobId> next_id = decode_next_id(value);
  if (!next_id.ok()) return next_id.status();
  facts_.next_id = *next_id;
  return {};
}

void MetaCheck::tube(std::string_view key, std::string_view value) {
  const Result<TubeId> number = decode_tube_key(key);
  if (!number.ok()) return faults_.add(Family::Meta, key, number.status());
  ++summary_.tubes;
  // Also if the name is damaged, so that its jobs are not reported.
  std::string& name = facts_.tubes[*number];
  const Result<TubeStored> tube = decode_tube(key, value);
  if (!tube.ok()) return faults_.add(Family::Meta, key, tube.status());
  name = tube->name;
  faults_.check_name(Family::Meta, key, tube->name, "the name is not one that a tube can have");
  const auto [same, is_new] = names_.emplace(tube->name, tube->tube);
  if (is_new) return;
  faults_.add(Family::Meta, key,
              fmt::format("tube {} has the same name, {}", same->second, tube->name));
}

void MetaCheck::pause(std::string_view key, std::string_view value) {
  ++summary_.pauses;
  const Result<TubePaused> pause = decode_pause(key, value);
  if (!pause.ok()) return faults_.add(Family::Meta, key, pause.status());
  pauses_.push_back(*pause);
}

void MetaCheck::settings(std::string_view key, std::string_view value) {
  ++summary_.settings;
  const Result<SettingsStored> stored = decode_settings(key, value);
  if (!stored.ok()) return faults_.add(Family::Meta, key, stored.status());
  faults_.check_name(Family::Meta, key, stored->tube, "the name is not one that a tube can have");
  if (!stored->settings.dead) return;
  faults_.check_name(Family::Meta, key, *stored->settings.dead,
                     "the dead tube has a name that no tube can have");
}

void MetaCheck::ended(std::string_view key, std::string_view value) {
  const Result<EndedTube> found = decode_ended_span(key, value);
  if (!found.ok()) return faults_.add(Family::Meta, key, found.status());
  faults_.check_name(Family::Meta, key, found->tube, "the name is not one that a tube can have");
  facts_.ended.emplace(found->tube, found->span);
}

void MetaCheck::finish() {
  if (!facts_.is_whole) return;
  for (const MetaTag tag : {MetaTag::Commit, MetaTag::FormatVersion, MetaTag::NextId}) {
    const auto key = meta_key(tag);
    if (seen_.find(view(key)) == std::string::npos) {
      faults_.add(Family::Meta, view(key), "the row is missing");
    }
  }
  for (const TubePaused& pause : pauses_) {
    if (facts_.tubes.contains(pause.tube)) continue;
    faults_.add(Family::Meta, view(tube_key(MetaTag::Pause, pause.tube)),
                "a pause without its tube");
  }
}

void MetaCheck::break_off(const rocksdb::Status& status) {
  facts_.is_whole = false;
  faults_.add(Family::Meta, "",
              fmt::format("it cannot be read to its end: {}", from_rocksdb(status).message()));
}

}  // namespace

MetaFacts check_meta(const Database& db, CheckSummary& summary, FaultList& faults) {
  MetaCheck check(summary, faults);
  const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator({}, db.family(Family::Meta)));
  for (at->SeekToFirst(); at->Valid(); at->Next()) check.row(view(at->key()), view(at->value()));
  if (!at->status().ok()) check.break_off(at->status());
  check.finish();
  return check.take();
}

}  // namespace perennial::store
