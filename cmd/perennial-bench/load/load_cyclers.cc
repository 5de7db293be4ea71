// How the clients of a load react that do everything with their jobs: put, reserve and delete, one
// step after the other, with one job or with a batch.

#include <iterator>
#include <string>

#include <fmt/format.h>

#include "cmd/perennial-bench/load/load.h"
#include "cmd/perennial-bench/load/replies.h"
#include "cmd/perennial-bench/load/reply_end.h"

namespace perennial::bench {

void Load::begin_cycle(Client& client, Nanos now) {
  client.cycle_at = now;
  if (spec_.batch == 1) return put(client, now);
  char* place = client.connection.request(Operation::PutBatch, put_batch_bytes_, now);
  place += put_batch_body_at_;
  // Times that differ, because bodies of the same time are equal.
  for (uint32_t i = 0; i < spec_.batch; ++i, place += put_batch_stride_)
    bodies_.write(place, now + i);
}

Status Load::on_cycler_reply(Client& client, const Connection::Reply& reply, Nanos now) {
  switch (reply.operation) {
    case Operation::Put:
      client.connection.request(Operation::Reserve, "reserve\r\n", now);
      return {};
    case Operation::PutBatch:
      client.connection.request(Operation::ReserveBatch, reserve_batch_line_, now);
      return {};
    case Operation::Reserve:
      client.cycle_jobs = 1;
      if (!bodies_.is_one(reply.body)) return strange_body(reply.line);
      request_about(client, Operation::Delete, job_of(reply.line), now);
      return {};
    case Operation::ReserveBatch:
      return delete_batch(client, reply, now);
    default:
      break;
  }
  recorder_->time(Operation::Cycle, now - client.cycle_at);
  recorder_->count(Operation::Cycle, now, client.cycle_jobs);
  ++client.due;
  return {};
}

Status Load::delete_batch(Client& client, const Connection::Reply& reply, Nanos now) {
  client.cycle_jobs = number_in(reply.line, 0).value_or(0);
  delete_batch_line_.assign(name_of(Operation::DeleteBatch));
  std::string_view rest = reply.body;
  for (uint64_t i = 0; i < client.cycle_jobs; ++i) {
    const std::string_view line = take_line(rest);
    const std::string_view body = rest.substr(0, spec_.body_bytes);
    const Result<bool> skipped = skip_body(line, rest, spec_.body_bytes);
    if (!skipped.ok() || !bodies_.is_one(body)) return strange_body(line);
    fmt::format_to(std::back_inserter(delete_batch_line_), " {}", job_of(line));
  }
  delete_batch_line_ += "\r\n";
  client.connection.request(Operation::DeleteBatch, delete_batch_line_, now);
  return {};
}

Status Load::strange_body(std::string_view line) {
  return {StatusCode::Io, fmt::format("'{}' came with a body that was never put", line)};
}

}  // namespace perennial::bench
