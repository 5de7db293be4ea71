#include "store/salvage/job_evidence.h"

#include <algorithm>
#include <tuple>

namespace perennial::store {
namespace {

using States = std::array<KeyTrace, job_states.size()>;
using Fate = JobFinding::Fate;

std::optional<size_t> best_row(const States& states) {
  std::optional<size_t> best;
  const auto rank = [&](size_t place) {
    return std::tuple(!states[place].may_hide_newer(), states[place].newest_time);
  };
  for (size_t place = 0; place < states.size(); ++place) {
    if (states[place].is_put() && (!best || rank(place) > rank(*best))) best = place;
  }
  return best;
}

// The newest row that the job ever had, as far as it can be read.
std::optional<size_t> earlier_row(const States& states) {
  std::optional<size_t> best;
  for (size_t place = 0; place < states.size(); ++place) {
    if (states[place].put_time > (best ? states[*best].put_time : 0)) best = place;
  }
  return best;
}

bool any_hides(const States& states) {
  return std::ranges::any_of(states, &KeyTrace::may_hide_newer);
}

JobFinding found(const States& states, size_t place, const KeyTrace& body) {
  JobFinding out = {.fate = Fate::Found, .state = job_states[place], .is_uncertain = false};
  const KeyTrace& row = states[place];
  if (!row.may_hide_newer()) return out;
  out.may_be_older = true;
  const bool may_be_elsewhere = std::ranges::any_of(states, [&](const KeyTrace& other) {
    if (&other == &row || !other.may_hide_newer()) return false;
    return row.is_of_copy || other.hidden_time > row.newest_time;
  });
  out.is_uncertain =
      may_be_elsewhere || row.is_of_lost_log || !body.is_put() || body.may_hide_newer();
  return out;
}

}  // namespace

// A body is put once and removed once, because no id is used twice. So a removed body means that
// the job was deleted, whatever else can be read.
JobFinding find_job(const States& states, const KeyTrace& body) {
  if (body.newest == KeyTrace::Newest::Removal) return {};
  if (const std::optional<size_t> row = best_row(states)) {
    // A compaction has removed the body and what had removed it, and the row's removal is hidden.
    const bool was_deleted = body.newest == KeyTrace::Newest::None && body.hidden_time == 0 &&
                             states[*row].may_hide_newer();
    return was_deleted ? JobFinding() : found(states, *row, body);
  }
  if (!body.is_put()) return {};
  if (body.may_hide_newer()) {
    if (!any_hides(states)) return {};
    return {.fate = Fate::RowLost, .state = {}, .is_uncertain = true};
  }
  if (const std::optional<size_t> row = earlier_row(states)) {
    return {.fate = Fate::Found, .state = job_states[*row], .is_uncertain = true};
  }
  return {.fate = Fate::RowLost, .state = {}, .is_uncertain = false};
}

}  // namespace perennial::store
