#include "cmd/perennial/offline/dump_format.h"

#include <numeric>

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

uint64_t DumpHeader::job_count() const {
  return std::accumulate(jobs.begin(), jobs.end(), uint64_t{0});
}

void DumpWriter::header(const DumpHeader& header) {
  begin();
  text("format", dump_format_name);
  number("version", dump_version);
  json("jobs", jobs_json(header).dump());
  json("tubes", ordered_json(header.tubes).dump());
  json("pauses", pauses_json(header).dump());
  number("next_id", header.next_id);
  json("commit", commit_json(header.commit).dump());
  if (!header.selection.is_everything()) json("selection", selection_json(header.selection).dump());
  end();
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
  number("bytes", row.body_bytes);
  body(body_of_it);
  end();
  ++jobs_;
  body_bytes_ += row.body_bytes;
}

void DumpWriter::footer() {
  const std::string hash = out_.hash();
  begin();
  number("jobs", jobs_);
  number("body_bytes", body_bytes_);
  text("xxh3_128", hash);
  end();
}

void DumpWriter::body(const DumpBody& body) {
  if (body.kind == DumpBody::Kind::NotAskedFor) return;
  if (body.kind == DumpBody::Kind::Missing) return flag("body_missing");
  if (body.kind == DumpBody::Kind::Damaged) flag("body_damaged");
  if (is_utf8(body.bytes)) return text("body", body.bytes);
  key("body_base64");
  add_base64(out_, body.bytes);
}

void DumpWriter::begin() {
  out_.add(syntax_ == Syntax::Json ? "{" : "---\n");
  has_field_ = false;
}

void DumpWriter::end() {
  out_.add(syntax_ == Syntax::Json ? "}\n" : "\n");
}

void DumpWriter::key(std::string_view name) {
  if (has_field_) out_.add(syntax_ == Syntax::Json ? "," : "\n");
  has_field_ = true;
  if (syntax_ == Syntax::Json) out_.add("\"");
  out_.add(name);
  out_.add(syntax_ == Syntax::Json ? "\":" : ": ");
}

void DumpWriter::number(std::string_view name, uint64_t value) {
  key(name);
  out_.add_number(value);
}

void DumpWriter::text(std::string_view name, std::string_view value) {
  key(name);
  add_quoted(out_, value);
}

void DumpWriter::flag(std::string_view name) {
  key(name);
  out_.add("true");
}

void DumpWriter::json(std::string_view name, const std::string& value) {
  key(name);
  out_.add(value);
}

}  // namespace perennial::tool
