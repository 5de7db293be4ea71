#include "cmd/perennial/jobs/putter.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/output/json.h"
#include "cmd/perennial/output/readable.h"

namespace perennial::tool {
namespace {

// The number of puts without a reply. Replies are short lines.
constexpr size_t puts_in_flight_max = 1000;
constexpr size_t queued_bytes_max = size_t{1} << 20;

std::string refusal(const wire::ClientReply& reply) {
  if (reply.is(Word::InsertedBuried))
    return fmt::format("BURIED {}: the server was out of memory and has buried it", reply.number);
  if (reply.is(Word::JobTooBig))
    return "JOB_TOO_BIG: the body has more bytes than the server's max-job-size";
  if (reply.is(Word::Draining)) return "DRAINING: no more jobs are taken";
  if (reply.is(Word::OutOfMemory))
    return "OUT_OF_MEMORY: the server is at a limit, or its disk is nearly full, or the etcd of "
           "its cluster; see 'perennial stats' and 'perennial cluster status'";
  return "the server answered " + describe(reply);
}

}  // namespace

Status Putter::add(std::string_view body) {
  if (body.size() > u32_max)
    return {StatusCode::InvalidArgument, "a body has more than 4 GiB, and no server takes it"};
  put_.body_bytes = static_cast<uint32_t>(body.size());
  server_.add(put_, body);
  ++in_flight_;
  const bool full = in_flight_ >= puts_in_flight_max || server_.queued_bytes() >= queued_bytes_max;
  return full ? flush_batch() : Status();
}

Status Putter::flush_batch() {
  for (; in_flight_ > 0; --in_flight_) {
    ++answered_;
    Result<wire::ClientReply> reply = server_.receive();
    if (!reply.ok()) {
      return std::move(reply.take_status())
          .with(fmt::format("{} jobs were put, {} more may have been", done(), in_flight_));
    }
    take(*reply);
  }
  // More puts would lose more ids.
  if (std::fflush(stdout) != 0) {
    return {StatusCode::Io,
            fmt::format("write the output: {}; {} jobs were put", std::strerror(errno), done())};
  }
  if (is_draining_) return say_what_drains();
  return ended_;
}

// The reply is the same for a server and for a tube. Asked when no other reply is due.
Status Putter::say_what_drains() {
  const Result<bool> is_tube = is_drained(server_, tube_);
  if (!is_tube.ok()) return ended_;
  const std::string what = *is_tube ? fmt::format("the tube '{}'", tube_) : "the server";
  return {StatusCode::Io, fmt::format("DRAINING: {} takes no more jobs", what)};
}

void Putter::take(const wire::ClientReply& reply) {
  if (reply.is(Word::Inserted)) return take_inserted(reply);
  ++failures_;
  const std::string message = refusal(reply);
  if (format_.json) refused_.push_back({answered_, message});
  if (format_.has_lines && !format_.json)
    complain("put", fmt::format("line {}: {}", answered_, message));
  is_draining_ = is_draining_ || reply.is(Word::Draining);
  const bool final = reply.is(Word::Draining) || reply.is(Word::OutOfMemory);
  if (final || !format_.has_lines) ended_ = Status(StatusCode::Io, message);
}

void Putter::take_inserted(const wire::ClientReply& reply) {
  if (!format_.json) fmt::print("{}\n", reply.number);
  std::string state = reply.text;
  std::ranges::transform(state, state.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (format_.json) inserted_.push_back({reply.number, state});
  if (state.empty()) return;
  is_duplicate_ = true;
  if (format_.json) return;
  complain("put", fmt::format("nothing was put: job {} has the key already, and is {}",
                              reply.number, state));
}

void Putter::report() const {
  auto jobs = nlohmann::ordered_json::array();
  for (const Inserted& job : inserted_) {
    nlohmann::ordered_json out = {{"id", json_id(job.id)}, {"duplicate", !job.state.empty()}};
    if (!job.state.empty()) out["state"] = job.state;
    jobs.push_back(std::move(out));
  }
  auto errors = nlohmann::ordered_json::array();
  for (const Refused& refused : refused_) {
    nlohmann::ordered_json out;
    if (format_.has_lines) out["line"] = refused.line;
    out["message"] = refused.message;
    errors.push_back(std::move(out));
  }
  print_result({{"tube", tube_}, {"jobs", std::move(jobs)}, {"errors", std::move(errors)}});
}

}  // namespace perennial::tool
