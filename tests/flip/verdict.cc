#include "tests/flip/verdict.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "tests/flip/data_blocks.h"
#include "tests/flip/seen.h"
#include "tests/store/child.h"

namespace perennial::store {
namespace {

constexpr int exit_failed = 7;  // The fatal event came: the server would end with its message.

struct Report {
  bool is_open = false;
  bool is_done = false;
  Verdict verdict = Verdict::Wrong;
  BatchIndex index = 0;
  bool was_truncated = false;
};

// "first_dropped=7" and so on.
std::string dropped_field(BatchIndex index) {
  return fmt::format("first_dropped={} ", index);
}

// Bodies are checked when they are read. Each must be correct or reported as damaged.
Verdict judge_bodies(const Store& store, const Image& image, std::string& damaged,
                     std::string& message) {
  const Snapshot snapshot = store.snapshot();
  Verdict verdict = Verdict::Whole;
  for (const auto& [id, row] : image.jobs) {
    const Result<Body> body = store.read_body(id, &snapshot);
    if (body.ok() && body->view() == body_of(id)) continue;
    damaged += fmt::format("{} ", id);
    message = body.ok() ? fmt::format("body of job {} is another", id) : body.status().message();
    // The body of a damaged block is not there once the block is contained: store/damage.
    const StatusCode code = body.ok() ? StatusCode::Ok : body.status().code();
    if (code != StatusCode::Corruption && code != StatusCode::NotFound) return Verdict::Wrong;
    verdict = Verdict::BodyDamaged;
  }
  return verdict;
}

// The damaged blocks of ended jobs, of their order, and of bodies, which may be of ended jobs.
struct EndedDamage {
  std::vector<DataBlock> rows;
  std::vector<DataBlock> places;
  std::vector<DataBlock> bodies;
};

// REQUIRES: the copy is not open yet, because a store that is open deletes tables.
EndedDamage damage_of(const Specimen& specimen, const std::string& copy) {
  return {.rows = damaged_blocks_of(specimen.path, copy, Family::Ended),
          .places = damaged_blocks_of(specimen.path, copy, Family::EndedOrder),
          .bodies = damaged_blocks_of(specimen.path, copy, Family::Bodies)};
}

std::set<JobId> ended_jobs_in(const std::vector<DataBlock>& blocks, const Image& image) {
  std::set<JobId> out;
  for (const DataBlock& block : blocks) out.merge(block.ended_jobs(image));
  return out;
}

// Removes the ended jobs from `image` that the store has lost. Returns what is wrong: the store
// must have lost those with a row in a damaged block, may have lost those with a place in one,
// where that is not an old one, and those with a body in one, which a start removes when a
// compaction has met the block before it loads; and no others. It says that there is such a block.
std::string take_lost(const Store& store, const EndedDamage& damage, const Image& found,
                      Image& image, EndedLost& lost) {
  const std::set<JobId> rows = ended_jobs_in(damage.rows, image);
  const std::set<JobId> places = ended_jobs_in(damage.places, image);
  const std::set<JobId> bodies = ended_jobs_in(damage.bodies, image);
  const std::map<JobId, EndedJob> all = image.ended;
  for (const auto& [id, job] : all) {
    const bool is_there = found.ended.contains(id);
    if (is_there && rows.contains(id)) return fmt::format("ended job {} is in no block", id);
    if (is_there) continue;
    const bool may_be_lost = rows.contains(id) || places.contains(id) || bodies.contains(id);
    if (!may_be_lost) return fmt::format("ended job {} is lost", id);
    if (!rows.contains(id)) lost.with_row.emplace(id, job);
    image.ended.erase(id);
  }
  if (!damage.rows.empty()) lost.table = damage.rows.front().file;
  const std::vector<DamagedBlock> blocks = store.damaged_blocks();
  const bool is_said = std::ranges::any_of(blocks, [](const DamagedBlock& block) {
    return is_of_ended_jobs(block.family) || block.family == Family::Bodies;
  });
  return is_said || image.ended.size() == all.size() ? "" : "nothing says that ended jobs are lost";
}

// What the store has lost, for comparison with a reader.
struct Lost {
  std::string bodies;  // The ids of damaged ones.
  EndedLost ended;
};

Verdict judge_image(Store& store, const Specimen& specimen, const EndedDamage& damage,
                    const Result<Image>& found, const std::string& events, Lost& lost,
                    std::string& message) {
  if (!found.ok()) {
    message = found.status().message();
    return Verdict::Refused;
  }
  const BatchIndex last = specimen.model.index();
  const BatchIndex index = store.opening().last_index;
  message = fmt::format("{} of {} batches", index, last);
  if (index > last) return Verdict::Wrong;
  const StoreModel model = specimen.model_at(index);
  Image wanted = model.image();
  const std::string wrong = take_lost(store, damage, *found, wanted, lost.ended);
  if (!wrong.empty() || *found != wanted) {
    message += ": " + (wrong.empty() ? difference(store, wanted) : wrong);
    return Verdict::Wrong;
  }
  if (store.opening().next_id < model.next_id()) {
    message += fmt::format(": the next id is {}, not {}", store.opening().next_id, model.next_id());
    return Verdict::Wrong;
  }
  const Verdict bodies = judge_bodies(store, model.image(), lost.bodies, message);
  if (bodies != Verdict::Whole) return bodies;
  if (wanted.ended.size() != model.image().ended.size()) return Verdict::EndedDamaged;
  if (index == last) return Verdict::Whole;
  const bool is_reported =
      events.find(dropped_field(last)) != std::string::npos && index + 1 == last;
  return is_reported ? Verdict::LastDropped : Verdict::Shorter;
}

Verdict judge_open(Store& store, const Specimen& specimen, const EndedDamage& damage,
                   const Seen& seen, const std::string& events, std::string& message) {
  const Result<Image> found = read_image(store);
  Lost lost;
  const Verdict verdict = judge_image(store, specimen, damage, found, events, lost, message);
  const std::string other = difference(seen, store.opening(), found, lost.bodies, lost.ended);
  if (verdict == Verdict::Wrong || other.empty()) return verdict;
  message = other;
  return Verdict::Wrong;
}

Verdict judge_refused(const Status& refused, const Seen& seen, std::string& message) {
  message = refused.message();
  const std::string other = difference(seen, refused);
  if (other.empty()) return Verdict::Refused;
  message += "; " + other;
  return Verdict::Wrong;
}

void visit(const Specimen& specimen, const std::string& path, const Pipe& pipe) {
  Report report;
  std::string events;
  Options options = {.data_dir = path};
  options.events.info = [&](std::string_view at, std::string_view fields) {
    if (at == "store.log_cut" || at == "store.manifest_cut") events += std::string(fields) + " ";
  };
  options.events.fatal = [](const Status&) { ::_exit(exit_failed); };
  const EndedDamage damage = damage_of(specimen, path);
  const Seen seen = look_at(path);
  Result<std::unique_ptr<Store>> store = Store::open(options);
  report.is_open = true;
  pipe.send(report);
  std::string message;
  report.verdict = store.ok() ? judge_open(**store, specimen, damage, seen, events, message)
                              : judge_refused(store.status(), seen, message);
  report.index = store.ok() ? (*store)->opening().last_index : 0;
  report.was_truncated = !events.empty();
  report.is_done = true;
  pipe.send(report);
  pipe.send_bytes(message.data(), message.size());
  ::_exit(0);
}

}  // namespace

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::Whole:
      return "whole";
    case Verdict::Refused:
      return "refused";
    case Verdict::BodyDamaged:
      return "body damaged";
    case Verdict::EndedDamaged:
      return "ended damaged";
    case Verdict::LastDropped:
      return "last dropped";
    case Verdict::Shorter:
      return "shorter";
    case Verdict::Wrong:
      return "WRONG";
  }
  return "";
}

