#include "cmd/perenniald/http/api/ended_view.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "cmd/perenniald/http/api/fields.h"
#include "wire/yaml_text.h"

namespace perennial::http {
namespace {

// Known: null where it is empty.
enum class MemberKind : uint8_t { Id, Text, Known, Number, Word, Flag };

// A member of an ended job: how a line of list-jobs and a fact of peek-ended call it.
struct EndedMember {
  std::string_view name;
  std::string_view listed;  // Empty: a list does not tell it.
  std::string_view fact;    // Empty: peek-ended does not.
  MemberKind kind;
};
constexpr std::array ended_members = {
    EndedMember{"id", "id", "", MemberKind::Id},
    EndedMember{"tube", "tube", "tube", MemberKind::Text},
    EndedMember{"state", "state", "", MemberKind::Word},
    EndedMember{"ended", "ended", "ended", MemberKind::Word},
    EndedMember{"ended_age_seconds", "ended-age", "ended-age", MemberKind::Number},
    EndedMember{"ended_by", "ended-by", "ended-by", MemberKind::Known},
    EndedMember{"priority", "pri", "pri", MemberKind::Number},
    EndedMember{"age_seconds", "age", "age", MemberKind::Number},
    EndedMember{"delay_seconds", "delay", "delay", MemberKind::Number},
    EndedMember{"ttr_seconds", "ttr", "ttr", MemberKind::Number},
    EndedMember{"body_bytes", "bytes", "", MemberKind::Number},
    EndedMember{"reserves", "reserves", "reserves", MemberKind::Number},
    EndedMember{"timeouts", "", "timeouts", MemberKind::Number},
    EndedMember{"releases", "", "releases", MemberKind::Number},
    EndedMember{"buries", "", "buries", MemberKind::Number},
    EndedMember{"kicks", "", "kicks", MemberKind::Number},
    EndedMember{"attempts", "attempts", "attempts", MemberKind::Number},
    EndedMember{"tries", "", "tries", MemberKind::Number},
    EndedMember{"from", "", "from", MemberKind::Text},
    EndedMember{"key", "", "idp", MemberKind::Text},
    EndedMember{"notes", "notes", "notes", MemberKind::Number},
    EndedMember{"restored", "", "restored", MemberKind::Known},
    EndedMember{"put_at", "", "put-at", MemberKind::Known},
    EndedMember{"put_by", "", "put-by", MemberKind::Known},
    EndedMember{"first_reserved_at", "", "first-reserved", MemberKind::Known},
    EndedMember{"ended_at", "", "ended-at", MemberKind::Known},
    EndedMember{"schedule", "", "schedule", MemberKind::Known},
    EndedMember{"planned", "", "planned", MemberKind::Known},
};

// None: it is no value of this kind.
std::optional<Json> member_value(MemberKind kind, std::string_view text) {
  if (kind == MemberKind::Known && text.empty()) return Json(nullptr);
  if (kind != MemberKind::Number) return Json(std::string(text));
  const std::optional<uint64_t> number = number_of(text, UINT64_MAX);
  return number ? std::optional(Json(*number)) : std::nullopt;
}

// Takes `key: value` of a flow mapping off the front; the value may be in quotes. False: there is
// none.
bool take_pair(std::string_view& rest, std::string_view& key, std::string& value) {
  const size_t colon = rest.find(": ");
  if (colon == std::string_view::npos) return false;
  key = rest.substr(0, colon);
  rest.remove_prefix(colon + 2);
  size_t end = 0;
  if (rest.starts_with('"')) {
    end = 1;
    while (end < rest.size() && rest[end] != '"') end += rest[end] == '\\' ? 2 : 1;
    if (end >= rest.size()) return false;
    ++end;
    std::optional<std::string> text = wire::read_yaml_text(rest.substr(0, end));
    if (!text) return false;
    value = *std::move(text);
  } else {
    end = std::min(rest.find_first_of(",}"), rest.size());
    value = rest.substr(0, end);
  }
  rest.remove_prefix(end);
  if (rest.starts_with(", ")) rest.remove_prefix(2);
  return true;
}

// A line "- {id: 5, tube: \"mail\", ...}". A job without notes tells none.
std::optional<Json> ended_row_of(std::string_view line) {
  if (!line.starts_with("- {") || !line.ends_with('}')) return std::nullopt;
  std::string_view rest = line.substr(3, line.size() - 4);
  Json told = Json::object();
  std::string_view key;
  std::string value;
  while (!rest.empty()) {
    if (!take_pair(rest, key, value)) return std::nullopt;
    const auto* const member = std::ranges::find(ended_members, key, &EndedMember::listed);
    if (member == ended_members.end()) continue;
    std::optional<Json> read = member_value(member->kind, value);
    if (!read) return std::nullopt;
    told[std::string(member->name)] = *std::move(read);
  }
  Json row = Json::object();
  for (const EndedMember& member : ended_members) {
    if (member.listed.empty()) continue;
    const auto found = told.find(std::string(member.name));
    if (found == told.end() && member.name != "notes") return std::nullopt;
    row[std::string(member.name)] = found == told.end() ? Json(0) : *found;
  }
  return row;
}

}  // namespace

JobFacts facts_of_ended() {
  JobFacts facts;
  for (const JobFactRow& row : job_fact_rows) {
    if (std::ranges::find(ended_members, row.name, &EndedMember::fact) != ended_members.end())
      facts.add(row.fact);
  }
  return facts;
}

Json ended_json(std::string_view facts) {
  Json told = Json::object();
  while (!facts.empty()) {
    const std::string_view each = facts.substr(0, facts.find(' '));
    facts.remove_prefix(std::min(facts.size(), each.size() + 1));
    const size_t colon = each.find(':');
    if (colon == std::string_view::npos) continue;
    const auto* const member =
        std::ranges::find(ended_members, each.substr(0, colon), &EndedMember::fact);
    if (member == ended_members.end()) continue;
    if (std::optional<Json> value = member_value(member->kind, each.substr(colon + 1))) {
      told[std::string(member->name)] = *std::move(value);
    }
  }
  return told;
}

std::optional<EndedRows> ended_rows(std::string_view yaml) {
  EndedRows rows;
  const auto take_line = [&yaml] {
    const std::string_view line = yaml.substr(0, yaml.find('\n'));
    yaml.remove_prefix(std::min(yaml.size(), line.size() + 1));
    return line;
  };
  constexpr std::string_view cursor = "cursor: ";
  if (take_line() != "---") return std::nullopt;
  const std::string_view second = take_line();
  if (!second.starts_with(cursor)) return std::nullopt;
  const std::optional<uint64_t> number = number_of(second.substr(cursor.size()), UINT64_MAX);
  if (!number) return std::nullopt;
  rows.cursor = *number;
  const std::string_view third = take_line();
  if (third != "jobs:" && third != "jobs: []") return std::nullopt;
  while (!yaml.empty()) {
    std::optional<Json> row = ended_row_of(take_line());
    if (!row) return std::nullopt;
    rows.jobs.push_back(*std::move(row));
  }
  return rows;
}

}  // namespace perennial::http
