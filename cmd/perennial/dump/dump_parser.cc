#include "cmd/perennial/dump/dump_parser.h"

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/dump/dump_object.h"
#include "cmd/perennial/output/text.h"
#include "wire/command_line.h"

namespace perennial::tool {
namespace {

using nlohmann::json;

Status wrong(std::string message) {
  return {StatusCode::Corruption, std::move(message)};
}

Status parse_jobs(const json& value, DumpHeader& header) {
  DumpObject jobs(value, "jobs", {"ready", "reserved", "delayed", "buried"});
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
    DumpObject fields(value, "a pause", {"tube", "duration", "end"});
    DumpPause pause;
    pause.tube = fields.text("tube");
    pause.duration = fields.nanos("duration");
    pause.end = fields.nanos("end");
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

TubeSettings parse_settings(DumpObject& fields) {
  TubeSettings settings;
  if (fields.has("tries")) settings.tries = fields.small("tries");
  if (fields.has("backoff") || fields.has("backoff_cap")) {
    settings.backoff = {.first = fields.nanos("backoff"), .cap = fields.nanos("backoff_cap")};
  }
  if (fields.has("dead")) settings.dead = fields.text("dead");
  if (fields.has("expire")) settings.expire = fields.nanos("expire");
  if (fields.has("reserved")) settings.reserved = fields.small("reserved");
  if (fields.has("rate") || fields.has("rate_period")) {
    settings.rate = {.jobs = fields.small("rate"), .period = fields.nanos("rate_period")};
  }
  if (fields.has("drain")) settings.drain = fields.flag("drain");
  if (fields.has("keep")) settings.keep = fields.nanos("keep");
  if (fields.has("keep_max")) settings.keep_max = fields.small("keep_max");
  return settings;
}

Status parse_settings(const json& list, DumpHeader& header) {
  for (const json& value : list) {
    DumpObject fields(value, "settings",
                      {"tube", "tries", "backoff", "backoff_cap", "dead", "expire", "reserved",
                       "rate", "rate_period", "drain", "keep", "keep_max"});
    SettingsStored stored = {.tube = fields.text("tube"), .settings = parse_settings(fields)};
    if (!fields.status().ok()) return fields.status();
    const std::string_view problem = store::problem(stored);
    if (!problem.empty()) return wrong(fmt::format("settings: {}", problem));
    const std::optional<std::string>& dead = stored.settings.dead;
    if (!wire::is_tube_name(stored.tube) || (dead && !wire::is_tube_name(*dead))) {
      return wrong("settings name what is no name of a tube");
    }
    if (!header.settings.empty() && header.settings.back().tube >= stored.tube) {
      return wrong("settings are not sorted, or a tube has them twice");
    }
    header.settings.push_back(std::move(stored));
  }
  return {};
}

Status parse_commit(const json& value, DumpHeader& header) {
  DumpObject commit(value, "commit", {"epoch", "index", "known_durable", "now"});
  header.commit = {.epoch = commit.number("epoch"),
                   .index = commit.number("index"),
                   .known_durable = commit.number("known_durable"),
                   .now = commit.nanos("now")};
  if (!commit.status().ok()) return commit.status();
  const std::string_view problem = store::problem(header.commit);
  return problem.empty() ? Status() : wrong(fmt::format("commit: {}", problem));
}

Status parse_selection(const json& value, DumpSelection& selection) {
  DumpObject fields(value, "selection", {"tube", "state", "id", "limit", "no_body"});
  if (fields.has("tube")) selection.tube = fields.text("tube");
  if (fields.has("state")) selection.state = state_of(fields.text("state"));
  if (fields.has("id")) selection.id = fields.number("id");
  if (fields.has("limit")) selection.limit = fields.number("limit");
  selection.no_body = fields.has("no_body");
  return fields.status();
}

}  // namespace

Result<DumpHeader> parse_header(std::string_view line) {
  const json value = json::parse(line, nullptr, false);
  if (!value.is_object() || value.value("format", json()) != dump_format_name) {
    return wrong("it is not the first line of a dump");
  }
  const json version = value.value("version", json());
  const bool is_known =
      version.is_number_unsigned() && version >= dump_version_min && version <= dump_version;
  if (!is_known) {
    return Status(StatusCode::Unsupported,
                  fmt::format("the dump is of version {}, and this program reads {} to {}",
                              version.dump(), dump_version_min, dump_version));
  }
  DumpHeader header;
  header.version = version;
  constexpr std::array<std::string_view, 9> names = {
      "format", "version", "jobs", "tubes", "pauses", "next_id", "commit", "selection", "settings"};
  const size_t known = header.version == 1 ? names.size() - 1 : names.size();
  DumpObject fields(value, "the first line", std::span(names).first(known));
  header.next_id = fields.number("next_id");
  const json& jobs = fields.at("jobs");
  const json& tubes = fields.list("tubes");
  const json& pauses = fields.list("pauses");
  static const json none = json::array();
  const json& settings = header.version == 1 ? none : fields.list("settings");
  const json& commit = fields.at("commit");
  if (!fields.status().ok()) return fields.status();
  if (header.next_id == 0) return wrong("next_id is 0");
  if (header.next_id > foreign_id_max) return wrong("next_id is above 2^63");
  if (Status parsed = parse_jobs(jobs, header); !parsed.ok()) return parsed;
  if (Status parsed = parse_tubes(tubes, header); !parsed.ok()) return parsed;
  if (Status parsed = parse_pauses(pauses, header); !parsed.ok()) return parsed;
  if (Status parsed = parse_settings(settings, header); !parsed.ok()) return parsed;
  if (Status parsed = parse_commit(commit, header); !parsed.ok()) return parsed;
  if (!fields.has("selection")) return header;
  Status parsed = parse_selection(fields.at("selection"), header.selection);
  if (!parsed.ok()) return parsed;
  return header;
}

bool is_footer(std::string_view line) {
  return line.starts_with("{\"jobs\":");
}

bool is_note(std::string_view line) {
  return line.starts_with("{\"note\":");
}

bool is_schedule(std::string_view line) {
  return line.starts_with("{\"schedule\":");
}

bool is_key(std::string_view line) {
  return line.starts_with("{\"idp\":");
}

Result<DumpFooter> parse_footer(std::string_view line, uint64_t version) {
  const json value = json::parse(line, nullptr, false);
  if (value.is_discarded()) return wrong("it is not whole, or not JSON");
  constexpr std::array<std::string_view, 6> names = {"jobs", "body_bytes", "xxh3_128",
                                                     "keys", "notes",      "schedules"};
  const bool has_notes = version > dump_version_of_1_0;
  const bool has_schedules = version >= dump_version_with_schedules;
  DumpObject fields(value, "the last line",
                    std::span(names).first(version == 1    ? 3
                                           : has_schedules ? 6
                                           : has_notes     ? 5
                                                           : 4));
  DumpFooter footer;
  footer.jobs = fields.number("jobs");
  if (version > 1) footer.keys = fields.number("keys");
  if (has_notes) footer.notes = fields.number("notes");
  if (has_schedules) footer.schedules = fields.number("schedules");
  footer.body_bytes = fields.number("body_bytes");
  footer.hash = fields.text("xxh3_128");
  if (!fields.status().ok()) return fields.status();
  return footer;
}

Result<NoteStored> parse_note(std::string_view line) {
  const json value = json::parse(line, nullptr, false);
  if (value.is_discarded()) return wrong("it is not whole, or not JSON");
  DumpObject fields(value, "a note",
                    {"note", "job", "attempt", "time", "user", "text", "text_base64"});
  NoteStored stored = {.job = fields.number("job"),
                       .note = {.number = fields.small("note"),
                                .attempt = fields.small("attempt"),
                                .time = fields.nanos("time")}};
  if (fields.has("user")) stored.note.user = fields.text("user");
  const bool is_base64 = fields.has("text_base64");
  if (is_base64 && fields.has("text")) return wrong("a note has two texts");
  stored.note.text = fields.text(is_base64 ? "text_base64" : "text");
  if (!fields.status().ok()) return fields.status();
  if (is_base64 && !from_base64(std::string(stored.note.text), stored.note.text))
    return wrong("text_base64 of a note is not base64");
  const std::string_view problem = store::problem(stored);
  return problem.empty() ? Result<NoteStored>(std::move(stored))
                         : wrong(fmt::format("a note: {}", problem));
}

Result<KeyStored> parse_key(std::string_view line) {
  const json value = json::parse(line, nullptr, false);
  if (value.is_discarded()) return wrong("it is not whole, or not JSON");
  DumpObject fields(value, "the key", {"idp", "tube", "job", "until", "expires"});
  KeyStored key = {.tube = fields.text("tube"),
                   .key = fields.text("idp"),
                   .job = fields.number("job"),
                   .until = {},
                   .expires_at = fields.has("expires") ? fields.nanos("expires") : 0};
  const std::string until = fields.text("until");
  if (!fields.status().ok()) return fields.status();
  if (fields.has("expires") && key.expires_at == 0) return wrong("expires of the key is 0");
  const std::optional<KeyUntil> known = until_of(until);
  if (!known) return wrong(fmt::format("a key is not held until {}", until));
  key.until = *known;
  const std::string_view problem = store::problem(key);
  if (!problem.empty()) return wrong(std::string(problem));
  if (!wire::is_tube_name(key.tube)) return wrong("the key's tube is no name of a tube");
  if (!wire::is_tube_name(key.key)) return wrong("the key is not one that a job can have");
  return key;
}

}  // namespace perennial::tool