Judgement judge(const Specimen& specimen, const std::string& path) {
  const ChildEnd end = run_child([&](const Pipe& pipe) { visit(specimen, path, pipe); });
  Judgement out;
  Report report;
  const size_t reports = end.sent.size() < 2 * sizeof report ? end.sent.size() / sizeof report : 2;
  if (reports > 0) {
    std::memcpy(&report, end.sent.data() + (reports - 1) * sizeof report, sizeof report);
  }
  // RocksDB aborts on an error in some places of DB::Open. Such an abort counts as a refusal.
  if (end.signal == SIGABRT && !report.is_open) return {.verdict = Verdict::Refused};
  if (end.exit_code == exit_failed) return {.verdict = Verdict::Refused};
  if (end.signal != 0 || !report.is_done) {
    out.message = fmt::format("signal {}, exit code {}", end.signal, end.exit_code);
    return out;
  }
  out.verdict = report.verdict;
  out.index = report.index;
  out.was_truncated = report.was_truncated;
  out.message = end.sent.substr(2 * sizeof report);
  return out;
}

void Tally::print(const char* title) const {
  std::printf("%s:\n", title);
  for (const auto& [kind, verdicts] : counts_) {
    std::printf("  %-9s", kind.c_str());
    for (const auto& [verdict, count] : verdicts) {
      std::printf("  %s %d", name_of(verdict), count);
    }
    std::printf("\n");
  }
}

}  // namespace perennial::store
