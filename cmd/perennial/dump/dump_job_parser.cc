#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/dump/dump_parser.h"
#include "cmd/perennial/output/text.h"
#include "store/format/format.h"
#include "wire/command_line.h"

// Parses the line of a job.
namespace perennial::tool {
namespace {

using nlohmann::json;

constexpr uint64_t nanos_max = std::numeric_limits<Nanos>::max();
constexpr uint64_t any = std::numeric_limits<uint64_t>::max();

Status wrong(std::string message) {
  return {StatusCode::Corruption, std::move(message)};
}

// The fields of a job's line. The positions of the names are those of the values.
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
  // Since version 2.
  Attempts,
  Tries,
  BackoffFirst,
  BackoffCap,
  Dead,
  From,
  Expires,
  Idp,
  IdpUntil,
  IdpTtl,
  IdpGivenUp,
  Con,
  ConMax,
  DelayRest,
  TtrRest,
  Notes,
  Restored,
  PutBy,
  FirstReserved,
  // Since version 4.
  ScheduleName,
  SchedulePlanned,
  FieldCount
};
constexpr std::array<std::string_view, FieldCount> field_names = {
    "id",           "tube",           "state",       "pri",       "delay",       "ttr",
    "created",      "deadline",       "bury_order",  "reserves",  "timeouts",    "releases",
    "buries",       "kicks",          "bytes",       "body",      "body_base64", "body_damaged",
    "body_missing", "attempts",       "tries",       "backoff",   "backoff_cap", "dead",
    "from",         "expires",        "idp",         "idp_until", "idp_ttl",     "idp_given_up",
    "con",          "con_max",        "delay_rest",  "ttr_rest",  "notes",       "restored",
    "put_by",       "first_reserved", "by_schedule", "planned"};

// The number of fields that a dump of this version may have.
constexpr size_t field_count(uint64_t version) {
  if (version == 1) return Attempts;
  if (version == dump_version_of_1_0) return Notes;
  return version < dump_version_with_schedules ? ScheduleName : FieldCount;
}

constexpr uint64_t bit(Field field) {
  return uint64_t{1} << field;
}
constexpr uint64_t required_fields = bit(Id) | bit(Tube) | bit(State) | bit(Pri) | bit(Delay) |
                                     bit(Ttr) | bit(Created) | bit(Reserves) | bit(Timeouts) |
                                     bit(Releases) | bit(Buries) | bit(Kicks) | bit(BodyBytes);
constexpr uint64_t text_fields = bit(Tube) | bit(State) | bit(BodyText) | bit(BodyBase64) |
                                 bit(Dead) | bit(From) | bit(Idp) | bit(IdpUntil) | bit(Con) |
                                 bit(PutBy) | bit(ScheduleName);
constexpr uint64_t switch_fields = bit(BodyDamaged) | bit(BodyMissing) | bit(IdpGivenUp);
// Numbers that are there only if they are not 0.
constexpr uint64_t positive_fields = bit(Attempts) | bit(Tries) | bit(Expires) | bit(IdpTtl) |
                                     bit(DelayRest) | bit(TtrRest) | bit(Notes) | bit(Restored) |
                                     bit(FirstReserved);
// A field, and the one without which it is not there.
constexpr std::array<std::pair<Field, Field>, 9> companions = {{{ScheduleName, SchedulePlanned},
                                                                {SchedulePlanned, ScheduleName},
                                                                {BackoffFirst, BackoffCap},
                                                                {BackoffCap, BackoffFirst},
                                                                {Idp, IdpUntil},
                                                                {IdpUntil, Idp},
                                                                {IdpTtl, Idp},
                                                                {IdpGivenUp, Idp},
                                                                {ConMax, Con}}};

constexpr uint64_t highest_of(Field field) {
  if (field == Id || field == BuryOrder || field == Restored) return any;
  if ((bit(field) & (bit(Created) | bit(Deadline) | bit(BackoffFirst) | bit(BackoffCap) |
                     bit(Expires) | bit(FirstReserved) | bit(SchedulePlanned))) != 0) {
    return nanos_max;
  }
  return std::numeric_limits<uint32_t>::max();
}

// Parses a job's line without building a tree. The library determines the names of the methods;
// returning false ends the parse.
class JobLine {
 public:
  explicit JobLine(uint64_t version) : version_(version) {}

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
    if (value == 0 && (positive_fields & bit(field_)) != 0) return refuse("is 0");
    numbers[field_] = value;
    return true;
  }
  bool string(json::string_t& value) {
    if ((text_fields & bit(field_)) == 0) return refuse("is a text");
    text_of(field_) = std::move(value);
    return true;
  }
  bool binary(json::binary_t&) { return refuse("is binary"); }
  bool start_object(size_t) { return depth_++ == 0 || refuse("is an object"); }
  bool end_object() { return true; }
  bool start_array(size_t) { return depth_ == 0 ? fail("it is a list") : refuse("is a list"); }
  bool end_array() { return true; }
  bool key(json::string_t& name) {
    const auto* const found = std::ranges::find(field_names, std::string_view(name));
    field_ = static_cast<Field>(found - field_names.begin());
    if (field_ >= field_count(version_)) return fail(fmt::format("the field {} is unknown", name));
    if (has(field_)) return refuse("is there twice");
    seen |= bit(field_);
    return true;
  }
  bool parse_error(size_t, const std::string&, const json::exception&) {
    return fail("it is not whole, or not JSON");
  }
  // NOLINTEND(readability-identifier-naming)

