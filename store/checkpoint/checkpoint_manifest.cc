#include "store/checkpoint/checkpoint_manifest.h"

#include <ctime>
#include <limits>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "store/disk/hash.h"
#include "store/disk/identity.h"

namespace perennial::store {
namespace {

using nlohmann::ordered_json;

// The version of the manifest. A change that an older program would misread raises it.
constexpr uint64_t manifest_version = 1;

std::string text_of(const ordered_json& json) {
  // Names of tubes are arbitrary bytes, but JSON requires UTF-8, so invalid bytes are replaced.
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

// The last lines of the file.
std::string tail_after(std::string_view head) {
  Hasher hasher;
  hasher.add(head);
  return fmt::format("  \"hash\": \"{}\"\n}}\n", hasher.hex());
}

template <typename Json>
void add_counts(Json& json, const StateCounts& jobs) {
  json["ready"] = jobs.ready;
  json["reserved"] = jobs.reserved;
  json["delayed"] = jobs.delayed;
  json["buried"] = jobs.buried;
}

ordered_json tubes_json(const CheckpointManifest& manifest) {
  ordered_json tubes = ordered_json::array();
  for (const CheckpointTube& tube : manifest.tubes) {
    ordered_json one = {{"name", tube.name}};
    add_counts(one, tube.jobs);
    one["body_bytes"] = tube.body_bytes;
    tubes.push_back(std::move(one));
  }
  return tubes;
}

ordered_json files_json(const CheckpointManifest& manifest) {
  ordered_json files = ordered_json::array();
  for (const CheckpointFile& file : manifest.files) {
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"hash", file.hash}});
  }
  return files;
}

std::string date(Nanos time) {
  const std::time_t seconds = time / nanos_per_second;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(seconds));
}

// Reads values from a JSON object, and records the first that is missing or of the wrong type.
class Fields {
 public:
  explicit Fields(const ordered_json& json) : json_(json) {
    if (!json.is_object()) problem_ = "it is no object";
  }

  template <typename Number>
  Number number(const char* key) {
    const ordered_json& value = find(key);
    if (value.is_number_unsigned()) {
      const auto whole = value.get<uint64_t>();
      if (whole <= static_cast<uint64_t>(std::numeric_limits<Number>::max())) {
        return static_cast<Number>(whole);
      }
    }
    fail(key);
    return 0;
  }
  // Returns 0 if the key is missing.
  uint64_t number_or_zero(const char* key) {
    return json_.is_object() && json_.contains(key) ? number<uint64_t>(key) : 0;
  }
  std::string text(const char* key) {
    const ordered_json& value = find(key);
    if (value.is_string()) return value.get<std::string>();
    fail(key);
    return {};
  }
  // Returns an empty string if the key is missing, because older programs did not write it.
  std::string text_or_empty(const char* key) {
    return json_.is_object() && json_.contains(key) ? text(key) : std::string();
  }
  const ordered_json& object(const char* key) {
    const ordered_json& value = find(key);
    if (!value.is_object()) fail(key);
    return value;
  }
  const ordered_json& array(const char* key) {
    const ordered_json& value = find(key);
    if (!value.is_array()) fail(key);
    return value;
  }
  const std::string& problem() const { return problem_; }
  // Takes over the problem of a nested object.
  void take_problem(const Fields& part) {
    if (problem_.empty()) problem_ = part.problem_;
  }

 private:
  const ordered_json& find(const char* key) const {
    static const ordered_json none;
    if (!json_.is_object()) return none;
    const auto found = json_.find(key);
    return found == json_.end() ? none : *found;
  }
  void fail(const char* key) {
    if (problem_.empty()) problem_ = fmt::format("\"{}\" is missing or of the wrong kind", key);
  }

  const ordered_json& json_;
  std::string problem_;
};

StateCounts counts(Fields& fields) {
  StateCounts out;
  out.ready = fields.number<uint64_t>("ready");
  out.reserved = fields.number<uint64_t>("reserved");
  out.delayed = fields.number<uint64_t>("delayed");
  out.buried = fields.number<uint64_t>("buried");
  return out;
}

