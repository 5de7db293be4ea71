#include "cmd/perennial-bench/load/load.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cmd/common/tool/progress.h"
#include "cmd/perennial-bench/servers/clock.h"
#include "cmd/perennial-bench/servers/stopping.h"
#include "engine/types/check.h"

namespace perennial::bench {
namespace {

constexpr int events_max = 256;
constexpr Nanos silence_max = 30 * nanos_per_second;
constexpr Nanos look_interval = nanos_per_second / 10;
constexpr uint32_t setup_requests = 3;
constexpr size_t small_request_bytes = 128;
constexpr size_t reply_line_bytes_max = 256;
constexpr size_t id_bytes_max = 21;  // With the space before it.

// A unique name: no other process has this pid now, and this process has no other load at this
// time.
std::string fresh_tube() {
  return fmt::format("perennial-bench-{}-{}", ::getpid(), now_nanos());
}

// The numbers of a put, which are also the line of an item of a batch.
std::string job_line(uint32_t body_bytes) {
  // Longer than any run, because a job must not time out while a client holds it.
  constexpr uint32_t ttr_seconds = 1'000'000;
  return fmt::format("1024 0 {} {}\r\n", ttr_seconds, body_bytes);
}

}  // namespace

Load::Load(const LoadSpec& spec, Nanos duration, tool::StopSignals& signals)
    : spec_(spec),
      signals_(signals),
      tube_(fresh_tube()),
      recorder_(std::make_unique<Recorder>(duration)),
      bodies_(spec.body_bytes, spec.seed) {
  prepare_put();
  if (spec.batch > 1) prepare_batches();
}

void Load::prepare_put() {
  const std::string head = fmt::format("put {}", job_line(spec_.body_bytes));
  put_bytes_ = head + std::string(spec_.body_bytes, ' ') + "\r\n";
  body_at_ = head.size();
}

void Load::prepare_batches() {
  const std::string item_head = job_line(spec_.body_bytes);
  put_batch_stride_ = item_head.size() + spec_.body_bytes + 2;
  const std::string head =
      fmt::format("put-batch {} {}\r\n", spec_.batch, spec_.batch * put_batch_stride_ - 2);
  put_batch_body_at_ = head.size() + item_head.size();
  put_batch_bytes_ = head;
  for (uint32_t i = 0; i < spec_.batch; ++i)
    put_batch_bytes_ += item_head + std::string(spec_.body_bytes, ' ') + "\r\n";
  reserve_batch_line_ = fmt::format("reserve-batch {}\r\n", spec_.batch);
  delete_batch_line_.reserve(spec_.batch * id_bytes_max + small_request_bytes);
}

Load::~Load() {
  if (epoll_ >= 0) ::close(epoll_);
}

Status Load::open(const Target& server) {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) return common::system_error("epoll_create");
  const size_t count = size_t{spec_.producers} + spec_.workers + spec_.mixed + spec_.cyclers;
  clients_.reserve(count);
  waiting_.reserve(count);
  woken_.reserve(count);
  constexpr uint32_t worker_requests = 2;
  if (Status s = add_clients(server, Role::Producer, spec_.producers, spec_.in_flight); !s.ok())
    return s;
  if (Status s = add_clients(server, Role::Worker, spec_.workers, worker_requests); !s.ok())
    return s;
  if (Status s = add_clients(server, Role::Mixed, spec_.mixed, 1); !s.ok()) return s;
  return add_clients(server, Role::Cycler, spec_.cyclers, 1);
}

Status Load::add_clients(const Target& server, Role role, uint32_t count, uint32_t requests) {
  const Connection::Limits limits = limits_of(role, requests);
  for (uint32_t i = 0; i < count; ++i) {
    auto client = std::make_unique<Client>(Client{.role = role, .connection = {}});
    if (Status s = client->connection.open(server, limits); !s.ok())
      return std::move(s).with(fmt::format("connection {}", clients_.size() + 1));
    client->due = role == Role::Producer ? requests : 1;
    client->mixed = MixedClient(spec_.seed + clients_.size());
    const Nanos now = now_nanos();
    client->connection.request(Operation::Setup, fmt::format("use {}\r\n", tube_), now);
    client->connection.request(Operation::Setup, fmt::format("watch {}\r\n", tube_), now);
    client->connection.request(Operation::Setup, "ignore default\r\n", now);
    // Edge-triggered, so that the registration never changes.
    epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLET, .data = {.ptr = client.get()}};
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, client->connection.fd(), &event) != 0)
      return common::system_error("epoll_ctl");
    clients_.push_back(std::move(client));
  }
  return {};
}

