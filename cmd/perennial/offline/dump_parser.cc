#include "cmd/perennial/offline/dump_parser.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <initializer_list>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/output/text.h"
#include "wire/command_line.h"

namespace perennial::tool {
namespace {

using nlohmann::json;

constexpr uint64_t nanos_max = std::numeric_limits<Nanos>::max();
constexpr uint64_t any = std::numeric_limits<uint64_t>::max();

Status wrong(std::string message) {
  return {StatusCode::Corruption, std::move(message)};
}

// Takes values out of an object of JSON. The first that is not there, or not what it must be, is
// kept as the status; after it only zeros come.
class Object {
 public:
  Object(const json& object, std::string name, std::initializer_list<std::string_view> fields)
      : object_(object), name_(std::move(name)) {
    if (!object.is_object()) {
      fail(fmt::format("{} is no object", name_));
      return;
    }
    for (const auto& [key, value] : object.items()) {
      if (std::ranges::find(fields, key) == fields.end()) {
        fail(fmt::format("{} has an unknown field {}", name_, key));
      }
    }
  }

  bool has(const char* key) const { return status_.ok() && object_.contains(key); }
  // Null where there is none.
  const json& at(const char* key) {
    static const json none;
    if (!status_.ok()) return none;
    const auto found = object_.find(key);
    if (found != object_.end()) return *found;
    fail(fmt::format("{} has no {}", name_, key));
    return none;
  }
  uint64_t number(const char* key, uint64_t highest = any) {
    const json& value = at(key);
    if (!status_.ok()) return 0;
    if (value.is_number_unsigned() && value.get<uint64_t>() <= highest) return value;
    fail(fmt::format("{} of {} is not a number in its range", key, name_));
    return 0;
  }
  std::string text(const char* key) {
    const json& value = at(key);
    if (status_.ok() && !value.is_string()) fail(fmt::format("{} of {} is no text", key, name_));
    return status_.ok() ? value.get<std::string>() : std::string();
  }
  const json& list(const char* key) {
    static const json none = json::array();
    const json& value = at(key);
    if (status_.ok() && !value.is_array()) fail(fmt::format("{} of {} is no list", key, name_));
    return status_.ok() ? value : none;
  }
  void fail(std::string message) {
    if (status_.ok()) status_ = wrong(std::move(message));
  }
  const Status& status() const { return status_; }

