#include "tests/power_cut/load.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "tests/power_cut/conversation.h"
#include "tests/power_cut/history.h"
#include "tests/support/reply_text.h"

namespace perennial::power_cut {
namespace {

constexpr size_t connections_count = 4;
constexpr uint32_t commands_max = 10;
constexpr size_t jobs_aim = 40;  // Of each connection.
constexpr size_t large_body_bytes = 1'100'000;
// Only connection 0 uses these tubes. They hold one job each, which stays.
constexpr std::array<std::string_view, 2> paused_tubes = {"paused", "slow"};
// The tubes of these connections keep jobs that end.
constexpr size_t keeping_connections = 2;

std::string tube_of(size_t connection) {
  return fmt::format("tube-{}", connection);
}

bool keeps_ended(std::string_view tube) {
  return tube.starts_with("tube-") && tube < tube_of(keeping_connections);
}

}  // namespace

Status Load::open(const support::ServerProcess& server) {
  address_ = server.address();
  connections_.clear();
  jobs_.resize(connections_count);
  for (size_t index = 0; index < connections_count; ++index) {
    Result<support::ClientSocket> socket = support::ClientSocket::connect(address_);
    if (!socket.ok()) return socket.take_status();
    connections_.push_back({.socket = socket.take(), .index = index});
  }
  if (last_serial_ > 0) return {};
  for (const std::string_view tube : paused_tubes) {
    ++last_serial_;
    say(connections_[0], fmt::format("put 0 0 1000 1 tube:{}\r\nx", tube));
    connections_[0].put.push_back({.id = 0, .state = State::Gone});
  }
  for (size_t index = 0; index < keeping_connections; ++index)
    say(connections_[0], fmt::format("set-tube {} keep:86400", tube_of(index)));
  if (Status s = connections_[0].socket.send(connections_[0].lines); !s.ok()) return s;
  return read_answers(connections_[0]);
}

// The answer to a promised command implies what was done before it. The second command implies that
// this answer is in the recording: a kill may come between an answer and its event.
Status Load::close() {
  Result<std::string> answer =
      connections_[0].socket.ask(fmt::format("pause-tube {} {}\r\n", paused_tubes[0], long_s));
  if (!answer.ok()) return answer.take_status();
  answer = connections_[0].socket.ask(fmt::format("{}\r\n", unrecorded_command));
  if (!answer.ok()) return answer.take_status();
  connections_.clear();
  for (std::vector<Job>& jobs : jobs_) {
    std::erase_if(jobs, [](const Job& job) { return job.state == State::Gone; });
    for (Job& job : jobs) {
      if (job.state == State::Held) job.state = State::Ready;
    }
  }
  return {};
}

Status Load::run(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    for (Connection& connection : connections_) {
      for (uint32_t left = 1 + pick(commands_max); left > 0; --left) choose(connection);
    }
    if (Status s = run_round(); !s.ok()) return s;
  }
  return {};
}

Status Load::run_with_large_bodies(int count) {
  for (int i = 0; i < count; ++i) {
    Connection& connection = connections_[static_cast<size_t>(i) % connections_count];
    const Job job = {.tube = fmt::format("large-{}", connection.index)};
    say(connection, fmt::format("put 7 0 1000 {} tube:{}\r\n{}", large_body_bytes, job.tube,
                                body(large_body_bytes)));
    connection.put.push_back(job);
    if (Status s = run(1); !s.ok()) return s;
  }
  for (Connection& connection : connections_) {
    for (Job& job : jobs_[connection.index]) {
      if (!job.tube.starts_with("large") || job.state == State::Gone) continue;
      say(connection, fmt::format("delete {}", job.id));
      job.state = State::Gone;
    }
  }
  return run(1);
}

Status Load::run_with_checkpoint(int rounds) {
  Result<support::ClientSocket> socket = support::ClientSocket::connect(address_);
  if (!socket.ok()) return socket.take_status();
  if (Status s = socket->send("checkpoint\r\n"); !s.ok()) return s;
  if (Status s = run(rounds); !s.ok()) return s;
  const Result<std::string> answer = socket->read_reply();
  return answer.ok() ? Status() : answer.status();
}

