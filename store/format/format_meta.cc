#include <algorithm>
#include <string>

#include "engine/types/check.h"
#include "store/format/bytes.h"
#include "store/format/format.h"

// The records of the family meta.
namespace perennial::store {
namespace {

std::string_view next_id_problem(JobId next_id) {
  return next_id == 0 ? "next id is 0" : "";
}

std::string_view cluster_id_problem(std::string_view id) {
  constexpr size_t bytes_max = 64;
  if (id.empty()) return "cluster without an id";
  if (id.size() > bytes_max) return "the cluster's id is too long";
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; };
  return std::ranges::any_of(id, is_control) ? "the cluster's id has control characters" : "";
}

Status damaged_meta(std::string_view key, std::string_view what) {
  return damaged(Family::Meta, key, what);
}

}  // namespace

std::string_view problem(const CommitRow& row) {
  if (row.known_durable > row.index) return "known durable beyond the last batch";
  if (row.now < 0) return "time before the epoch";
  return {};
}

std::string_view tube_name_problem(std::string_view name) {
  if (name.empty()) return "tube without a name";
  return name.size() > tube_name_bytes_max ? "tube name too long" : "";
}

std::string_view problem(const TubeStored& tube) {
  return tube_name_problem(tube.name);
}

std::string_view problem(const TubePaused& pause) {
  if (pause.pause < 0) return "negative pause";
  if (pause.until < 0) return "pause ends before the epoch";
  return {};
}

Bytes<1> meta_key(MetaTag tag) {
  return {static_cast<char>(tag)};
}

Bytes<5> tube_key(MetaTag tag, TubeId tube) {
  Bytes<5> key = {static_cast<char>(tag)};
  put_big_endian(key.data() + 1, tube);
  return key;
}

Result<TubeId> decode_tube_key(std::string_view key) {
  if (key.size() != 1 + sizeof(TubeId)) return damaged_meta(key, "key of the wrong length");
  return get_big_endian<TubeId>(key.substr(1));
}

Bytes<8> encode_format_version(uint32_t version) {
  Bytes<8> value = {};
  put(value.data(), row_format);
  put(value.data() + 4, version);
  return value;
}

Result<uint32_t> decode_format_version(std::string_view value) {
  const std::string_view wrong = shape_problem(value, 8, 4);
  if (!wrong.empty()) return damaged_meta(view(meta_key(MetaTag::FormatVersion)), wrong);
  return get<uint32_t>(value, 4);
}

Bytes<40> encode(const CommitRow& row) {
  CHECK(problem(row).empty());
  Bytes<40> value = {};
  put(value.data(), row_format);
  put(value.data() + 8, row.epoch);
  put(value.data() + 16, row.index);
  put(value.data() + 24, row.known_durable);
  put(value.data() + 32, row.now);
  return value;
}

Result<CommitRow> decode_commit(std::string_view value) {
  const Bytes<1> key = meta_key(MetaTag::Commit);
  std::string_view wrong = shape_problem(value, 40, 8);
  if (!wrong.empty()) return damaged_meta(view(key), wrong);
  const CommitRow row = {.epoch = get<uint64_t>(value, 8),
                         .index = get<BatchIndex>(value, 16),
                         .known_durable = get<BatchIndex>(value, 24),
                         .now = get<Nanos>(value, 32)};
  wrong = problem(row);
  if (!wrong.empty()) return damaged_meta(view(key), wrong);
  return row;
}

Bytes<16> encode_next_id(JobId next_id) {
  CHECK(next_id_problem(next_id).empty());
  Bytes<16> value = {};
  put(value.data(), row_format);
  put(value.data() + 8, next_id);
  return value;
}

Result<JobId> decode_next_id(std::string_view value) {
  const Bytes<1> key = meta_key(MetaTag::NextId);
  std::string_view wrong = shape_problem(value, 16, 8);
  if (!wrong.empty()) return damaged_meta(view(key), wrong);
  const JobId next_id = get<JobId>(value, 8);
  wrong = next_id_problem(next_id);
  if (!wrong.empty()) return damaged_meta(view(key), wrong);
  return next_id;
}

std::string encode_cluster_id(std::string_view id) {
  CHECK(cluster_id_problem(id).empty());
  return static_cast<char>(row_format) + std::string(id);
}

Result<std::string> decode_cluster_id(std::string_view value) {
  const Bytes<1> key = meta_key(MetaTag::Cluster);
  std::string_view wrong = shape_problem(value, value.size(), 1);
  if (!wrong.empty()) return damaged_meta(view(key), wrong);
  std::string id(value.substr(1));
  wrong = cluster_id_problem(id);
  if (!wrong.empty()) return damaged_meta(view(key), wrong);
  return id;
}

std::string encode(const MigrationRow& row) {
  CHECK(row.to > 0);
  Bytes<8> value = {};
  put(value.data(), row_format);
  put(value.data() + 4, row.to);
  return std::string(view(value)) + row.progress;
}

Result<MigrationRow> decode_migration(std::string_view value) {
  const std::string_view head = value.substr(0, 8);
  std::string_view wrong = shape_problem(head, 8, 4);
  if (wrong.empty() && get<uint32_t>(head, 4) == 0) wrong = "it leads to no format";
  if (!wrong.empty()) return damaged_meta(view(meta_key(MetaTag::Migration)), wrong);
  return MigrationRow{.to = get<uint32_t>(head, 4), .progress = std::string(value.substr(8))};
}

std::string encode(const TubeStored& tube) {
  CHECK(problem(tube).empty());
  return static_cast<char>(row_format) + tube.name;
}

Result<TubeStored> decode_tube(std::string_view key, std::string_view value) {
  Result<TubeId> tube = decode_tube_key(key);
  if (!tube.ok()) return tube.take_status();
  std::string_view wrong = shape_problem(value, value.size(), 1);
  if (!wrong.empty()) return damaged_meta(key, wrong);
  TubeStored stored = {.tube = *tube, .name = std::string(value.substr(1))};
  wrong = problem(stored);
  if (!wrong.empty()) return damaged_meta(key, wrong);
  return stored;
}

Bytes<24> encode(const TubePaused& pause) {
  CHECK(problem(pause).empty());
  Bytes<24> value = {};
  put(value.data(), row_format);
  put(value.data() + 8, pause.pause);
  put(value.data() + 16, pause.until);
  return value;
}

Result<TubePaused> decode_pause(std::string_view key, std::string_view value) {
  Result<TubeId> tube = decode_tube_key(key);
  if (!tube.ok()) return tube.take_status();
  std::string_view wrong = shape_problem(value, 24, 8);
  if (!wrong.empty()) return damaged_meta(key, wrong);
  const TubePaused pause = {
      .tube = *tube, .pause = get<Nanos>(value, 8), .until = get<Nanos>(value, 16)};
  wrong = problem(pause);
  if (!wrong.empty()) return damaged_meta(key, wrong);
  return pause;
}

}  // namespace perennial::store