Connection::Limits Load::limits_of(Role role, uint32_t requests) const {
  // A delete-batch is shorter than a put-batch, unless the bodies are tiny.
  const size_t request_bytes =
      role == Role::Worker
          ? 0
          : std::max({put_bytes_.size(), put_batch_bytes_.size(), spec_.batch * id_bytes_max});
  const size_t reply_bytes = size_t{spec_.body_bytes} + reply_line_bytes_max;
  return {.requests = requests + setup_requests,
          .request_bytes = request_bytes + small_request_bytes,
          .reply_bytes = (role == Role::Cycler ? spec_.batch + 1 : 1) * reply_bytes};
}

Status Load::run_for(Nanos duration, Operation counted, uint64_t at_least) {
  const Nanos begun = now_nanos();
  recorder_->begin(begun);
  if (Status s = begin_all(begun); !s.ok()) return s;
  const Nanos end = begun + duration;
  while (now_nanos() < end || recorder_->of(counted).count < at_least)
    if (Status s = turn(std::max(end, now_nanos() + nanos_per_ms)); !s.ok()) return s;
  return {};
}

Status Load::run_jobs(uint64_t count) {
  CHECK(spec_.mixed == 0 && spec_.cyclers == 0);
  CHECK(spec_.producers == 0 || spec_.workers == 0);
  tool::Progress progress(spec_.producers > 0 ? "jobs put" : "jobs taken", count);
  left_ = count;
  ended_ = 0;
  if (Status s = begin_all(now_nanos()); !s.ok()) return s;
  while (ended_ < count) {
    if (Status s = turn(now_nanos() + look_interval); !s.ok()) return s;
    progress.at(ended_);
  }
  return {};
}

Status Load::begin_all(Nanos now) {
  heard_at_ = now;
  paced_from_ = now;
  paced_count_ = 0;
  for (const std::unique_ptr<Client>& client : clients_) {
    fill(*client, now);
    if (Status s = client->connection.send(); !s.ok()) return s;
  }
  return {};
}

Status Load::turn(Nanos until) {
  if (spec_.rate > 0 && !waiting_.empty()) until = std::min(until, next_put_at());
  const Nanos wait = std::clamp(until - now_nanos(), Nanos{0}, look_interval);
  const timespec timeout = {.tv_sec = 0, .tv_nsec = wait};
  std::array<epoll_event, events_max> events;
  const int ready = ::epoll_pwait2(epoll_, events.data(), events_max, &timeout, nullptr);
  if (ready < 0 && errno != EINTR) return common::system_error("epoll_wait");
  for (int i = 0; i < ready; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    if (Status s = on_event(*static_cast<Client*>(event.data.ptr), event.events); !s.ok()) return s;
  }
  if (!waiting_.empty())
    if (Status s = fill_waiting(); !s.ok()) return s;
  return check_progress(now_nanos());
}

Status Load::on_event(Client& client, uint32_t events) {
  const bool readable = (events & ~uint32_t{EPOLLOUT}) != 0;
  if (readable)
    if (Status s = on_readable(client); !s.ok()) return s;
  return client.connection.has_unsent() ? client.connection.send() : Status();
}

Status Load::on_readable(Client& client) {
  for (;;) {
    const Result<bool> more = client.connection.receive();
    if (!more.ok()) return more.status();
    heard_at_ = now_nanos();
    for (;;) {
      Connection::Reply reply;
      const Result<bool> whole = client.connection.next(reply);
      if (!whole.ok()) return whole.status();
      if (!*whole) break;
      if (Status s = on_reply(client, reply, heard_at_); !s.ok()) return s;
    }
    fill(client, heard_at_);
    if (!*more) return {};
  }
}

Status Load::fill_waiting() {
  woken_.swap(waiting_);
  const Nanos now = now_nanos();
  for (Client* client : woken_) {
    client->waiting = false;
    fill(*client, now);
    if (client->connection.has_unsent())
      if (Status s = client->connection.send(); !s.ok()) return s;
  }
  woken_.clear();
  return {};
}

// Checks for signals and for servers that do not answer, ten times a second.
Status Load::check_progress(Nanos now) {
  if (now < look_at_) return {};
  look_at_ = now + look_interval;
  if (Status s = check_stop(signals_); !s.ok()) return s;
  if (now - heard_at_ > silence_max) return {StatusCode::Io, "the server has stopped answering"};
  return {};
}

}  // namespace perennial::bench