Status Load::run_round() {
  for (Connection& connection : connections_) {
    if (Status s = connection.socket.send(connection.lines); !s.ok()) return s;
  }
  for (Connection& connection : connections_) {
    if (connection.lines.empty()) continue;
    if (Status s = read_answers(connection); !s.ok()) return s;
  }
  if (after_round_) after_round_();
  return {};
}

Status Load::read_answers(Connection& connection) {
  auto next = connection.put.begin();
  for (; connection.answers > 0; --connection.answers) {
    const Result<std::string> answer = connection.socket.read_reply();
    if (!answer.ok()) return answer.status();
    // Of a duplicate the state follows its id.
    const bool has_id = answer->starts_with("INSERTED ");
    const bool is_new = has_id && std::ranges::count(*answer, ' ') == 1;
    if (!is_new) continue;
    CHECK(next != connection.put.end());
    next->id = support::first_number(*answer);
    jobs_[connection.index].push_back(*next++);
  }
  connection.lines.clear();
  connection.put.clear();
  return {};
}

// ---- Commands.

void Load::say(Connection& connection, std::string_view line) {
  connection.lines += line;
  connection.lines += "\r\n";
  ++connection.answers;
}

void Load::choose(Connection& connection) {
  std::vector<Job>& jobs = jobs_[connection.index];
  const uint32_t choice = pick(100);
  if (choice < 3) return choose_put_batch(connection);
  if (choice < 6) return choose_duplicate(connection);
  if (choice < 8) return choose_delete_batch(connection);
  if (choice < 12 && connection.index == 0) return choose_for_tube(connection);
  if (choice == 12 && connection.index < keeping_connections) return choose_flush(connection);
  const auto alive =
      std::ranges::count_if(jobs, [](const Job& job) { return job.state != State::Gone; });
  const bool puts = choice < (static_cast<size_t>(alive) < jobs_aim ? 60 : 30);
  if (puts || jobs.empty()) return choose_put(connection);
  choose_for_job(connection, jobs[random_() % jobs.size()]);
}

void Load::choose_put(Connection& connection) {
  constexpr std::array<size_t, 12> sizes = {0,   1,   10,   100,  100,  300,
                                            300, 510, 1000, 4096, 9000, 60'000};
  constexpr std::array<uint32_t, 6> delays = {0, 0, 0, 0, 1, long_s};
  const uint32_t delay = delays[random_() % delays.size()];
  Job job = {.state = delay > 0 ? State::Delayed : State::Ready, .tube = tube_of(connection.index)};
  if (delay == 1) job.state = State::Gone;  // Its state is not known later, so it is left alone.
  std::string options = " tube:" + job.tube;
  if (pick(5) == 0) {
    job.key = fmt::format("key-{}", ++last_serial_);
    options += fmt::format(" idp:{}{}", job.key, pick(2) == 0 ? ":1000" : "");
  }
  if (pick(5) == 0) options += fmt::format(" tries:{} dead:dead", 1000 + pick(5));
  const size_t bytes = sizes[random_() % sizes.size()];
  say(connection, fmt::format("put {} {} {} {}{}\r\n{}", pick(3) * 1000, delay, 500 + pick(3),
                              bytes, options, body(bytes)));
  connection.put.push_back(job);
}

void Load::choose_put_batch(Connection& connection) {
  std::string items;
  const uint32_t count = 2 + pick(5);
  const std::string tube = tube_of(connection.index);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t bytes = pick(200);
    items += fmt::format("{}{} 0 600 {}\r\n{}", i > 0 ? "\r\n" : "", i, bytes, body(bytes));
    connection.put.push_back({.tube = tube});
  }
  say(connection, fmt::format("put-batch {} {} tube:{}\r\n{}", count, items.size(), tube, items));
  connection.answers += count;
}

void Load::choose_delete_batch(Connection& connection) {
  std::string ids;
  for (Job& job : jobs_[connection.index]) {
    if (job.state == State::Gone || job.state == State::Ended || pick(8) != 0) continue;
    ids += fmt::format(" {}", job.id);
    end(job);
  }
  if (!ids.empty()) say(connection, "delete-batch" + ids);
}

