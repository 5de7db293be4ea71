#include "tests/support/core_harness.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "engine/types/check.h"

namespace perennial::support {
namespace {

// Reads ended jobs as a store does.
struct ReadEnded {
  const MemoryStore& store;
  const std::set<JobId>& damaged;

  store::EndedFound found(const EndedJob& job) const {
    store::EndedFound out = {.job = job};
    const std::optional<std::string> body = store.body(job.row.id);
    if (body && !damaged.contains(job.row.id)) out.body = Body(*body);
    out.notes = store.notes(job.row.id);
    return out;
  }
  std::map<uint64_t, const EndedJob*> of_tube(const std::string& tube) const {
    std::map<uint64_t, const EndedJob*> jobs;
    for (const auto& [id, job] : store.ended())
      if (job.tube == tube) jobs[job.place] = &job;
    return jobs;
  }

  core::EndedResult operator()(const core::EndedJobRead& read) const {
    const auto job = store.ended().find(read.id);
    if (job == store.ended().end()) return std::optional<store::EndedFound>();
    return std::optional(found(job->second));
  }
  core::EndedResult operator()(const core::EndedPlacesRead& read) const {
    std::vector<core::EndedPlace> places;
    for (const auto& [place, job] : of_tube(read.tube)) {
      if (place < read.first || places.size() == read.count) continue;
      const uint32_t notes = job->row.fields ? notes_kept(job->row.fields->notes) : 0;
      places.push_back({place, job->row.id, job->at, notes});
    }
    return places;
  }
  core::EndedResult operator()(const store::EndedQuery& query) const {
    store::EndedPage page = {.is_end = true};
    std::vector<const EndedJob*> jobs;
    for (const auto& [place, job] : of_tube(query.tube)) jobs.push_back(job);
    if (query.newest_first) std::ranges::reverse(jobs);
    for (const EndedJob* const job : jobs) {
      const bool is_behind = query.newest_first ? query.from == 0 || job->place < query.from
                                                : job->place >= query.from;
      if (!is_behind || job->at < query.since) continue;
      if (page.jobs.size() == query.jobs_max) {
        page.is_end = false;
        break;
      }
      page.jobs.push_back(found(*job));
      page.next_place = query.newest_first ? job->place : job->place + 1;
    }
    return page;
  }
  core::EndedResult operator()(const EndedGroupsQuery& query) const {
    std::vector<const EndedJob*> jobs;
    for (const KeptOfTube& kept : query.tubes) {
      for (const auto& [place, job] : of_tube(kept.tube)) {
        const bool is_kept =
            kept.span.first <= place && place < kept.span.next && job->at >= kept.since;
        if (is_kept) jobs.push_back(job);
      }
    }
    const auto rank = [](const EndedPosition& at) {
      return std::make_tuple(-at.at, at.tube, UINT64_MAX - at.place);
    };
    const auto rank_of = [&rank](const EndedJob* job) {
      return rank({.at = job->at, .tube = job->tube, .place = job->place});
    };
    std::ranges::sort(jobs, {}, rank_of);
    EndedGrouping grouping(query);
    for (const EndedJob* const job : jobs) {
      if (query.after && rank_of(job) <= rank(*query.after)) continue;
      if (!grouping.take({.at = job->at, .tube = job->tube, .place = job->place}, job)) {
        return grouping.finish(false);
      }
    }
    return grouping.finish(true);
  }
};

}  // namespace
namespace {

// A day in 2023. The value has no significance.
constexpr Nanos first_now = 1'700'000'000 * nanos_per_second;

core::Options with_facts(core::Options options) {
  if (!options.process_facts) options.process_facts = [] { return ProcessFacts{}; };
  if (!options.store_facts) options.store_facts = [] { return StoreFacts{}; };
  return options;
}

}  // namespace

CoreHarness::CoreHarness(core::Options options)
    : options_(with_facts(std::move(options))), now_(first_now) {
  start();
}

CoreHarness::~CoreHarness() = default;

void CoreHarness::start() {
  core_ = std::make_unique<core::Core>(options_);
  creating_kept_ = creating_temporary_ = false;
  now_ = std::max(now_, store_.last_now());
  const engine::Image& image = store_.image();
  engine::Engine& engine = core_->engine();
  for (const auto& [id, name] : image.tubes) CHECK(engine.restore_tube(id, name).ok());
  for (const auto& [id, pause] : image.pauses) {
    CHECK(engine.restore_pause({id, pause.first, pause.second}, now_).ok());
  }
  for (const auto& [tube, settings] : image.settings) {
    CHECK(engine.restore_settings({tube, settings}).ok());
  }
  for (const auto& [tube, span] : image.ended) CHECK(engine.restore_ended(tube, span).ok());
  for (const auto& [name, stored] : image.schedules) {
    CHECK(engine.restore_schedule(stored).ok());
    core_->restore_schedule_body(name, Body(store_.schedule_bodies().at(name)));
  }
  for (const auto& [id, row] : image.jobs) CHECK(engine.restore_job(row, now_).ok());
  for (const auto& [name, key] : image.keys) CHECK(engine.restore_key(key, now_).ok());
  core_->resume(1, store_.last_index(), image.id_limit, now_);
  while (!core_->is_caught_up(now_)) core_->on_timer(now_);
  pump();
}

ConnId CoreHarness::open(bool may_checkpoint) {
  return open_as({.may_checkpoint = may_checkpoint});
}

ConnId CoreHarness::open_as(const access::ClientRights& rights) {
  open_.insert(++last_conn_);
  core_->open(last_conn_, now_, rights);
  pump();
  return last_conn_;
}

void CoreHarness::send(ConnId conn, std::string_view bytes) {
  if (bytes.empty() || !open_.contains(conn)) return;
  core_->session(conn)->on_bytes(bytes, now_);
  pump();
}

void CoreHarness::end(ConnId conn) {
  if (!open_.contains(conn)) return;
  core_->session(conn)->on_eof(now_);
  pump();
}

void CoreHarness::close(ConnId conn) {
  if (open_.erase(conn) == 0) return;
  core_->session(conn)->on_close(now_);
  pump();
}

std::string CoreHarness::receive(ConnId conn) {
  pump();
  return std::exchange(received_[conn], {});
}

void CoreHarness::advance(Nanos by) {
  const Nanos end = later(now_, by);
  pump();
  // What is due at the last time that there is stays due, since nothing comes after it.
  for (std::optional<Nanos> next = core_->next_deadline();
       next && *next <= end && *next < last_time; next = core_->next_deadline()) {
    now_ = std::max(now_, *next);
    core_->on_timer(now_);
    pump();
    if (!committing_ && core_->batch_due(now_)) break;
  }
  now_ = end;
  core_->on_timer(now_);
  pump();
}

void CoreHarness::commit() {
  serve_reads();
  take_point();
  while (core_->has_batch()) {
    commit_one();
    take_point();
  }
  pump();
}

bool CoreHarness::take_point() {
  core_->checkpoints().freeze_point(now_);
  const std::optional<core::CheckpointPoint> cut = core_->checkpoints().take_point();
  if (!cut) return false;
  CHECK(cut->index == store_.last_index());
  StateCounts held;
  for (const auto& entry : store_.image().jobs) ++count_of(held, entry.second.state);
  CHECK(held == cut->jobs);
  cuts_.push_back(*cut);
  (cut->temporary ? creating_temporary_ : creating_kept_) = true;
  return true;
}

void CoreHarness::finish_checkpoint(const Reply& answer) {
  creating_kept_ = false;
  core_->checkpoints().on_made(answer);
  pump();
}

void CoreHarness::finish_temporary(const Reply& answer) {
  creating_temporary_ = false;
  core_->checkpoints().on_temporary_made(answer);
  pump();
}

void CoreHarness::commit_one() {
  store::Batch batch = core_->take_batch(now_);
  store_.write(batch);
  store_.sync();
  core_->on_committed(batch.index(), batch.index(), now_, commits_take_);
  core_->recycle(std::move(batch));
  run_commands();
  serve_reads();
}

void CoreHarness::crash() {
  store_.lose_unsynced();
  open_.clear();
  core_.reset();
  start();
}

void CoreHarness::restart() {
  commit();
  store_.set_next_id(core_->engine().view().next_id());
  open_.clear();
  core_.reset();
  start();
}

void CoreHarness::pump() {
  for (bool again = true; again;) {
    run_commands();
    serve_reads();
    const bool has_cut = committing_ && take_point();
    if (committing_ && core_->batch_due(now_)) commit_one();
    again =
        deliver() || has_cut || core_->has_runnable() || (committing_ && core_->batch_due(now_));
    core_->check();
  }
}

void CoreHarness::run_commands() {
  while (core_->has_runnable()) core_->run_next(now_);
}

void CoreHarness::serve_reads() {
  // A body that was read lets its connection continue, which may request the next body.
  for (auto reads = core_->take_reads(); !reads.empty(); reads = core_->take_reads()) {
    for (const core::BodyRead& read : reads) serve_read(read);
    run_commands();
  }
  for (const core::NoteRead& read : core_->take_note_reads()) {
    if (damaged_.contains(read.job)) {
      core_->on_notes(read.ticket, Status(StatusCode::Corruption, "damaged by the test"));
    } else {
      core_->on_notes(read.ticket, store_.notes(read.job));
    }
  }
  for (auto reads = core_->take_ended_reads(); !reads.empty(); reads = core_->take_ended_reads()) {
    for (const core::EndedRead& read : reads) {
      core_->on_ended(read.ticket, std::visit(ReadEnded{store_, damaged_}, read.what), now_);
    }
    run_commands();
  }
}

void CoreHarness::serve_read(const core::BodyRead& read) {
  const std::optional<std::string> body = store_.body(read.job);
  if (!body || damaged_.contains(read.job)) {
    core_->on_body(read.job, Status(StatusCode::Corruption, "damaged by the test"), now_);
  } else {
    core_->on_body(read.job, Body(*body), now_);
  }
}

// Moves output to the clients. Returns whether there was any.
bool CoreHarness::deliver() {
  std::vector<ConnId> changed;
  core_->on_answers_leave(now_);
  core_->take_changed(changed);
  for (const ConnId conn : changed) {
    if (!open_.contains(conn) && on_internal_ && core_->session(conn) != nullptr) {
      on_internal_(conn);
      continue;
    }
    if (!open_.contains(conn)) continue;
    const std::string_view output = core_->session(conn)->output();
    if (clients_reading_ && !output.empty()) {
      received_[conn].append(output);
      core_->session(conn)->on_written(output.size());
    }
    if (!core_->session(conn)->finished()) continue;
    open_.erase(conn);
    closed_.insert(conn);
    core_->session(conn)->on_close(now_);
  }
  return !changed.empty();
}

}  // namespace perennial::support
