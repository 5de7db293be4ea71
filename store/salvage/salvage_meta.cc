#include <algorithm>
#include <utility>

#include "engine/types/later.h"
#include "store/salvage/salvage.h"

// What a salvage reads of the families `meta` and `keys`.
namespace perennial::store {
namespace {

// No row can have this number or a higher one: there are not so many tubes.
constexpr TubeId first_free_tube = 1U << 31;

// Whether a row of a checkpoint is worth having where the present one cannot be read. The commit
// row is old for certain, the number of a tube may be another tube's, and a pause is soon over.
bool is_true_for_long(std::string_view key) {
  const auto tag = static_cast<MetaTag>(key.front());
  return tag == MetaTag::Settings || tag == MetaTag::FormatVersion || tag == MetaTag::Cluster ||
         tag == MetaTag::NextId;
}

}  // namespace

Status Salvage::read_meta() {
  FamilyMerge rows = rows_of(Family::Meta);
  for (auto lowest = rows.lowest(); lowest; lowest = rows.lowest()) {
    const std::string key(*lowest);
    const FamilyMerge::Key found = rows.take(key);
    if (found.copied) read_copied_tube(key, *found.copied);
    if (found.trace.is_put() && (!found.trace.is_of_copy || is_true_for_long(key))) {
      read_meta_row(key, found.value);
    }
  }
  find_places_of_copied_tubes();
  return rows.status();
}

void Salvage::read_copied_tube(std::string_view key, const std::string& value) {
  if (static_cast<MetaTag>(key.front()) != MetaTag::Tube) return;
  if (auto tube = decode_tube(key, value); tube.ok()) copied_tubes_[tube->tube] = tube->name;
}

// A job of the checkpoint may have been in a tube whose number is another tube's by now.
void Salvage::find_places_of_copied_tubes() {
  TubeId free = first_free_tube;
  for (const auto& [number, name] : copied_tubes_) {
    const auto now = tubes_.find(number);
    if (now == tubes_.end() || now->second == name) continue;
    const auto same = std::ranges::find_if(
        tubes_, [&, wanted = &name](const auto& tube) { return tube.second == *wanted; });
    copied_places_[number] = same != tubes_.end() ? same->first : free++;
  }
}

// A row that does not decode counts as lost.
void Salvage::read_meta_row(std::string_view key, const std::string& value) {
  switch (static_cast<MetaTag>(key.front())) {
    case MetaTag::Cluster:
      account_.has_cluster = true;
      return;
    case MetaTag::Commit:
      if (const auto commit = decode_commit(value); commit.ok()) found_commit_ = *commit;
      return;
    case MetaTag::FormatVersion:
      if (const auto format = decode_format_version(value); format.ok()) format_ = *format;
      return;
    case MetaTag::NextId:
      if (const auto next_id = decode_next_id(value); next_id.ok()) next_id_ = *next_id;
      return;
    case MetaTag::Tube:
      if (auto tube = decode_tube(key, value); tube.ok()) tubes_[tube->tube] = tube->name;
      return;
    case MetaTag::Pause:
      if (const auto pause = decode_pause(key, value); pause.ok()) return pauses_.push_back(*pause);
      ++account_.meta_rows_dropped;
      return;
    case MetaTag::Settings:
      if (auto row = decode_settings(key, value); row.ok()) return settings_.push_back(row.take());
      ++account_.meta_rows_dropped;
      return;
    case MetaTag::Ended:  // Made again from the jobs.
    case MetaTag::Migration:
      return;
  }
}

// Notes which job holds a key. Of two jobs that say so, the later one: the other must have lost it
// before, and what would show that is lost.
void Salvage::claim_key(const JobRow& row) {
  if (!row.fields || !row.fields->key || row.fields->key->given_up) return;
  const JobKey& key = *row.fields->key;
  const Nanos ends_at = key.until == KeyUntil::Ttl
                            ? later(row.created, Nanos{key.seconds} * nanos_per_second)
                            : Nanos{0};
  Claim& claim = claims_[key_row_key(tubes_.at(row.tube), key.key)];
  // A key that is held for a time can be another job's when that is over.
  if (claim.job != 0 && claim.until != KeyUntil::Ttl) without_key_.insert(claim.job);
  claim = {.job = row.id, .until = key.until, .ends_at = ends_at};
}

std::optional<KeyStored> Salvage::rebuilt(const std::string& place, const Claim& claim) const {
  const bool is_over = claim.until == KeyUntil::Ttl && claim.ends_at <= commit_.now;
  if (is_over) return std::nullopt;
  const auto tube_bytes = static_cast<uint8_t>(place.front());
  return KeyStored{.tube = place.substr(1, tube_bytes),
                   .key = place.substr(1 + size_t{tube_bytes}),
                   .job = claim.job,
                   .until = claim.until,
                   .expires_at = claim.ends_at};
}

// Whether the row is right for a job that says that it holds the key.
bool Salvage::fits(const KeyStored& row, const Claim& claim) {
  if (claim.until == KeyUntil::Ttl) return row.expires_at != 0;
  return row.job == claim.job && row.until == claim.until && row.expires_at == 0;
}

Status Salvage::merge_keys(const std::function<Status(const KeyStored&)>& take,
                           Salvaged& account) const {
  auto claim = claims_.begin();
  const auto rebuild = [&] {
    const std::optional<KeyStored> row = rebuilt(claim->first, claim->second);
    account.keys_rebuilt += row.has_value();
    return row ? take(*row) : Status();
  };
  FamilyMerge rows = rows_of(Family::Keys);
  for (auto lowest = rows.lowest(); lowest; lowest = rows.lowest()) {
    const std::string key(*lowest);
    const FamilyMerge::Key found = rows.take(key);
    if (!found.trace.is_put()) continue;
    for (; claim != claims_.end() && claim->first < key; ++claim) {
      if (Status taken = rebuild(); !taken.ok()) return taken;
    }
    const Result<KeyStored> row = decode_key(key, found.value);
    if (row.ok()) id_max_ = std::max(id_max_, row->job);
    const bool is_claimed = claim != claims_.end() && claim->first == key;
    Status taken;
    if (row.ok() && (is_claimed ? fits(*row, claim->second) : row->expires_at != 0)) {
      taken = take(*row);
    } else {
      account.keys_dropped += found.trace.is_of_copy ? 0 : 1;
      if (is_claimed) taken = rebuild();
    }
    if (is_claimed) ++claim;
    if (!taken.ok()) return taken;
  }
  if (!rows.status().ok()) return rows.status();
  for (; claim != claims_.end(); ++claim) {
    if (Status taken = rebuild(); !taken.ok()) return taken;
  }
  return {};
}

Status Salvage::each_key(const std::function<Status(const KeyStored&)>& take) const {
  Salvaged ignored;
  return merge_keys(take, ignored);
}

}  // namespace perennial::store