 private:
  const json& object_;
  const std::string name_;
  Status status_;
};

Status parse_jobs(const json& value, DumpHeader& header) {
  Object jobs(value, "jobs", {"ready", "reserved", "delayed", "buried"});
  for (const JobState state : store::job_states) {
    const std::string name(state_name(state));
    header.jobs[static_cast<size_t>(state)] = jobs.number(name.c_str());
  }
  return jobs.status();
}

Status parse_tubes(const json& list, DumpHeader& header) {
  for (const json& value : list) {
    if (!value.is_string() || !wire::is_tube_name(value.get_ref<const std::string&>())) {
      return wrong("tubes holds what is no name of a tube");
    }
    header.tubes.push_back(value);
  }
  if (std::ranges::adjacent_find(header.tubes, std::greater_equal<>()) == header.tubes.end()) {
    return {};
  }
  return wrong("tubes are not sorted, or one is named twice");
}

Status parse_pauses(const json& list, DumpHeader& header) {
  for (const json& value : list) {
    Object fields(value, "a pause", {"tube", "duration", "end"});
    DumpPause pause;
    pause.tube = fields.text("tube");
    pause.duration = static_cast<Nanos>(fields.number("duration", nanos_max));
    pause.end = static_cast<Nanos>(fields.number("end", nanos_max));
    if (!fields.status().ok()) return fields.status();
    if (!std::ranges::binary_search(header.tubes, pause.tube)) {
      return wrong("a pause is of a tube that is not among the tubes");
    }
    if (!header.pauses.empty() && header.pauses.back().tube >= pause.tube) {
      return wrong("pauses are not sorted, or a tube has two");
    }
    header.pauses.push_back(std::move(pause));
  }
  return {};
}

Status parse_commit(const json& value, DumpHeader& header) {
  Object commit(value, "commit", {"epoch", "index", "known_durable", "now"});
  header.commit = {.epoch = commit.number("epoch"),
                   .index = commit.number("index"),
                   .known_durable = commit.number("known_durable"),
                   .now = static_cast<Nanos>(commit.number("now", nanos_max))};
  if (!commit.status().ok()) return commit.status();
  const std::string_view problem = store::problem(header.commit);
  return problem.empty() ? Status() : wrong(fmt::format("commit: {}", problem));
}

Status parse_selection(const json& value, DumpSelection& selection) {
  Object fields(value, "selection", {"tube", "state", "id", "limit", "no_body"});
  if (fields.has("tube")) selection.tube = fields.text("tube");
  if (fields.has("state")) selection.state = state_of(fields.text("state"));
  if (fields.has("id")) selection.id = fields.number("id");
  if (fields.has("limit")) selection.limit = fields.number("limit");
  selection.no_body = fields.has("no_body");
  return fields.status();
}

// What a job's line may hold. The places of the names are those of the values.
enum Field : uint8_t {
  Id,
  Tube,
  State,
  Pri,
  Delay,
  Ttr,
  Created,
  Deadline,
  BuryOrder,
  Reserves,
  Timeouts,
  Releases,
  Buries,
  Kicks,
  BodyBytes,
  BodyText,
  BodyBase64,
  BodyDamaged,
  BodyMissing,
  FieldCount
};
constexpr std::array<std::string_view, FieldCount> field_names = {
    "id",       "tube",       "state",       "pri",          "delay",       "ttr",    "created",
    "deadline", "bury_order", "reserves",    "timeouts",     "releases",    "buries", "kicks",
    "bytes",    "body",       "body_base64", "body_damaged", "body_missing"};

constexpr uint32_t bit(Field field) {
  return uint32_t{1} << field;
}
constexpr uint32_t required_fields = bit(Id) | bit(Tube) | bit(State) | bit(Pri) | bit(Delay) |
                                     bit(Ttr) | bit(Created) | bit(Reserves) | bit(Timeouts) |
                                     bit(Releases) | bit(Buries) | bit(Kicks) | bit(BodyBytes);
constexpr uint32_t text_fields = bit(Tube) | bit(State) | bit(BodyText) | bit(BodyBase64);
constexpr uint32_t switch_fields = bit(BodyDamaged) | bit(BodyMissing);

constexpr uint64_t highest_of(Field field) {
  if (field == Id || field == BuryOrder) return any;
  if (field == Created || field == Deadline) return nanos_max;
  return std::numeric_limits<uint32_t>::max();
}

// Takes a job's line as it is read, without a tree of it. The names are those that the library
// calls; false ends the reading.
class JobLine {
 public:
  // NOLINTBEGIN(readability-identifier-naming)
  bool null() { return refuse("is null"); }
  bool boolean(bool value) {
    if ((switch_fields & bit(field_)) == 0 || !value) return refuse("is not what it must be");
    return true;
  }
  bool number_integer(json::number_integer_t) { return refuse("is negative"); }
  bool number_float(json::number_float_t, const json::string_t&) {
    return refuse("is not a whole number in its range");
  }
  bool number_unsigned(json::number_unsigned_t value) {
    if (((text_fields | switch_fields) & bit(field_)) != 0) return refuse("is a number");
    if (value > highest_of(field_)) return refuse("is out of its range");
    numbers[field_] = value;
    return true;
  }
  bool string(json::string_t& value) {
    if ((text_fields & bit(field_)) == 0) return refuse("is a text");
    (field_ == Tube ? tube : field_ == State ? state : body) = std::move(value);
    return true;
  }
  bool binary(json::binary_t&) { return refuse("is binary"); }
  bool start_object(size_t) { return depth_++ == 0 || refuse("is an object"); }
  bool end_object() { return true; }
  bool start_array(size_t) { return depth_ == 0 ? fail("it is a list") : refuse("is a list"); }
  bool end_array() { return true; }
  bool key(json::string_t& name) {
    const auto* const found = std::ranges::find(field_names, std::string_view(name));
    if (found == field_names.end()) return fail(fmt::format("the field {} is unknown", name));
    field_ = static_cast<Field>(found - field_names.begin());
    if (has(field_)) return refuse("is there twice");
    seen |= bit(field_);
    return true;
  }
  bool parse_error(size_t, const std::string&, const json::exception&) {
    return fail("it is not whole, or not JSON");
  }
  // NOLINTEND(readability-identifier-naming)

  bool has(Field field) const { return (seen & bit(field)) != 0; }

  uint32_t seen = 0;
  std::array<uint64_t, FieldCount> numbers = {};
  std::string tube;
  std::string state;
  std::string body;
  std::string problem;

 private:
  bool refuse(std::string_view what) {
    if (depth_ == 0) return fail("it is no object");
    return fail(fmt::format("{} {}", field_names[field_], what));
  }
  bool fail(std::string what) {
    if (problem.empty()) problem = std::move(what);
    return false;
  }

