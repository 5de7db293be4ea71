#include <algorithm>

#include <fmt/format.h>

#include "tests/power_cut/found.h"

namespace perennial::power_cut {
namespace {

std::string text_of(const JobFacts& facts) {
  if (!facts.exists && !facts.has_ended) return "gone";
  return fmt::format("{}{} pri {} delay {} reserves {} releases {} buries {} kicks {}",
                     facts.has_ended ? "ended, was " : "", state_name(facts.state), facts.priority,
                     facts.delay_s, facts.reserves, facts.releases, facts.buries, facts.kicks);
}

// A reservation ends with a restart, and a short delay may be over by then.
bool same_state(const JobFacts& allowed, JobState found) {
  const auto awake = [](JobState state) {
    return state == JobState::Reserved ? JobState::Ready : state;
  };
  const bool may_be_over = allowed.state == JobState::Delayed && allowed.delay_s < long_s;
  return awake(allowed.state) == awake(found) || (may_be_over && found == JobState::Ready);
}

bool allows(const JobFacts& allowed, const JobFacts& found) {
  if (allowed.exists != found.exists || allowed.has_ended != found.has_ended) return false;
  const bool is_gone = !found.exists && !found.has_ended;
  return is_gone || ((found.has_ended || same_state(allowed, found.state)) &&
                     allowed.priority == found.priority && allowed.delay_s == found.delay_s &&
                     allowed.reserves == found.reserves && allowed.releases == found.releases &&
                     allowed.buries == found.buries && allowed.kicks == found.kicks);
}

bool same_fields(const JobStory& job, const FoundJob& found) {
  return found.tries == job.tries && found.dead == job.dead && found.key == job.key;
}

std::string judge_job(const JobStory& job, const Moment& cut, const FoundJob* found,
                      bool has_fields) {
  const JobFacts facts = found == nullptr ? JobFacts() : found->facts;
  const std::vector<JobFacts> possible = job.facts.possible(cut);
  const auto fits = [&](const JobFacts& allowed) { return allows(allowed, facts); };
  if (std::ranges::none_of(possible, fits)) {
    std::string text = fmt::format("job {} is {}; possible:", job.id, text_of(facts));
    for (const JobFacts& allowed : possible) text += fmt::format("\n  {}", text_of(allowed));
    return text + "\n its commands, with the events of arrival and answer:" + job.lines;
  }
  if (found == nullptr) return {};
  if (found->body != job.body) return fmt::format("job {} has another body", job.id);
  const bool same = found->tube == job.tube && found->ttr_s == job.ttr_s &&
                    (!has_fields || same_fields(job, *found));
  return same ? "" : fmt::format("job {} has other fields than were put{}", job.id, job.lines);
}

const FoundJob* find(const Found& found, JobId id) {
  if (const auto job = found.jobs.find(id); job != found.jobs.end()) return &job->second;
  const auto ended = found.ended.find(id);
  return ended == found.ended.end() ? nullptr : &ended->second;
}

// A key is unique in the load, so its row follows from what became of its job.
std::string judge_key(const JobStory& job, const Moment& cut, const Found& found) {
  const auto key = found.keys.find(job.tube + " " + job.key);
  const bool has_row = key != found.keys.end();
  if (has_row && key->second.job != job.id) return fmt::format("key {} has another job", job.key);
  if (found.jobs.contains(job.id)) {
    const bool is_held = has_row && !key->second.in_cooldown;
    return is_held ? "" : fmt::format("key {} of job {} is not held", job.key, job.id);
  }
  if (has_row) {
    const bool may_cool_down = job.key_s > 0 && key->second.in_cooldown;
    return may_cool_down ? ""
                         : fmt::format("key {} is held by job {}, which is gone", job.key, job.id);
  }
  const bool must_cool_down = job.key_s > 0 && job.facts.is_known(cut) && !job.has_flushed_key;
  return must_cool_down
             ? fmt::format("key {} of job {}, which is deleted, has no cooldown", job.key, job.id)
             : "";
}

std::string judge_batch(const Together& batch, const Moment& cut, const Found& found) {
  const bool is_under_way = batch.arrived <= cut.begun && cut.known < batch.answered;
  if (!is_under_way) return {};
  const auto there =
      std::ranges::count_if(batch.ids, [&](JobId id) { return found.jobs.contains(id); });
  if (there == 0 || static_cast<size_t>(there) == batch.ids.size()) return {};
  return fmt::format("{} of the {} jobs of one batch are there, the first is {}", there,
                     batch.ids.size(), batch.ids.front());
}

// The job is not in two places. What came back may have ended again. That it is in one of them is
// said for each id: both change with the same batch.
std::string judge_return(const Return& one, const Moment& cut, const Found& found) {
  const bool has_ended = found.ended.contains(one.ended);
  const bool is_back = found.jobs.contains(one.back) || found.ended.contains(one.back);
  if (has_ended && is_back)
    return fmt::format("job {} has ended, and is back as {}", one.ended, one.back);
  // Nobody knows the new id, and so nobody has deleted it.
  const bool is_under_way = one.arrived <= cut.begun && cut.known < one.answered;
  if (is_under_way && one.was_known_at <= cut.known && !has_ended && !is_back)
    return fmt::format("job {} has neither ended nor come back as {}", one.ended, one.back);
  return {};
}

template <typename Value>
std::string judge_tubes(const char* what, const std::map<std::string, Timeline<Value>>& stories,
                        const std::map<std::string, Value>& found, const Moment& cut) {
  for (const auto& [tube, values] : stories) {
    const auto row = found.find(tube);
    const Value value = row == found.end() ? Value() : row->second;
    const std::vector<Value> possible = values.possible(cut);
    if (std::ranges::find(possible, value) == possible.end()) {
      return fmt::format("{} of tube {} is {}", what, tube, value);
    }
  }
  return {};
}

}  // namespace

std::string judge(const History& history, const Moment& cut, const Found& found) {
  for (const auto& [id, job] : found.jobs) {
    if (!history.jobs.contains(id)) return fmt::format("job {} was never put", id);
    if (found.next_id != 0 && id >= found.next_id) return fmt::format("id {} is free again", id);
    if (found.ended.contains(id)) return fmt::format("job {} is there, and has ended", id);
  }
  for (const auto& [id, job] : found.ended) {
    if (!history.jobs.contains(id)) return fmt::format("ended job {} was never put", id);
  }
  for (const auto& [id, job] : history.jobs) {
    std::string problem = judge_job(job, cut, find(found, id), found.has_fields);
    if (!problem.empty()) return problem;
    if (job.facts.is_known(cut) && found.next_id != 0 && id >= found.next_id) {
      return fmt::format("id {}, which a client knows, is free again", id);
    }
    if (found.has_keys && !job.key.empty()) problem = judge_key(job, cut, found);
    if (!problem.empty()) return problem;
  }
  for (const Return& one : history.returns) {
    if (std::string problem = judge_return(one, cut, found); !problem.empty()) return problem;
  }
  if (found.has_fields) {
    const std::string problem = judge_tubes("the setting keep", history.keeps, found.keeps, cut);
    if (!problem.empty()) return problem;
  }
  for (const Together& batch : history.batches) {
    if (std::string problem = judge_batch(batch, cut, found); !problem.empty()) return problem;
  }
  if (std::string problem = judge_tubes("the pause", history.pauses, found.pauses, cut);
      !problem.empty()) {
    return problem;
  }
  return judge_tubes("the setting tries", history.tries, found.tries, cut);
}

}  // namespace perennial::power_cut
