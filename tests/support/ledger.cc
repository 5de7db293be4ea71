#include "tests/support/ledger.h"

#include <algorithm>
#include <charconv>
#include <random>

#include <fmt/format.h>

namespace perennial::support {
namespace {

constexpr size_t small_body_bytes_max = 400;
constexpr size_t large_body_bytes_max = 60'000;
constexpr size_t large_one_in = 50;

}  // namespace

bool Outcome::allows(JobState seen, uint32_t seen_priority) const {
  if (!exists || seen_priority != priority) return false;
  const bool delay_may_be_over = state == JobState::Delayed && delay_s < long_s;
  return seen == state || (delay_may_be_over && seen == JobState::Ready);
}

Ledger::Ledger(uint64_t seed) : seed_(seed) {
  for (const char* name : {"north", "east", "south", "west"}) tubes_.push_back(Tube{.name = name});
}

Job& Ledger::add_job(size_t tube) {
  Job& job = jobs_.emplace_back();
  job.serial = jobs_.size() - 1;
  job.tube = tube;
  return job;
}

Job* Ledger::find(JobId id) {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

Job* Ledger::find_by_body(std::string_view bytes) {
  size_t serial = jobs_.size();
  std::from_chars(bytes.data(), bytes.data() + bytes.size(), serial);
  const bool known = serial < jobs_.size() && body(jobs_[serial]) == bytes;
  return known ? &jobs_[serial] : nullptr;
}

Status Ledger::learn_id(Job& job, JobId id) {
  if (job.id == id) return {};
  if (job.id != 0) return surprise(job, fmt::format("has a second id {}", id));
  if (!use_id(id).ok()) return surprise(job, fmt::format("was given the used id {}", id));
  by_id_[id] = &job;
  job.id = id;
  return {};
}

Status Ledger::use_id(JobId id) {
  if (!by_id_.emplace(id, nullptr).second)
    return Status(StatusCode::Corruption, fmt::format("id {} was given twice", id));
  highest_id_ = std::max(highest_id_, id);
  return {};
}

std::string Ledger::body(const Job& job) const {
  std::minstd_rand random(static_cast<uint32_t>(seed_ * 1'000'003 + job.serial + 1));
  const bool large = random() % large_one_in == 0;
  const size_t size = random() % (large ? large_body_bytes_max : small_body_bytes_max);
  std::string bytes = fmt::format("{}:", job.serial);
  // Includes line ends and zero bytes, to break code that searches for the end of a body.
  while (bytes.size() < size) bytes += static_cast<char>("\r\n\0abcdefghijkl"[random() % 15]);
  return bytes;
}

Status surprise(const Job& job, std::string_view what) {
  std::string text = fmt::format("job {} (id {}) {}\n  allowed:", job.serial, job.id, what);
  for (const Outcome& outcome : job.outcomes) text += " " + describe(outcome);
  for (const std::string& line : job.history) text += "\n  " + line;
  return Status(StatusCode::Corruption, text);
}

std::string describe(const Outcome& outcome) {
  if (!outcome.exists) return "(none)";
  return fmt::format("({} pri {} delay {})", state_name(outcome.state), outcome.priority,
                     outcome.delay_s);
}

}  // namespace perennial::support
