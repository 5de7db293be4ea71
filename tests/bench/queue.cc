#include "tests/bench/queue.h"

#include <algorithm>

#include "engine/types/check.h"

namespace perennial::microbench {
namespace {

constexpr uint32_t ttr_s = 60;
constexpr uint32_t body_bytes = 128;

}  // namespace

Queue::Queue(uint32_t tubes, uint32_t jobs)
    : engine_(engine::Limits{}), used_tubes_(std::min(tubes, jobs)) {
  for (uint32_t i = 0; i < tubes; ++i) connect("tube-" + std::to_string(i));
  worker_ = connect("handed-on");
  producer_ = connect("handed-on");
  for (uint32_t i = 0; i < jobs; ++i) put();
  CHECK(engine_.view().state_counts().ready == jobs);
}

JobId Queue::put(uint32_t delay_s) {
  const Put put = {
      .priority = next_priority(), .delay_s = delay_s, .ttr_s = ttr_s, .body_bytes = body_bytes};
  apply(take_turn(), Command{put});
  CHECK(out_.replies.size() == 1);
  return std::get<NumberReply>(out_.replies[0].reply).number;
}

JobId Queue::reserve() {
  apply(take_turn(), Command{Reserve{}});
  CHECK(out_.replies.size() == 1);
  return std::get<JobReply>(out_.replies[0].reply).id;
}

void Queue::remove(JobId id) {
  apply(take_turn(), Command{Delete{id}});
  expect(Word::Deleted);
}

void Queue::release(JobId id, uint32_t delay_s) {
  apply(take_turn(), Command{Release{.id = id, .priority = next_priority(), .delay_s = delay_s}});
  expect(Word::Released);
}

void Queue::bury(JobId id) {
  apply(take_turn(), Command{Bury{.id = id, .priority = next_priority()}});
  expect(Word::Buried);
}

void Queue::kick_job(JobId id) {
  apply(take_turn(), Command{KickJob{id}});
  expect(Word::Kicked);
}

void Queue::touch(JobId id) {
  apply(take_turn(), Command{Touch{id}});
  expect(Word::Touched);
}

void Queue::kick_one() {
  apply(take_turn(), Command{Kick{1}});
  CHECK(out_.replies.size() == 1);
  CHECK((std::get<NumberReply>(out_.replies[0].reply) == NumberReply{Word::KickedCount, 1}));
}

void Queue::reserve_put_delete() {
  apply(worker_, Command{Reserve{}});
  CHECK(out_.replies.empty());
  const Put put = {.priority = 0, .delay_s = 0, .ttr_s = ttr_s, .body_bytes = body_bytes};
  apply(producer_, Command{put});
  CHECK(out_.replies.size() == 2);
  CHECK(out_.replies[1].conn == worker_);
  apply(worker_, Command{Delete{std::get<JobReply>(out_.replies[1].reply).id}});
  expect(Word::Deleted);
}

size_t Queue::advance_time(uint32_t seconds) {
  now_ += seconds * nanos_per_second;
  apply(0, engine::Tick{});
  return out_.transitions.size();
}

void Queue::apply(ConnId conn, engine::Event event) {
  out_.clear();
  ++now_;  // Each input is a turn of its own, because a turn moves a limited number of jobs.
  engine_.apply({.now = now_, .conn = conn, .event = std::move(event)}, out_);
}

ConnId Queue::connect(const std::string& tube) {
  const ConnId conn = first_conn + conn_count_++;
  apply(conn, engine::Opened{});
  apply(conn, Command{Use{tube}});
  apply(conn, Command{Watch{tube}});
  apply(conn, Command{Ignore{"default"}});
  CHECK((std::get<NumberReply>(out_.replies[0].reply) == NumberReply{Word::Watching, 1}));
  return conn;
}

// Returns a pseudo-random priority. The sequence is the same in every run.
uint32_t Queue::next_priority() {
  random_ = random_ * 1'664'525 + 1'013'904'223;
  return random_ >> 16;
}

void Queue::expect(Word word) const {
  CHECK(out_.replies.size() == 1);
  CHECK(std::get<Word>(out_.replies[0].reply) == word);
}

Queue& Queues::of(uint32_t tubes, uint32_t jobs) {
  std::unique_ptr<Queue>& queue = queues_[{tubes, jobs}];
  if (queue == nullptr) queue = std::make_unique<Queue>(tubes, jobs);
  queue->rewind();
  return *queue;
}

}  // namespace perennial::microbench
