#include "tests/power_cut/history.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "tests/power_cut/conversation.h"
#include "tests/support/reply_text.h"

namespace perennial::power_cut {
namespace {

// The value of an option of a command, or "".
std::string option(const std::vector<std::string_view>& words, std::string_view name) {
  for (const std::string_view word : words) {
    if (word.starts_with(name)) return std::string(word.substr(name.size()));
  }
  return {};
}

uint32_t small(std::string_view word) {
  return static_cast<uint32_t>(number_of(word));
}

// Folds the exchanges, in the order of their arrival, into what each of them has changed.
class Reader {
 public:
  Status take(const Exchange& exchange);
  History& history() { return history_; }

 private:
  using Words = std::vector<std::string_view>;

  Status put(const Exchange& exchange, const Words& words);
  Status put_batch(const Exchange& exchange, const Words& words);
  Status delete_batch(const Exchange& exchange, const Words& words);
  Status kick_tube(const Exchange& exchange, const Words& words);
  Status flush(const Exchange& exchange, const Words& words);
  Status restore(const Exchange& exchange, const Words& words);
  JobFacts ended(const JobStory& job) const;
  Status change_job(const Exchange& exchange, const Words& words);
  Status change_tube(const Exchange& exchange, const Words& words);
  void add_job(const Exchange& exchange, JobId id, const Words& words, std::string_view tube,
               std::string_view body);
  void add_fact(const Exchange& exchange, JobStory& job, JobFacts facts);

  static Status odd(const Exchange& exchange) {
    return {StatusCode::Corruption,
            fmt::format("{}: {}", exchange.line, exchange.answers.front().substr(0, 200))};
  }