  bool has(Field field) const { return (seen & bit(field)) != 0; }

  uint64_t seen = 0;
  std::array<uint64_t, FieldCount> numbers = {};
  std::string tube;
  std::string state;
  std::string body;
  std::string dead;
  std::string from;
  std::string idp;
  std::string idp_until;
  std::string con;
  std::string put_by;
  std::string schedule;
  std::string problem;

 private:
  std::string& text_of(Field field) {
    switch (field) {
      case Tube:
        return tube;
      case State:
        return state;
      case Dead:
        return dead;
      case From:
        return from;
      case Idp:
        return idp;
      case IdpUntil:
        return idp_until;
      case Con:
        return con;
      case PutBy:
        return put_by;
      case ScheduleName:
        return schedule;
      default:
        return body;
    }
  }
  bool refuse(std::string_view what) {
    if (depth_ == 0) return fail("it is no object");
    return fail(fmt::format("{} {}", field_names[field_], what));
  }
  bool fail(std::string what) {
    if (problem.empty()) problem = std::move(what);
    return false;
  }

  const uint64_t version_;
  int depth_ = 0;
  Field field_ = Id;
};

uint32_t small(const JobLine& line, Field field) {
  return static_cast<uint32_t>(line.numbers[field]);
}

Status check_fields(const JobLine& line) {
  for (const auto& [field, companion] : companions) {
    if (!line.has(field) || line.has(companion)) continue;
    return wrong(fmt::format("{} is there without {}", field_names[field], field_names[companion]));
  }
  if (line.has(Con) != line.has(ConMax)) return wrong("con is there without con_max");
  const auto is_name = [&](Field field, const std::string& name) {
    return !line.has(field) || wire::is_tube_name(name);
  };
  if (!is_name(Dead, line.dead)) return wrong("dead is no name of a tube");
  if (!is_name(From, line.from)) return wrong("from is no name of a tube");
  if (!is_name(Idp, line.idp)) return wrong("idp is not one that a job can have");
  if (!is_name(ScheduleName, line.schedule)) return wrong("by_schedule is no name of a schedule");
  if (!is_name(Con, line.con)) return wrong("con is not one that a job can have");
  if (!line.has(IdpUntil) || until_of(line.idp_until)) return {};
  return wrong(fmt::format("a key is not held until {}", line.idp_until));
}

JobFields make_fields(const JobLine& line) {
  JobFields fields = {.attempts = small(line, Attempts),
                      .tries = small(line, Tries),
                      .dead = line.dead,
                      .from = line.from,
                      .expires_at = static_cast<Nanos>(line.numbers[Expires]),
                      .delay_rest_ns = small(line, DelayRest),
                      .ttr_rest_ns = small(line, TtrRest),
                      .notes = small(line, Notes),
                      .restored = line.numbers[Restored],
                      .put_by = line.put_by,
                      .first_reserved = static_cast<Nanos>(line.numbers[FirstReserved])};
  if (line.has(BackoffFirst)) {
    fields.backoff = Backoff{.first = static_cast<Nanos>(line.numbers[BackoffFirst]),
                             .cap = static_cast<Nanos>(line.numbers[BackoffCap])};
  }
  if (line.has(Idp)) {
    fields.key = JobKey{.key = line.idp,
                        .seconds = small(line, IdpTtl),
                        .until = *until_of(line.idp_until),
                        .given_up = line.has(IdpGivenUp)};
  }
  if (line.has(ScheduleName)) {
    fields.schedule = ScheduleOrigin{.name = line.schedule,
                                     .planned = static_cast<Nanos>(line.numbers[SchedulePlanned])};
  }
  if (line.has(Con))
    fields.concurrency = ConcurrencyKey{.key = line.con, .jobs_max = small(line, ConMax)};
  return fields;
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
  if (Status fields = check_fields(line); !fields.ok()) return fields;
  JobRow row = {.id = line.numbers[Id],
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
  if (JobFields fields = make_fields(line); fields != JobFields{}) row.fields = std::move(fields);
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

Result<DumpJob> parse_job(std::string_view text, uint64_t version) {
  JobLine line(version);
  if (!json::sax_parse(text, &line)) return wrong(std::move(line.problem));
  if (const uint64_t missing = required_fields & ~line.seen; missing != 0) {
    return wrong(fmt::format("{} is missing", field_names[std::countr_zero(missing)]));
  }
  Result<JobRow> row = make_row(line);
  if (!row.ok()) return row.status();
  DumpJob job;
  job.row = row.take();
  job.tube = std::move(line.tube);
  if (Status body = take_body(line, job); !body.ok()) return body;
  return job;
}

}  // namespace perennial::tool
