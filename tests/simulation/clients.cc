#include "tests/simulation/clients.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/types/check.h"
#include "wire/client.h"

namespace perennial::simulation {
namespace {

// The weight of each kind of command, in the order of Clients::command. The first ones are never
// switched off.
constexpr std::array<uint32_t, 28> usual_weights = {30, 22, 14, 10, 10, 3, 4, 4, 6, 5, 4, 3, 4, 3,
                                                    3,  3,  5,  2,  2,  6, 4, 4, 3, 9, 4, 4, 3, 1};
constexpr size_t always_on = 5;
constexpr std::array<std::string_view, 3> tubes = {"default", "north", "south"};
// An id that no put can receive during a run.
constexpr JobId nobodys_id = 1'000'000'000;
// The number of deleted ids that an audit looks up again.
constexpr size_t gone_audited = 30;

// What the checker knows of a job that has ended.
JobFacts ended_facts() {
  JobFacts facts;
  for (const JobFact fact : {JobFact::Priority, JobFact::Ttr, JobFact::Tries, JobFact::Key,
                             JobFact::Notes, JobFact::Ended}) {
    CHECK(facts.add(fact));
  }
  return facts;
}

}  // namespace

Clients::Clients(uint64_t seed) : random_(seed), salt_(random_()) {
  for (size_t kind = 0; kind < kinds; ++kind) {
    const bool off = kind >= always_on && below(5) == 0;
    weights_[kind] = off ? 0 : static_cast<uint32_t>(usual_weights[kind] * (1 + below(4)));
  }
}

std::string Clients::next(const Checker& checker, ConnId conn) {
  std::string bytes;
  std::string body;
  const Command chosen = command(checker, conn, body);
  wire::append_command(bytes, chosen, body);
  return bytes;
}

Command Clients::command(const Checker& checker, ConnId conn, std::string& body) {
  uint32_t all = 0;
  for (const uint32_t weight : weights_) all += weight;
  uint64_t drawn = below(all);
  size_t kind = 0;
  while (drawn >= weights_[kind]) drawn -= weights_[kind++];
  const JobId held = held_id(checker, conn);
  const auto priority = static_cast<uint32_t>(below(4));
  switch (kind) {
    case 0: {
      Put one{};
      body = put(checker, one);
      return one;
    }
    case 1:
      return ReserveWithTimeout{.timeout_s = static_cast<uint32_t>(below(3) == 0 ? below(5) : 0)};
    case 2:
      return Delete{below(4) == 0 ? any_id(checker) : held};
    case 3:
      return Release{.id = held, .priority = priority, .delay_s = delay()};
    case 4:
      return Bury{.id = held, .priority = priority};
    case 5:
      return Reserve{};
    case 6:
      return ReserveJob{any_id(checker)};
    case 7:
      return Kick{static_cast<uint32_t>(1 + below(3))};
    case 8:
      return KickJob{any_id(checker)};
    case 9:
      return Touch{held};
    case 10:
      return Peek{any_id(checker)};
    case 11:
      return PeekReady{};
    case 12:
      return PeekBuried{};
    case 13:
      return PeekDelayed{};
    case 14:
      return StatsJob{any_id(checker)};
    case 15:
      return PauseTube{.tube = tube(), .delay_s = delay()};
    case 16:
      return Use{tube()};
    case 17:
      return Watch{tube()};
    case 18:
      return Stats{};
    case 19:
      return note(below(3) == 0 ? any_id(checker) : held);
    case 20:
      return ListNotes{any_id(checker)};
    case 21:
      return keep(tube());
    case 22:
      return FlushTube{tube()};
    case 23:
      // At times the job that somebody has just asked back.
      if (restored_ == 0 || below(3) > 0) restored_ = ended_id(checker);
      return RestoreJob{restored_};
    case 24:
      return restore_tube();
    case 25:
      return PeekEnded{.id = ended_id(checker), .with = ended_facts()};
    case 26:
      return ListJobs{.tube = tube(), .states = {.are_ended = true}, .count = {list_count_max}};
    default:
      return Ignore{tube()};
  }
}

std::string Clients::put(const Checker& checker, Put& put) {
  std::string body = fmt::format("{:x}:{}:", salt_, checker.job_count());
  if (below(3) == 0) body.append(below(below(8) == 0 ? 3000 : 120), 'x');
  put = {.priority = static_cast<uint32_t>(below(4)),
         .delay_s = below(4) == 0 ? delay() : 0,
         .ttr_s = static_cast<uint32_t>(below(3) == 0 ? 1 + below(3) : 1000),
         .body_bytes = static_cast<uint32_t>(body.size())};
  if (below(3) > 0) return body;
  // No job is buried for its tries, and no key is sent twice.
  PutOptions& options = put.options.make();
  options.tries = TriesOption{1000};
  if (below(2) == 0) {
    options.key = KeyOption{.key = fmt::format("k{:x}.{}", salt_, checker.job_count()),
                            .seconds = static_cast<uint32_t>(below(3) * 5)};
  }
  if (below(2) == 0) options.expire.nanos = (below(2) == 0 ? 2 : 500) * nanos_per_second;
  return body;
}

// Both settings, so that the last command says what is in force.
SetTube Clients::keep(std::string name) {
  SetTube set{.tube = std::move(name)};
  set.keep.given = set.keep_max.given = true;
  constexpr std::array<uint32_t, 4> seconds = {2, 100, 5000, 5000};
  if (below(5) == 0) return set;
  if (below(4) > 0)
    set.keep.value = PositiveDuration{{seconds[below(seconds.size())] * nanos_per_second}};
  if (!set.keep.value || below(4) == 0) set.keep_max.value = CountOption{1 + below(6)};
  return set;
}

RestoreTube Clients::restore_tube() {
  RestoreTube restore{.tube = tube()};
  if (below(3) == 0) restore.since.nanos = static_cast<Nanos>(1 + below(10)) * nanos_per_second;
  if (below(3) > 0) restore.how = {JobEnd::Deleted, JobEnd::Flushed};
  if (below(4) == 0) restore.how = {JobEnd::Expired};
  return restore;
}

// Returns mostly a job that may have ended.
JobId Clients::ended_id(const Checker& checker) {
  const std::vector<JobId> ids = checker.ended_ids(12);
  if (ids.empty() || below(6) == 0) return any_id(checker);
  return ids[below(ids.size())];
}

// No text is sent twice, so that a note in an answer is one of a certain command.
NoteJob Clients::note(JobId id) {
  std::string text = fmt::format("{:x}:{}", salt_, ++notes_);
  if (below(3) == 0) text.append(below(below(8) == 0 ? 3000 : 120), '\n');
  return {.id = id, .bytes = static_cast<uint32_t>(text.size()), .text = std::move(text)};
}

// Returns mostly one of the newest ids, whose jobs mostly exist.
JobId Clients::any_id(const Checker& checker) {
  const std::vector<JobId>& ids = checker.ids();
  if (ids.empty()) return nobodys_id;
  const size_t count = below(4) == 0 ? ids.size() : std::min<size_t>(ids.size(), 12);
  return ids[ids.size() - 1 - below(count)];
}

JobId Clients::held_id(const Checker& checker, ConnId conn) {
  const std::vector<JobId>& held = checker.held_by(conn);
  if (held.empty() || below(20) == 0) return any_id(checker);
  return held[held.size() - 1 - below(std::min<size_t>(held.size(), 3))];
}

std::string Clients::tube() {
  return std::string(tubes[below(tubes.size())]);
}

uint32_t Clients::delay() {
  constexpr std::array<uint32_t, 5> delays = {0, 0, 1, 3, 1000};
  return delays[below(delays.size())];
}

std::vector<std::string> Clients::audit(const Checker& checker) {
  std::vector<std::string> out;
  const std::vector<JobId>& ids = checker.ids();
  for (size_t i = 0; i < ids.size(); ++i) {
    const bool is_gone = checker.surely_gone(ids[i]);
    if (checker.may_have_ended(ids[i])) {
      wire::append_command(out.emplace_back(), PeekEnded{.id = ids[i], .with = ended_facts()});
      out.push_back(fmt::format("list-notes {}\r\n", ids[i]));
    }
    if (is_gone && i + gone_audited < ids.size()) continue;
    out.push_back(fmt::format("peek {}\r\n", ids[i]));
    if (!is_gone) out.push_back(fmt::format("stats-job {}\r\n", ids[i]));
    if (!is_gone) out.push_back(fmt::format("list-notes {}\r\n", ids[i]));
  }
  // The ids that unanswered puts may have received, and one more.
  const JobId from = ids.empty() ? 1 : *std::ranges::max_element(ids) + 1;
  for (JobId id = from; id <= checker.ids_end(); ++id)
    out.push_back(fmt::format("peek {}\r\n", id));
  out.emplace_back("stats\r\n");
  for (const std::string_view name : tubes) {
    out.push_back(fmt::format("stats-tube {}\r\n", name));
    out.push_back(fmt::format("list-jobs {} state:ended count:1000\r\n", name));
    out.push_back(fmt::format("use {}\r\n", name));
    out.emplace_back("peek-ready\r\n");
    out.emplace_back("peek-buried\r\n");
  }
  return out;
}

}  // namespace perennial::simulation