  History history_;
  std::set<std::string, std::less<>> keeping_;  // Tubes that keep jobs which end.
};

Status Reader::take(const Exchange& exchange) {
  ++history_.commands;
  history_.answers.push_back(exchange.answered);
  const Words words = words_of(exchange.line);
  const std::string_view verb = words.front();
  if (verb == "put") return put(exchange, words);
  if (verb == "put-batch") return put_batch(exchange, words);
  if (verb == "delete-batch") return delete_batch(exchange, words);
  if (verb == "flush-tube") return flush(exchange, words);
  if (verb == "restore-job") return restore(exchange, words);
  if (verb == "kick-tube") return kick_tube(exchange, words);
  if (verb == "pause-tube" || verb == "set-tube") return change_tube(exchange, words);
  if (verb == "checkpoint") {
    const std::string_view answer = exchange.answers.front();
    if (!answer.starts_with("OK ")) return odd(exchange);
    std::string name(support::yaml_value(answer, "name"));
    std::erase(name, '"');
    history_.checkpoints[name] = exchange.answered;
    return {};
  }
  return change_job(exchange, words);
}

Status Reader::put(const Exchange& exchange, const Words& words) {
  const std::string& answer = exchange.answers.front();
  const Words said = words_of(std::string_view(answer).substr(0, answer.size() - 2));
  if (said.front() != "INSERTED") return odd(exchange);
  const JobId id = number_of(said[1]);
  const bool is_duplicate = said.size() > 2;
  if (is_duplicate) return history_.jobs.contains(id) ? Status() : odd(exchange);
  if (history_.jobs.contains(id)) return odd(exchange);  // An id that was given twice.
  add_job(exchange, id, words, option(words, "tube:"), exchange.body);
  return {};
}

Status Reader::put_batch(const Exchange& exchange, const Words& words) {
  if (!exchange.answers.front().starts_with("INSERTED_BATCH ")) return odd(exchange);
  std::string_view items = exchange.body;
  Together together = {.arrived = exchange.arrived, .answered = exchange.answered};
  for (size_t i = 1; i < exchange.answers.size(); ++i) {
    const size_t line_bytes = items.find("\r\n");
    Words item = words_of(items.substr(0, line_bytes));
    item.insert(item.begin(), "put");
    const uint64_t body_bytes = number_of(item[4]);
    const JobId id = support::first_number(exchange.answers[i]);
    if (id == 0 || history_.jobs.contains(id)) return odd(exchange);
    add_job(exchange, id, item, option(words, "tube:"), items.substr(line_bytes + 2, body_bytes));
    together.ids.push_back(id);
    items.remove_prefix(std::min(items.size(), line_bytes + 2 + body_bytes + 2));
  }
  history_.batches.push_back(std::move(together));
  return {};
}

void Reader::add_job(const Exchange& exchange, JobId id, const Words& words, std::string_view tube,
                     std::string_view body) {
  const std::string key = option(words, "idp:");
  const size_t colon = std::min(key.find(':'), key.size());
  JobStory& job = history_.jobs[id];
  job = {.id = id,
         .tube = std::string(tube),
         .ttr_s = small(words[3]),
         .body = std::string(body),
         .key = key.substr(0, colon),
         .key_s = colon < key.size() ? small(key.substr(colon + 1)) : 0,
         .tries = small(option(words, "tries:")),
         .dead = option(words, "dead:")};
  const uint32_t delay_s = small(words[2]);
  add_fact(exchange, job,
           {.exists = true,
            .state = delay_s > 0 ? JobState::Delayed : JobState::Ready,
            .priority = small(words[1]),
            .delay_s = delay_s});
}

// A reservation promises nothing: a restart ends it.
void Reader::add_fact(const Exchange& exchange, JobStory& job, JobFacts facts) {
  const bool is_promised = facts.state != JobState::Reserved || !facts.exists;
  job.facts.add(exchange.arrived, is_promised ? exchange.answered : never, facts);
  if (facts.has_ended) job.ended_at = exchange.answered;
  job.lines += fmt::format("\n  {}..{} {}", exchange.arrived, exchange.answered,
                           exchange.line.substr(0, 100));
}

Status Reader::delete_batch(const Exchange& exchange, const Words& words) {
  const std::string all = fmt::format("DELETED_BATCH {} 0\r\n", words.size() - 1);
  if (exchange.answers.front() != all) return odd(exchange);
  Together together = {.arrived = exchange.arrived, .answered = exchange.answered};
  for (size_t i = 1; i < words.size(); ++i) {
    JobStory& job = history_.jobs.at(number_of(words[i]));
    add_fact(exchange, job, ended(job));
    together.ids.push_back(job.id);
  }
  history_.batches.push_back(std::move(together));
  return {};
}

// What a job is after its end.
JobFacts Reader::ended(const JobStory& job) const {
  if (!keeping_.contains(job.tube)) return {};
  JobFacts facts = job.facts.last();
  facts.exists = false;
  facts.has_ended = true;
  if (facts.state == JobState::Reserved) facts.state = JobState::Ready;
  return facts;
}

// The load has no other command about these jobs under way. The cooldowns of the tube end, too.
Status Reader::flush(const Exchange& exchange, const Words& words) {
  uint64_t flushed = 0;
  for (auto& [id, job] : history_.jobs) {
    if (job.tube != words[1]) continue;
    job.has_flushed_key = true;
    if (!job.facts.last().exists) continue;
    ++flushed;
    add_fact(exchange, job, ended(job));
  }
  const std::string& answer = exchange.answers.front();
  const bool fits = answer == fmt::format("FLUSHED {}\r\n", flushed) ||
                    (flushed == 0 && answer == "NOT_FOUND\r\n");
  return fits ? Status() : odd(exchange);
}

Status Reader::restore(const Exchange& exchange, const Words& words) {
  JobStory& old = history_.jobs.at(number_of(words[1]));
  const std::string& answer = exchange.answers.front();
  JobFacts facts = old.facts.last();
  if (!facts.has_ended) return answer == "NOT_FOUND\r\n" ? Status() : odd(exchange);
  const JobId id = support::first_number(answer);
  if (!answer.starts_with("INSERTED ") || history_.jobs.contains(id)) return odd(exchange);
  add_fact(exchange, old, {});
  JobStory back = old;
  back.id = id;
  back.facts = {};
  back.lines.clear();
  facts.exists = true;
  facts.has_ended = false;
  add_fact(exchange, history_.jobs.emplace(id, std::move(back)).first->second, facts);
  history_.returns.push_back({.arrived = exchange.arrived,
                              .answered = exchange.answered,
                              .was_known_at = old.ended_at,
                              .ended = old.id,
                              .back = id});
  return {};
}

// The load has no other command about these jobs under way.
Status Reader::kick_tube(const Exchange& exchange, const Words& words) {
  uint64_t kicked = 0;
  for (auto& [id, job] : history_.jobs) {
    JobFacts facts = job.facts.last();
    if (job.tube != words[1] || !facts.exists || facts.state != JobState::Buried) continue;
    facts.state = JobState::Ready;
    ++facts.kicks;
    ++kicked;
    add_fact(exchange, job, facts);
  }
  return exchange.answers.front() == fmt::format("KICKED {}\r\n", kicked) ? Status()
                                                                          : odd(exchange);
}

Status Reader::change_job(const Exchange& exchange, const Words& words) {
  const std::string_view verb = words.front();
  const std::string_view answer = exchange.answers.front();
  const auto found = history_.jobs.find(words.size() < 2 ? 0 : number_of(words[1]));
  if (found == history_.jobs.end()) return odd(exchange);
  JobStory& job = found->second;
  JobFacts facts = job.facts.last();
  std::string_view expected = "DELETED\r\n";
  if (verb == "reserve-job") {
    facts.state = JobState::Reserved;
    ++facts.reserves;
    expected = "RESERVED ";
  } else if (verb == "release") {
    facts.delay_s = small(words[3]);
    facts.state = facts.delay_s > 0 ? JobState::Delayed : JobState::Ready;
    facts.priority = small(words[2]);
    ++facts.releases;
    expected = "RELEASED\r\n";
  } else if (verb == "bury") {
    facts.state = JobState::Buried;
    facts.priority = small(words[2]);
    ++facts.buries;
    expected = "BURIED\r\n";
  } else if (verb == "kick-job") {
    facts.state = JobState::Ready;
    ++facts.kicks;
    expected = "KICKED\r\n";
  } else if (verb == "delete") {
    facts = ended(job);
  } else {
    return odd(exchange);
  }
  if (!answer.starts_with(expected)) return odd(exchange);
  if (verb == "reserve-job" && support::body_in(answer) != job.body) return odd(exchange);
  add_fact(exchange, job, facts);
  return {};
}

Status Reader::change_tube(const Exchange& exchange, const Words& words) {
  const std::string tube(words[1]);
  if (words.front() == "pause-tube") {
    history_.pauses[tube].add(exchange.arrived, exchange.answered, number_of(words[2]));
    return exchange.answers.front() == "PAUSED\r\n" ? Status() : odd(exchange);
  }
  if (const std::string keep = option(words, "keep:"); !keep.empty()) {
    keeping_.insert(tube);
    history_.keeps[tube].add(exchange.arrived, exchange.answered, number_of(keep));
    return exchange.answers.front() == "SET\r\n" ? Status() : odd(exchange);
  }
  history_.tries[tube].add(exchange.arrived, exchange.answered, small(option(words, "tries:")));
  return exchange.answers.front() == "SET\r\n" ? Status() : odd(exchange);
}

}  // namespace

Result<History> read_history(const Recording& recording) {
  Result<std::vector<Exchange>> exchanges = read_exchanges(recording);
  if (!exchanges.ok()) return exchanges.take_status();
  Reader reader;
  for (const Exchange& exchange : *exchanges) {
    if (Status s = reader.take(exchange); !s.ok()) return s;
  }
  std::ranges::sort(reader.history().answers);
  return std::move(reader.history());
}

}  // namespace perennial::power_cut