// A put with a key that a job has.
void Load::choose_duplicate(Connection& connection) {
  for (const Job& job : jobs_[connection.index]) {
    if (job.key.empty() || job.state == State::Gone || job.state == State::Ended) continue;
    say(connection, fmt::format("put 0 0 10 3 tube:{} idp:{}\r\ndup", job.tube, job.key));
    return;
  }
}

void Load::choose_for_job(Connection& connection, Job& job) {
  const uint32_t priority = pick(5) * 100;
  switch (job.state) {
    case State::Ready:
      if (pick(4) == 0) {
        say(connection, fmt::format("delete {}", job.id));
        end(job);
        return;
      }
      say(connection, fmt::format("reserve-job {}", job.id));
      job.state = State::Held;
      if (pick(4) != 0) choose_for_job(connection, job);
      return;
    case State::Held:
      if (const uint32_t choice = pick(3); choice == 0) {
        const bool waits = pick(2) == 0;
        say(connection, fmt::format("release {} {} {}", job.id, priority, waits ? long_s : 0));
        job.state = waits ? State::Delayed : State::Ready;
      } else if (choice == 1) {
        say(connection, fmt::format("bury {} {}", job.id, priority));
        job.state = State::Buried;
      } else {
        say(connection, fmt::format("delete {}", job.id));
        end(job);
      }
      return;
    case State::Buried:
      if (pick(4) == 0) {
        say(connection, fmt::format("kick-tube {} state:buried", job.tube));
        for (Job& other : jobs_[connection.index]) {
          if (other.tube == job.tube && other.state == State::Buried) other.state = State::Ready;
        }
        return;
      }
      [[fallthrough]];
    case State::Delayed:
      if (pick(2) == 0) {
        say(connection, fmt::format("kick-job {}", job.id));
        job.state = State::Ready;
        return;
      }
      say(connection, fmt::format("delete {}", job.id));
      end(job);
      return;
    case State::Ended:
      return restore(connection, job);
    case State::Gone:
      return;
  }
}

// One with a key does not come back, so that a key says what became of one job.
void Load::end(Job& job) {
  const bool comes_back = keeps_ended(job.tube) && job.key.empty();
  job.back = job.state == State::Held ? State::Ready : job.state;
  job.state = comes_back ? State::Ended : State::Gone;
}

// Another id is that of the job from its answer on. The old one is asked for once more at times.
void Load::restore(Connection& connection, Job& job) {
  say(connection, fmt::format("restore-job {}", job.id));
  connection.put.push_back({.state = job.back, .tube = job.tube});
  if (pick(4) == 0) say(connection, fmt::format("restore-job {}", job.id));
  job.state = State::Gone;
}

// Those that are on their way are put before.
void Load::choose_flush(Connection& connection) {
  const std::string tube = tube_of(connection.index);
  say(connection, fmt::format("flush-tube {}", tube));
  for (std::vector<Job>* const jobs : {&jobs_[connection.index], &connection.put}) {
    for (Job& job : *jobs) {
      const bool is_there = job.state != State::Gone && job.state != State::Ended;
      if (job.tube == tube && is_there) end(job);
    }
  }
}

void Load::choose_for_tube(Connection& connection) {
  const std::string_view tube = paused_tubes[random_() % paused_tubes.size()];
  if (pick(2) == 0) {
    say(connection, fmt::format("pause-tube {} {}", tube, long_s + pick(1000)));
  } else {
    say(connection, fmt::format("set-tube {} tries:{}", tube, 1 + pick(1000)));
  }
}

// A text that repeats itself, as bodies do, so that tables are small.
std::string Load::body(size_t bytes) {
  const std::string part = fmt::format("{:x}\r\n{{\"body\":{}}}", random_(), ++last_serial_);
  std::string out;
  while (out.size() < bytes) out += part;
  out.resize(bytes);
  return out;
}

}  // namespace perennial::power_cut