void read_commit(Fields& fields, CheckpointManifest& out) {
  Fields commit(fields.object("commit"));
  out.commit = {.epoch = commit.number<uint64_t>("epoch"),
                .index = commit.number<BatchIndex>("index"),
                .known_durable = commit.number<BatchIndex>("known_durable"),
                .now = commit.number<Nanos>("now")};
  fields.take_problem(commit);
}

void read_jobs(Fields& fields, CheckpointManifest& out) {
  read_commit(fields, out);
  out.next_id = fields.number<JobId>("next_id");
  Fields jobs(fields.object("jobs"));
  out.jobs = counts(jobs);
  fields.take_problem(jobs);
  for (const ordered_json& json : fields.array("tubes")) {
    Fields tube(json);
    CheckpointTube read = {.name = tube.text("name"), .jobs = counts(tube)};
    read.body_bytes = tube.number<uint64_t>("body_bytes");
    fields.take_problem(tube);
    out.tubes.push_back(std::move(read));
  }
}

void read_files(Fields& fields, CheckpointManifest& out) {
  for (const ordered_json& json : fields.array("files")) {
    Fields file(json);
    out.files.push_back({.name = file.text("name"),
                         .bytes = file.number<uint64_t>("bytes"),
                         .hash = file.text("hash")});
    fields.take_problem(file);
  }
}

Status damaged_manifest(std::string_view what) {
  return {StatusCode::Corruption, fmt::format("manifest.json is damaged: {}", what)};
}

// The tail has a fixed length, so comparing it also finds a hash of the wrong length.
Status check_hash(std::string_view text) {
  const size_t tail_bytes = tail_after("").size();
  if (text.size() < tail_bytes) return damaged_manifest("it is cut off");
  const size_t head_bytes = text.size() - tail_bytes;
  if (text.substr(head_bytes) == tail_after(text.substr(0, head_bytes))) return {};
  return damaged_manifest("its content does not match the hash at its end");
}

}  // namespace

std::string render(const CheckpointManifest& manifest) {
  ordered_json json = {{"manifest", manifest_version},
                       {"name", manifest.name},
                       {"created", date(manifest.created)},
                       {"created_ns", manifest.created},
                       {"server_version", manifest.server_version},
                       {"format", manifest.format},
                       {"has_counts", manifest.has_counts ? 1 : 0}};
  if (!manifest.database.empty()) json["database"] = manifest.database;
  if (manifest.has_counts) {
    json["commit"] = {{"epoch", manifest.commit.epoch},
                      {"index", manifest.commit.index},
                      {"known_durable", manifest.commit.known_durable},
                      {"now", manifest.commit.now}};
    json["next_id"] = manifest.next_id;
    json["jobs"] = ordered_json::object();
    add_counts(json["jobs"], manifest.jobs);
    json["tubes"] = tubes_json(manifest);
  } else if (manifest.commit.index != 0) {
    json["index"] = manifest.commit.index;
  }
  json["files"] = files_json(manifest);
  std::string head = text_of(json);
  head.resize(head.size() - std::string_view("\n}").size());
  head += ",\n";
  return head + tail_after(head);
}

Result<CheckpointManifest> parse_manifest(std::string_view text) {
  if (Status same = check_hash(text); !same.ok()) return same;
  const ordered_json json = ordered_json::parse(text, nullptr, false);
  if (json.is_discarded()) return damaged_manifest("it is no JSON");
  Fields fields(json);
  const auto version = fields.number<uint64_t>("manifest");
  if (fields.problem().empty() && version > manifest_version) {
    return Status(StatusCode::Unsupported,
                  fmt::format("a newer program made it: its manifest has version {}, and this one "
                              "reads up to {}",
                              version, manifest_version));
  }
  CheckpointManifest out = {.name = fields.text("name"),
                            .created = fields.number<Nanos>("created_ns"),
                            .server_version = fields.text("server_version"),
                            .format = fields.number<uint32_t>("format")};
  out.database = fields.text_or_empty("database");
  if (!out.database.empty() && !is_identity(out.database)) {
    return damaged_manifest("\"database\" is no identity");
  }
  out.has_counts = fields.number<uint8_t>("has_counts") != 0;
  if (out.has_counts) {
    read_jobs(fields, out);
  } else {
    out.commit.index = fields.number_or_zero("index");
  }
  read_files(fields, out);
  if (!fields.problem().empty()) return damaged_manifest(fields.problem());
  return out;
}

}  // namespace perennial::store
