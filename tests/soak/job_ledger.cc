#include "tests/soak/job_ledger.h"

#include <array>
#include <chrono>

#include <fmt/format.h>

namespace perennial::soak {
namespace {

constexpr size_t lines_kept = 24;
constexpr size_t lines_kept_of_gone = 4;

}  // namespace

Millis now_ms() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

Job& JobLedger::add(size_t tube, uint32_t ttr_s) {
  Job& job = records_.add_job(tube);
  facts_.push_back(Fact{.ttr_s = ttr_s});
  present_.push_back(job.serial);
  return job;
}

std::string JobLedger::tube_name(size_t index) {
  return index == 0 ? "default" : fmt::format("soak-{}", index);
}

bool JobLedger::kicked_since(const Job& job) {
  const Tube& tube = tubes_[job.tube];
  return tube.kicks_in_flight > 0 || tube.last_kick > fact(job).asked;
}

bool JobLedger::may_be(const Job& job, JobState state) {
  const Fact& fact = facts_[job.serial];
  const bool freed = state == JobState::Ready || state == JobState::Reserved;
  const bool over = now_ms() >= fact.until;
  if (job.busy) return fact.place != Place::Gone;
  switch (fact.place) {
    case Place::Gone:
      return false;
    case Place::Unsure:
    case Place::Loose:
      return true;
    case Place::Ready:
      return freed;
    case Place::Delayed:
      return state == JobState::Delayed || (freed && (over || kicked_since(job)));
    case Place::Buried:
      return state == JobState::Buried || (freed && kicked_since(job));
    case Place::Held:
      return state == JobState::Reserved || (state == JobState::Ready && over);
  }
  return false;
}

void JobLedger::set(Job& job, Place place, int holder, Millis until, uint64_t asked) {
  Fact& fact = facts_[job.serial];
  fact.place = place;
  fact.holder = holder;
  fact.until = until;
  fact.by_id = false;
  fact.since = next_event();
  fact.asked = asked > 0 ? asked : fact.since;
  ++fact.version;
  if (place != Place::Gone) return;
  const size_t surplus = job.history.size() - std::min(job.history.size(), lines_kept_of_gone);
  job.history.erase(job.history.begin(), job.history.begin() + static_cast<ptrdiff_t>(surplus));
  job.history.shrink_to_fit();
}

void JobLedger::seen(Job& job) {
  if (facts_[job.serial].place != Place::Unsure) return;
  ++counts_.puts_done;
  set(job, Place::Loose);
}

void JobLedger::note(Job& job, std::string line) {
  if (job.history.size() >= lines_kept) job.history.erase(job.history.begin());
  const Fact& fact = facts_[job.serial];
  job.history.push_back(fmt::format("{} ms, {} {}: {}", now_ms() % 10'000'000,
                                    place_name(fact.place), fact.holder, line));
}

std::string_view place_name(Place place) {
  static constexpr std::array<std::string_view, 7> names = {"unsure", "ready", "delayed", "buried",
                                                            "held",   "loose", "gone"};
  return names[static_cast<size_t>(place)];
}

}  // namespace perennial::soak
