#include "store/offline/lost_jobs.h"

#include <algorithm>

#include <absl/strings/escaping.h>
#include <nlohmann/json.hpp>

#include "store/format/format.h"

namespace perennial::store {
namespace {

using nlohmann::ordered_json;

// The lines are in memory until they are complete.
constexpr size_t lines_bytes_max = 256 << 20;

void add_row(ordered_json& out, const JobRow& row) {
  out["state"] = name_of(family_of(row.state));
  out["pri"] = row.priority;
  out["delay"] = row.delay_s;
  out["ttr"] = row.ttr_s;
  out["created"] = row.created;
  if (row.state == JobState::Delayed) out["deadline"] = row.order;
  if (row.state == JobState::Buried) out["bury_order"] = row.order;
  out["reserves"] = row.reserves;
  out["timeouts"] = row.timeouts;
  out["releases"] = row.releases;
  out["buries"] = row.buries;
  out["kicks"] = row.kicks;
  if (row.fields && row.fields->key) out["idp"] = row.fields->key->key;
  out["bytes"] = row.body_bytes;
}

void add_notes(ordered_json& out, const std::vector<Note>& notes) {
  if (notes.empty()) return;
  ordered_json& list = out["notes"] = ordered_json::array();
  for (const Note& note : notes) {
    ordered_json one = {{"number", note.number}, {"attempt", note.attempt}, {"time", note.time}};
    if (!note.user.empty()) one["user"] = note.user;
    one["text"] = note.text;
    list.push_back(std::move(one));
  }
}

}  // namespace

void LostJobs::add(JobId id, const JobRow* row, std::optional<std::string_view> body,
                   const std::vector<Note>& notes) {
  ordered_json line = {{"id", id}, {"lost", row == nullptr ? "row" : "body"}};
  if (row != nullptr) {
    line["tube"] = tubes_.at(row->tube);
    add_row(line, *row);
    add_notes(line, notes);
  }
  if (row == nullptr && body) {
    if (lines_.size() + body->size() < lines_bytes_max) {
      line["body_base64"] = absl::Base64Escape({body->data(), body->size()});
    } else {
      line["body_left_out"] = true;  // The damaged database still has it.
    }
  }
  lines_ += line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace perennial::store
