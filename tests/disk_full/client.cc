#include "tests/disk_full/client.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "tests/support/reply_text.h"

namespace perennial::disk_full {
namespace {

constexpr size_t body_bytes_max = 12'000;
constexpr size_t checks_in_flight = 50;
constexpr uint32_t ttr_s = 1'000;

// Incompressible bytes, which are the same in every run.
const std::string& noise() {
  static const std::string bytes = [] {
    std::mt19937_64 random(1);
    std::string out;
    while (out.size() < (1 << 20) + body_bytes_max) {
      const uint64_t word = random();
      out.append(reinterpret_cast<const char*>(&word), sizeof word);
    }
    return out;
  }();
  return bytes;
}

uint64_t number_after(std::string_view text, size_t at) {
  uint64_t number = 0;
  std::from_chars(text.data() + std::min(at, text.size()), text.data() + text.size(), number);
  return number;
}

}  // namespace

Client::Client(unsigned number, uint64_t seed)
    : number_(number), seed_(seed), random_(seed * 1000 + number) {}

Status Client::connect(const std::string& address) {
  Result<support::ClientSocket> socket = support::ClientSocket::connect(address);
  if (!socket.ok()) return socket.take_status();
  socket_ = socket.take();
  for (const char* line : {"use tube-{}\r\n", "watch tube-{}\r\n", "ignore default\r\n"}) {
    Result<std::string> reply = socket_.ask(fmt::format(fmt::runtime(line), number_));
    if (!reply.ok()) return reply.take_status();
  }
  return {};
}

bool Client::step(const Work& work) {
  ++steps_done_;
  if (random_() % 100 < work.puts_in_100) return put();
  const uint64_t kind = random_() % 10;
  if (kind < 5) return reserve_and(work.deletes ? "delete" : "release");
  if (kind < 6) return reserve_and("release");
  if (kind < 7) return reserve_and("bury");
  if (kind < 8) return kick();
  if (jobs_.empty() || !work.deletes) return true;
  Job& job = jobs_[random_() % jobs_.size()];
  return job.outcome != Outcome::Present || remove(job);
}

bool Client::put() {
  const size_t serial = jobs_.size();
  jobs_.emplace_back();
  const std::string body = body_of(serial);
  std::string reply;
  if (!ask(fmt::format("put 0 0 {} {}\r\n{}\r\n", ttr_s, body.size(), body), reply)) return false;
  Job& job = jobs_[serial];
  if (reply == "OUT_OF_MEMORY\r\n") {
    job.outcome = Outcome::Gone;
    ++refused_puts_;
    return true;
  }
  constexpr std::string_view inserted = "INSERTED ";
  if (!reply.starts_with(inserted)) return be_surprised("put", reply);
  job = {.id = number_after(reply, inserted.size()), .outcome = Outcome::Present};
  serials_[job.id] = serial;
  return true;
}

bool Client::reserve_and(std::string_view verb) {
  std::string reply;
  if (!ask("reserve-with-timeout 0\r\n", reply)) return false;
  if (reply == "TIMED_OUT\r\n") return true;
  constexpr std::string_view reserved = "RESERVED ";
  if (!reply.starts_with(reserved)) return be_surprised("reserve", reply);
  const JobId id = number_after(reply, reserved.size());
  Job* const job = job_of(id, support::body_in(reply));
  if (job == nullptr) return be_surprised("reserve", reply.substr(0, 60));
  if (verb == "delete") return remove(*job);
  if (verb == "bury") return expect(fmt::format("bury {} 0\r\n", id), "BURIED\r\n");
  return expect(fmt::format("release {} 0 0\r\n", id), "RELEASED\r\n");
}

bool Client::remove(Job& job) {
  job.outcome = Outcome::DeleteInDoubt;
  if (!expect(fmt::format("delete {}\r\n", job.id), "DELETED\r\n")) return false;
  job.outcome = Outcome::Gone;
  return true;
}

bool Client::kick() {
  return expect("kick 10\r\n", "KICKED ");
}

bool Client::expect(const std::string& line, std::string_view wanted) {
  std::string reply;
  if (!ask(line, reply)) return false;
  return reply.starts_with(wanted) || be_surprised(line, reply);
}

bool Client::ask(const std::string& line, std::string& reply) {
  Result<std::string> got = socket_.ask(line);
  if (!got.ok()) {
    // A server that runs must answer.
    if (got.status().code() == StatusCode::NotFound) be_surprised(line.substr(0, 60), "nothing");
    return false;
  }
  reply = got.take();
  return true;
}

bool Client::be_surprised(std::string_view line, std::string_view reply) {
  surprise_ = fmt::format("client {}: {} -> {}", number_, line, reply);
  return false;
}

// The job that a reply names. Its body identifies a put that was never answered.
Job* Client::job_of(JobId id, std::string_view body) {
  const size_t serial = number_after(body, 0);
  if (serial >= jobs_.size() || body != body_of(serial)) return nullptr;
  Job& job = jobs_[serial];
  const bool was_unanswered = job.id == 0 && job.outcome == Outcome::PutInDoubt;
  if (was_unanswered) {
    job = {.id = id, .outcome = Outcome::Present};
    serials_[id] = serial;
  }
  return job.id == id && job.outcome == Outcome::Present ? &job : nullptr;
}

std::string Client::body_of(size_t serial) const {
  std::minstd_rand random(static_cast<uint32_t>(seed_ + serial * 131 + number_));
  const size_t bytes = random() % body_bytes_max;
  return fmt::format("{} of client {} ", serial, number_) +
         noise().substr(random() % (1 << 20), bytes);
}

void Client::check() {
  for (size_t first = 0; first < jobs_.size() && surprise_.empty(); first += checks_in_flight) {
    const size_t end = std::min(first + checks_in_flight, jobs_.size());
    std::string lines;
    for (size_t i = first; i < end; ++i) lines += fmt::format("peek {}\r\n", jobs_[i].id);
    if (!socket_.send(lines).ok()) surprise_ = "the server went while it was checked";
    if (!surprise_.empty()) return;
    for (size_t i = first; i < end; ++i) {
      const Result<std::string> reply = socket_.read_reply();
      check_one(i, reply.ok() ? *reply : reply.status().message());
    }
  }
}

void Client::check_one(size_t serial, std::string_view reply) {
  Job& job = jobs_[serial];
  const bool found = reply.starts_with("FOUND ");
  const bool missing = reply == "NOT_FOUND\r\n";
  const bool may_be_there =
      job.outcome == Outcome::Present || job.outcome == Outcome::DeleteInDoubt;
  const bool may_be_gone = job.outcome != Outcome::Present;
  const bool is_right = (found && may_be_there && support::body_in(reply) == body_of(serial)) ||
                        (missing && may_be_gone);
  if (!is_right) {
    be_surprised(fmt::format("peek {}, fate {}", job.id, static_cast<int>(job.outcome)),
                 reply.substr(0, 60));
  }
  // A job without an id may still be found later.
  if (job.id != 0) job.outcome = found ? Outcome::Present : Outcome::Gone;
}

uint64_t Client::count(Outcome outcome) const {
  return static_cast<uint64_t>(
      std::ranges::count_if(jobs_, [outcome](const Job& job) { return job.outcome == outcome; }));
}

}  // namespace perennial::disk_full