  int depth_ = 0;
  Field field_ = Id;
};

uint32_t small(const JobLine& line, Field field) {
  return static_cast<uint32_t>(line.numbers[field]);
}

Result<JobRow> make_row(const JobLine& line) {
  const std::optional<JobState> state = state_of(line.state);
  if (!state) return wrong(fmt::format("{} is no state", line.state));
  if (line.has(Deadline) != (*state == JobState::Delayed)) {
    return wrong("a deadline belongs to a delayed job, and to no other");
  }
  if (line.has(BuryOrder) != (*state == JobState::Buried)) {
    return wrong("a bury_order belongs to a buried job, and to no other");
  }
  const JobRow row = {.id = line.numbers[Id],
                      .state = *state,
                      .priority = small(line, Pri),
                      .delay_s = small(line, Delay),
                      .ttr_s = small(line, Ttr),
                      .created = static_cast<Nanos>(line.numbers[Created]),
                      .order = line.numbers[line.has(Deadline) ? Deadline : BuryOrder],
                      .reserves = small(line, Reserves),
                      .timeouts = small(line, Timeouts),
                      .releases = small(line, Releases),
                      .buries = small(line, Buries),
                      .kicks = small(line, Kicks),
                      .body_bytes = small(line, BodyBytes)};
  const std::string_view problem = store::problem(row);
  if (!problem.empty()) return wrong(std::string(problem));
  return row;
}

Status take_body(JobLine& line, DumpJob& job) {
  const int bodies = line.has(BodyText) + line.has(BodyBase64);
  if (line.has(BodyMissing)) {
    job.body_kind = DumpBody::Kind::Missing;
    return bodies == 0 && !line.has(BodyDamaged) ? Status() : wrong("a missing body is there");
  }
  if (bodies != 1) return wrong("it has no body, or two");
  if (line.has(BodyText)) {
    job.body = std::move(line.body);
  } else if (!from_base64(line.body, job.body)) {
    return wrong("body_base64 is not base64");
  }
  if (line.has(BodyDamaged)) {
    job.body_kind = DumpBody::Kind::Damaged;
    return {};
  }
  if (job.body.size() == job.row.body_bytes) return {};
  return wrong(
      fmt::format("its body has {} bytes, and bytes says {}", job.body.size(), job.row.body_bytes));
}

}  // namespace

Result<DumpHeader> parse_header(std::string_view line) {
  const json value = json::parse(line, nullptr, false);
  if (!value.is_object() || value.value("format", json()) != dump_format_name) {
    return wrong("it is not the first line of a dump");
  }
  if (const json version = value.value("version", json()); version != dump_version) {
    return Status(StatusCode::Unsupported,
                  fmt::format("the dump is of version {}, and this program reads {}",
                              version.dump(), dump_version));
  }
  Object fields(value, "the first line",
                {"format", "version", "jobs", "tubes", "pauses", "next_id", "commit", "selection"});
  DumpHeader header;
  header.next_id = fields.number("next_id");
  const json& jobs = fields.at("jobs");
  const json& tubes = fields.list("tubes");
  const json& pauses = fields.list("pauses");
  const json& commit = fields.at("commit");
  if (!fields.status().ok()) return fields.status();
  if (header.next_id == 0) return wrong("next_id is 0");
  if (header.next_id > foreign_id_max) return wrong("next_id is above 2^63");
  if (Status parsed = parse_jobs(jobs, header); !parsed.ok()) return parsed;
  if (Status parsed = parse_tubes(tubes, header); !parsed.ok()) return parsed;
  if (Status parsed = parse_pauses(pauses, header); !parsed.ok()) return parsed;
  if (Status parsed = parse_commit(commit, header); !parsed.ok()) return parsed;
  if (!fields.has("selection")) return header;
  Status parsed = parse_selection(fields.at("selection"), header.selection);
  if (!parsed.ok()) return parsed;
  return header;
}

bool is_footer(std::string_view line) {
  return line.starts_with("{\"jobs\":");
}

Result<DumpFooter> parse_footer(std::string_view line) {
  const json value = json::parse(line, nullptr, false);
  if (value.is_discarded()) return wrong("it is not whole, or not JSON");
  Object fields(value, "the last line", {"jobs", "body_bytes", "xxh3_128"});
  DumpFooter footer;
  footer.jobs = fields.number("jobs");
  footer.body_bytes = fields.number("body_bytes");
  footer.hash = fields.text("xxh3_128");
  if (!fields.status().ok()) return fields.status();
  return footer;
}

Result<DumpJob> parse_job(std::string_view text) {
  JobLine line;
  if (!json::sax_parse(text, &line)) return wrong(std::move(line.problem));
  if (const uint32_t missing = required_fields & ~line.seen; missing != 0) {
    return wrong(fmt::format("{} is missing", field_names[std::countr_zero(missing)]));
  }
  const Result<JobRow> row = make_row(line);
  if (!row.ok()) return row.status();
  DumpJob job;
  job.row = *row;
  job.tube = std::move(line.tube);
  if (Status body = take_body(line, job); !body.ok()) return body;
  return job;
}

}  // namespace perennial::tool
