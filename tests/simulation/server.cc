#include "tests/simulation/server.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/types/check.h"
#include "tests/support/fake_calendar.h"

namespace perennial::simulation {
namespace {

// No client that the history knows.
constexpr ConnId whispering_conn = ~ConnId{0};

// As a start gives it what was found.
Status give(const engine::Image& image, Nanos now, engine::Engine& engine) {
  Status status;
  const auto take = [&status](Status each) {
    if (status.ok()) status = std::move(each);
  };
  for (const auto& [id, name] : image.tubes) take(engine.restore_tube(id, name));
  for (const auto& [id, pause] : image.pauses) {
    take(engine.restore_pause({id, pause.first, pause.second}, now));
  }
  for (const auto& [tube, settings] : image.settings) {
    take(engine.restore_settings({tube, settings}));
  }
  for (const auto& [tube, span] : image.ended) take(engine.restore_ended(tube, span));
  for (const auto& [name, stored] : image.schedules) take(engine.restore_schedule(stored));
  for (const auto& [id, row] : image.jobs) take(engine.restore_job(row, now));
  for (const auto& [name, key] : image.keys) take(engine.restore_key(key, now));
  return status;
}

}  // namespace

core::Options Server::with_facts(core::Options options) const {
  options.process_facts = [] { return ProcessFacts{}; };
  options.store_facts = [] { return StoreFacts{}; };
  options.wall = [this] { return now_ + wall_ahead_; };
  options.engine.calendar = std::make_shared<support::FakeCalendar>(true, 0);
  return options;
}

Server::Server(core::Options options, Disk& disk, History& history, Nanos now)
    : disk_(disk),
      history_(history),
      core_(std::make_unique<core::Core>(with_facts(std::move(options)))),
      now_(now) {
  deliver_ = [this](ConnId conn, std::string_view bytes) {
    history_.add(
        {.kind = Event::Kind::Received, .conn = conn, .now = now_, .bytes = std::string(bytes)});
  };
}

Status Server::start() {
  Result<Disk::Found> found = disk_.open();
  if (!found.ok()) return found.take_status();
  history_.add({.kind = Event::Kind::Found,
                .now = now_,
                .index = found->opening.last_index,
                .bytes = text_of(found->image)});
  if (Status restored = restore(*found); !restored.ok()) return restored;
  while (!core_->is_caught_up(now_)) core_->on_timer(now_);
  pump();
  return {};
}

Status Server::restore(const Disk::Found& found) {
  now_ = std::max(now_, found.opening.last_now);
  // An engine of its own tells first whether it takes what was found: with a planted bug it may
  // not, and core would end the process.
  engine::Engine probe{engine::Limits()};
  engine::Output output;
  if (Status given = give(found.image, now_, probe); !given.ok()) return given;
  if (Status done = probe.finish_restore(found.opening.next_id, now_, output); !done.ok()) {
    return done;
  }
  CHECK(give(found.image, now_, core_->engine()).ok());
  for (const auto& [name, body] : found.schedule_bodies) {
    core_->restore_schedule_body(name, Body(body));
  }
  image_ = found.image;
  reply_index_ = durable_ = answers_durable_ = found.opening.last_index;
  core_->resume(found.opening.epoch, found.opening.last_index, found.opening.next_id, now_);
  return {};
}

void Server::open(ConnId conn, bool has_leases) {
  open_.insert(conn);
  const Event::Kind kind = has_leases ? Event::Kind::OpenedForLeases : Event::Kind::Opened;
  history_.add({.kind = kind, .conn = conn, .now = now_});
  access::ClientRights rights;
  rights.has_leases = has_leases && !ignores_leases_;
  core_->open(conn, now_, rights);
  pump();
}

void Server::send(ConnId conn, std::string_view bytes) {
  history_.add({.kind = Event::Kind::Sent, .conn = conn, .now = now_, .bytes = std::string(bytes)});
  core_->session(conn)->on_bytes(bytes, now_);
  pump();
}

void Server::close(ConnId conn) {
  CHECK(open_.erase(conn) == 1);
  history_.add({.kind = Event::Kind::Closed, .conn = conn, .now = now_});
  core_->session(conn)->on_close(now_);
  pump();
}

void Server::whisper(std::string_view bytes) {
  if (!whispers_) core_->open(whispering_conn, now_);
  whispers_ = true;
  core_->session(whispering_conn)->on_bytes(bytes, now_);
  pump();
}

void Server::advance(Nanos by) {
  const Nanos end = now_ + by;
  for (std::optional<Nanos> next = core_->next_deadline(); next && *next <= end;
       next = core_->next_deadline()) {
    now_ = std::max(now_, *next);
    core_->on_timer(now_);
    pump();
    // A batch that is due but not handed over waits for the commit delay.
    if (core_->batch_due(now_)) break;
  }
  now_ = end;
  core_->on_timer(now_);
  pump();
}

void Server::begin_commit() {
  if (committing_ || !failure_.ok() || !core_->batch_due(now_)) return;
  serve_reads();
  store::Batch batch = core_->take_batch(now_);
  fold(batch);
  ++batches_;
  history_.add(
      {.kind = Event::Kind::Batch, .now = now_, .index = batch.index(), .bytes = text_of(image_)});
  disk_.submit(std::move(batch));
  committing_ = true;
}

// Applies the net effects of a batch to the image. Their order does not matter.
void Server::fold(const store::Batch& batch) {
  for (const store::MetaEffect& meta : batch.metas()) {
    if (const auto* const ended = std::get_if<TubeEnded>(&meta)) {
      image_.tubes.erase(ended->tube);
      image_.pauses.erase(ended->tube);
    } else if (!std::holds_alternative<NextIdRaised>(meta)) {
      std::visit([this](const auto& one) { engine::fold(image_, Transition(one)); }, meta);
    }
  }
  for (const store::KeyEffect& key : batch.keys()) {
    if (const auto* const freed = std::get_if<KeyFreed>(&key)) {
      image_.keys.erase({freed->tube, freed->key});
    } else {
      engine::fold(image_, std::get<KeyStored>(key));
    }
  }
  for (const store::JobEffect& effect : batch.jobs()) {
    if (effect.after) {
      image_.jobs[effect.id] = *effect.after;
    } else {
      image_.jobs.erase(effect.id);
    }
  }
  for (const auto& [tube, span] : batch.spans()) {
    image_.ended[tube] = span;
    if (span.empty()) image_.ended.erase(tube);
  }
  for (const store::ScheduleEffect& effect : batch.schedules()) {
    if (!effect.progress) {
      image_.schedules.erase(effect.name);
      continue;
    }
    ScheduleStored& stored = image_.schedules[effect.name];
    if (effect.schedule) stored.schedule = effect.schedule;
    stored.progress = *effect.progress;
  }
}

void Server::finish_commit() {
  if (!committing_) return;
  take(disk_.finish());
  committing_ = false;
  if (!failure_.ok()) return;
  serve_ended_reads(true);
  pump();
  check_memory();
}

void Server::look() {
  take(disk_.look());
  serve_ended_reads(true);
  pump();
}

void Server::take(Disk::Done done) {
  if (failure_.ok()) failure_ = done.failure;
  if (!failure_.ok()) return;
  // The durable mark is reported before any answer, so that the history knows what may be lost.
  if (done.durable > durable_) {
    durable_ = done.durable;
    history_.add({.kind = Event::Kind::Durable, .now = now_, .index = durable_});
  }
  reply_index_ = std::max(reply_index_, done.reply_index);
  core_->on_committed(reply_index_, std::min(durable_, reply_index_), now_);
  for (store::Batch& batch : done.batches) core_->recycle(std::move(batch));
  if (durable_ == reply_index_ && answers_durable_ != durable_) {
    answers_durable_ = durable_;
    history_.add({.kind = Event::Kind::AnswersDurable, .now = now_});
  }
}

// When no batch is in flight, the engine must hold exactly what was handed over.
void Server::check_memory() {
  if (core_->has_batch()) return;
  const std::string memory = text_of(core_->engine().image());
  if (memory == history_.last_image()) return;
  history_.add({.kind = Event::Kind::Problem,
                .now = now_,
                .bytes = "the batches do not lead to what the engine holds:\n" +
                         history_.last_image() + "----\n" + memory});
}

void Server::run_until_idle() {
  for (bool again = true; again;) {
    finish_commit();
    begin_commit();
    serve_ended_reads(true);
    pump();
    const bool has_more = !late_reads_.empty() || core_->batch_due(now_);
    again = committing_ || (failure_.ok() && has_more);
  }
}

Status Server::stop() {
  run_until_idle();
  now_ += nanos_per_second;  // The commit delay has passed.
  core_->on_timer(now_);
  pump();
  run_until_idle();
  if (!failure_.ok()) return failure_;
  return disk_.close(core_->engine().view().next_id());
}

void Server::pump() {
  do {
    while (core_->has_runnable()) core_->run_next(now_);
    serve_reads();
  } while (deliver() || core_->has_runnable());
}

void Server::serve_reads() {
  for (const core::BodyRead& read : core_->take_reads()) {
    Result<Body> body = disk_.body(read.job);
    const bool is_io = !body.ok() && body.status().code() == StatusCode::Io;
    if (is_io) failure_ = body.status();
    if (is_io) return;
    core_->on_body(read.job, std::move(body), now_);
  }
  for (const core::NoteRead& read : core_->take_note_reads()) {
    Result<std::vector<Note>> notes = disk_.notes(read.job);
    const bool is_io = !notes.ok() && notes.status().code() == StatusCode::Io;
    if (is_io) failure_ = notes.status();
    if (is_io) return;
    core_->on_notes(read.ticket, std::move(notes));
  }
  for (core::EndedRead& read : core_->take_ended_reads()) {
    late_reads_.push_back({.read = std::move(read), .result = {}});
    serve_ended_reads(late_reads_.back().read.ticket % 3 == 0);
  }
}

// The pool of a server reads them off the loop: a third of them at once here, a third is read at
// once and comes back late, and the others are read late. Their order stays.
void Server::serve_ended_reads(bool at_once) {
  for (LateRead& late : late_reads_) {
    const bool is_read_now = at_once || late.read.ticket % 3 == 1;
    if (late.result || !is_read_now) continue;
    Result<core::EndedResult> result = disk_.ended(late.read);
    if (!result.ok()) failure_ = result.status();
    if (!result.ok()) return;
    late.result = result.take();
  }
  while (at_once && !late_reads_.empty() && late_reads_.front().result) {
    LateRead late = std::move(late_reads_.front());
    late_reads_.pop_front();
    core_->on_ended(late.read.ticket, std::move(*late.result), now_);
  }
}

bool Server::deliver() {
  if (failure_.ok() && !disk_.may_answer()) failure_ = Status(StatusCode::Io, "another may serve");
  if (!failure_.ok()) return false;
  std::vector<ConnId> changed;
  core_->take_changed(changed);
  for (const ConnId conn : changed) {
    if (!open_.contains(conn)) continue;
    const std::string output(core_->session(conn)->output());
    if (output.empty()) continue;
    core_->session(conn)->on_written(output.size());
    deliver_(conn, output);
  }
  return !changed.empty();
}

}  // namespace perennial::simulation
