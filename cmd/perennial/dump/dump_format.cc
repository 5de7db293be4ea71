#include "cmd/perennial/dump/dump_format.h"

#include <array>
#include <numeric>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "cmd/perennial/output/text.h"
#include "engine/types/check.h"

namespace perennial::tool {
namespace {

using nlohmann::ordered_json;

ordered_json jobs_json(const DumpHeader& header) {
  ordered_json out;
  for (const JobState state : store::job_states) {
    out[std::string(state_name(state))] = header.jobs[static_cast<size_t>(state)];
  }
  return out;
}

ordered_json pauses_json(const DumpHeader& header) {
  ordered_json out = ordered_json::array();
  for (const DumpPause& pause : header.pauses) {
    out.push_back({{"tube", pause.tube}, {"duration", pause.duration}, {"end", pause.end}});
  }
  return out;
}

ordered_json settings_json(const SettingsStored& stored) {
  const TubeSettings& settings = stored.settings;
  ordered_json out = {{"tube", stored.tube}};
  if (settings.tries) out["tries"] = *settings.tries;
  if (settings.backoff) {
    out["backoff"] = settings.backoff->first;
    out["backoff_cap"] = settings.backoff->cap;
  }
  if (settings.dead) out["dead"] = *settings.dead;
  if (settings.expire) out["expire"] = *settings.expire;
  if (settings.reserved) out["reserved"] = *settings.reserved;
  if (settings.rate) {
    out["rate"] = settings.rate->jobs;
    out["rate_period"] = settings.rate->period;
  }
  if (settings.drain) out["drain"] = *settings.drain;
  if (settings.keep) out["keep"] = *settings.keep;
  if (settings.keep_max) out["keep_max"] = *settings.keep_max;
  return out;
}

ordered_json settings_json(const DumpHeader& header) {
  ordered_json out = ordered_json::array();
  for (const SettingsStored& stored : header.settings) out.push_back(settings_json(stored));
  return out;
}

ordered_json commit_json(const store::CommitRow& commit) {
  return {{"epoch", commit.epoch},
          {"index", commit.index},
          {"known_durable", commit.known_durable},
          {"now", commit.now}};
}

ordered_json selection_json(const DumpSelection& selection) {
  ordered_json out;
  if (!selection.tube.empty()) out["tube"] = selection.tube;
  if (selection.state) out["state"] = state_name(*selection.state);
  if (selection.id) out["id"] = *selection.id;
  if (selection.limit) out["limit"] = *selection.limit;
  if (selection.no_body) out["no_body"] = true;
  return out;
}

}  // namespace

std::optional<JobState> state_of(std::string_view name) {
  for (const JobState state : store::job_states) {
    if (state_name(state) == name) return state;
  }
  return std::nullopt;
}

namespace {

constexpr std::array<std::pair<ScheduleOverlap, std::string_view>, 3> overlap_names = {
    {{ScheduleOverlap::Allow, "allow"},
     {ScheduleOverlap::Skip, "skip"},
     {ScheduleOverlap::Replace, "replace"}}};
constexpr std::array<std::pair<ScheduleState, std::string_view>, 3> schedule_state_names = {
    {{ScheduleState::Active, "active"},
     {ScheduleState::Over, "over"},
     {ScheduleState::NoZone, "no_zone"}}};

template <typename Names, typename Value>
std::string_view name_in(const Names& names, Value value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  CHECK(!"a value outside the enumeration");
  return {};
}
template <typename Value, size_t count>
std::optional<Value> value_in(const std::array<std::pair<Value, std::string_view>, count>& names,
                              std::string_view wanted) {
  for (const auto& [value, name] : names) {
    if (name == wanted) return value;
  }
  return std::nullopt;
}

}  // namespace

std::string_view overlap_name(ScheduleOverlap overlap) {
  return name_in(overlap_names, overlap);
}
std::optional<ScheduleOverlap> overlap_of(std::string_view name) {
  return value_in(overlap_names, name);
}
std::string_view schedule_state_name(ScheduleState state) {
  return name_in(schedule_state_names, state);
}
std::optional<ScheduleState> schedule_state_of(std::string_view name) {
  return value_in(schedule_state_names, name);
}

std::string_view until_name(KeyUntil until) {
  switch (until) {
    case KeyUntil::Deleted:
      return "deleted";
    case KeyUntil::Reserved:
      return "reserved";
    case KeyUntil::Ttl:
      return "ttl";
  }
  CHECK(!"a time outside the enumeration");
  return {};
}

std::optional<KeyUntil> until_of(std::string_view name) {
  for (const KeyUntil until : {KeyUntil::Deleted, KeyUntil::Reserved, KeyUntil::Ttl}) {
    if (until_name(until) == name) return until;
  }
  return std::nullopt;
}

uint64_t DumpHeader::job_count() const {
  return std::accumulate(jobs.begin(), jobs.end(), uint64_t{0});
}

void DumpWriter::header(const DumpHeader& header) {
  begin();
  text("format", dump_format_name);
  version_ = header.version;
  number("version", version_);
  json("jobs", jobs_json(header).dump());
  json("tubes", ordered_json(header.tubes).dump());
  json("pauses", pauses_json(header).dump());
  json("settings", settings_json(header).dump());
  number("next_id", header.next_id);
  json("commit", commit_json(header.commit).dump());
  if (!header.selection.is_everything()) json("selection", selection_json(header.selection).dump());
  end();
}

void DumpWriter::schedule(const ScheduleStored& stored, std::string_view body_of_it) {
  const Schedule& schedule = *stored.schedule;
  begin();
  text("schedule", schedule.name);
  text("tube", schedule.tube);
  when(schedule.when);
  number("pri", schedule.put.priority);
  number("delay", schedule.put.delay_s);
  number("ttr", schedule.put.ttr_s);
  if (schedule.put.options) options(*schedule.put.options);
  number("missed_max", schedule.missed_max);
  text("overlap", overlap_name(schedule.overlap));
  number("jitter", static_cast<uint64_t>(schedule.jitter));
  progress(stored.progress);
  number("bytes", body_of_it.size());
  body({.kind = DumpBody::Kind::Whole, .bytes = body_of_it});
  end();
  ++schedules_;
}

void DumpWriter::when(const ScheduleWhen& when) {
  if (const auto* const every = std::get_if<ScheduleEvery>(&when)) {
    number("every", static_cast<uint64_t>(every->period));
    number("anchor", static_cast<uint64_t>(every->anchor.value_or(0)));
  } else if (const auto* const cron = std::get_if<ScheduleCron>(&when)) {
    text("cron", cron->expression);
    text("zone", cron->zone);
  } else {
    number("at", static_cast<uint64_t>(std::get<ScheduleAt>(when).time));
  }
}

void DumpWriter::options(const PutOptions& options) {
  if (options.tries) number("tries", options.tries->value);
  if (options.backoff) {
    number("backoff", static_cast<uint64_t>(options.backoff->first));
    number("backoff_cap", static_cast<uint64_t>(options.backoff->cap));
  }
  text_if_set("dead", options.dead);
  number_if_set("expire", static_cast<uint64_t>(options.expire.nanos));
  if (options.key) {
    text("idp", options.key->key);
    number_if_set("idp_ttl", options.key->seconds);
    if (options.until) text("idp_until", until_name(*options.until));
  }
  if (options.concurrency) {
    text("con", options.concurrency->key);
    number("con_max", options.concurrency->jobs_max);
  }
  number_if_set("delay_rest", options.delay_rest_ns);
  number_if_set("ttr_rest", options.ttr_rest_ns);
}

void DumpWriter::progress(const ScheduleProgress& progress) {
  text("state", schedule_state_name(progress.state));
  if (progress.planned) number("planned", static_cast<uint64_t>(*progress.planned));
  flag("paused", progress.is_paused);
  number("last_planned", static_cast<uint64_t>(progress.last_planned));
  number("last_fired", static_cast<uint64_t>(progress.last_fired));
  number("last_job", progress.last_job);
  number("fired", progress.fired);
  number("skipped", progress.skipped);
  number("missed", progress.missed);
}

void DumpWriter::job(const JobRow& row, std::string_view tube, const DumpBody& body_of_it) {
  begin();
  number("id", row.id);
  text("tube", tube);
  text("state", state_name(row.state));
  number("pri", row.priority);
  number("delay", row.delay_s);
  number("ttr", row.ttr_s);
  number("created", static_cast<uint64_t>(row.created));
  if (row.state == JobState::Delayed) number("deadline", row.order);
  if (row.state == JobState::Buried) number("bury_order", row.order);
  number("reserves", row.reserves);
  number("timeouts", row.timeouts);
  number("releases", row.releases);
  number("buries", row.buries);
  number("kicks", row.kicks);
  if (row.fields) fields(*row.fields);
  number("bytes", row.body_bytes);
  body(body_of_it);
  end();
  ++jobs_;
  body_bytes_ += row.body_bytes;
}

// A field that is not set is left out.
void DumpWriter::fields(const JobFields& fields) {
  number_if_set("attempts", fields.attempts);
  number_if_set("tries", fields.tries);
  if (fields.backoff) {
    number("backoff", static_cast<uint64_t>(fields.backoff->first));
    number("backoff_cap", static_cast<uint64_t>(fields.backoff->cap));
  }
  text_if_set("dead", fields.dead.str());
  text_if_set("from", fields.from.str());
  number_if_set("expires", static_cast<uint64_t>(fields.expires_at));
  if (fields.key) {
    text("idp", fields.key->key);
    text("idp_until", until_name(fields.key->until));
    number_if_set("idp_ttl", fields.key->seconds);
    if (fields.key->given_up) flag("idp_given_up");
  }
  if (fields.concurrency) {
    text("con", fields.concurrency->key);
    number("con_max", fields.concurrency->jobs_max);
  }
  number_if_set("delay_rest", fields.delay_rest_ns);
  number_if_set("ttr_rest", fields.ttr_rest_ns);
  number_if_set("notes", fields.notes);
  number_if_set("restored", fields.restored);
  if (!fields.put_by.empty()) text("put_by", fields.put_by.str());
  number_if_set("first_reserved", static_cast<uint64_t>(fields.first_reserved));
  if (fields.schedule) {
    text("by_schedule", fields.schedule->name);
    number("planned", static_cast<uint64_t>(fields.schedule->planned));
  }
}

void DumpWriter::note(JobId job, const Note& note) {
  begin();
  number("note", note.number);
  number("job", job);
  number("attempt", note.attempt);
  number("time", static_cast<uint64_t>(note.time));
  if (!note.user.empty()) text("user", note.user);
  if (is_utf8(note.text)) {
    text("text", note.text);
  } else {
    begin_field("text_base64");
    add_base64(out_, note.text);
  }
  end();
  ++notes_;
}

void DumpWriter::key(const KeyStored& key) {
  begin();
  text("idp", key.key);
  text("tube", key.tube);
  number("job", key.job);
  text("until", until_name(key.until));
  if (key.expires_at != 0) number("expires", static_cast<uint64_t>(key.expires_at));
  end();
  ++keys_;
}

void DumpWriter::footer() {
  const std::string hash = out_.hash();
  begin();
  number("jobs", jobs_);
  number("keys", keys_);
  if (version_ > dump_version_of_1_0) number("notes", notes_);
  if (version_ >= dump_version_with_schedules) number("schedules", schedules_);
  number("body_bytes", body_bytes_);
  text("xxh3_128", hash);
  end();
}

void DumpWriter::body(const DumpBody& body) {
  if (body.kind == DumpBody::Kind::NotAskedFor) return;
  if (body.kind == DumpBody::Kind::Missing) return flag("body_missing");
  if (body.kind == DumpBody::Kind::Damaged) flag("body_damaged");
  if (is_utf8(body.bytes)) return text("body", body.bytes);
  begin_field("body_base64");
  add_base64(out_, body.bytes);
}

void DumpWriter::begin() {
  out_.add(syntax_ == Syntax::Json ? "{" : "---\n");
  has_field_ = false;
}

void DumpWriter::end() {
  out_.add(syntax_ == Syntax::Json ? "}\n" : "\n");
}

void DumpWriter::begin_field(std::string_view name) {
  if (has_field_) out_.add(syntax_ == Syntax::Json ? "," : "\n");
  has_field_ = true;
  if (syntax_ == Syntax::Json) out_.add("\"");
  out_.add(name);
  out_.add(syntax_ == Syntax::Json ? "\":" : ": ");
}

void DumpWriter::number(std::string_view name, uint64_t value) {
  begin_field(name);
  out_.add_number(value);
}

void DumpWriter::text(std::string_view name, std::string_view value) {
  begin_field(name);
  add_quoted(out_, value);
}

void DumpWriter::number_if_set(std::string_view name, uint64_t value) {
  if (value != 0) number(name, value);
}

void DumpWriter::text_if_set(std::string_view name, std::string_view value) {
  if (!value.empty()) text(name, value);
}

void DumpWriter::flag(std::string_view name, bool value) {
  begin_field(name);
  out_.add(value ? "true" : "false");
}

void DumpWriter::json(std::string_view name, const std::string& value) {
  begin_field(name);
  out_.add(value);
}

}  // namespace perennial::tool
