// How the clients of a load react to replies.

#include <array>
#include <optional>

#include <fmt/format.h>

#include "cmd/perennial-bench/load/load.h"
#include "cmd/perennial-bench/load/replies.h"

namespace perennial::bench {
namespace {

Status wrong_answer(const Connection::Reply& reply) {
  constexpr size_t quoted_max = 100;
  return {StatusCode::Io, fmt::format("the server answered a {} with '{}'",
                                      name_of(reply.operation), reply.line.substr(0, quoted_max))};
}

}  // namespace

Status Load::on_reply(Client& client, const Connection::Reply& reply, Nanos now) {
  if (!is_expected(reply.operation, reply.line)) return wrong_answer(reply);
  if (reply.operation == Operation::Setup) return {};
  recorder_->time(reply.operation, now - reply.sent_at);
  recorder_->count(reply.operation, now);
  if (reply.operation == Operation::Delete) ++deleted_count_;
  switch (client.role) {
    case Role::Producer:
      ++ended_;
      ++client.due;
      return {};
    case Role::Worker:
      return on_worker_reply(client, reply, now);
    case Role::Mixed:
      on_mixed_reply(client, reply, now);
      return {};
    case Role::Cycler:
      return on_cycler_reply(client, reply, now);
  }
  return {};
}

Status Load::on_worker_reply(Client& client, const Connection::Reply& reply, Nanos now) {
  if (reply.operation == Operation::Reserve) {
    if (!read_body(reply.body, now)) return strange_body(reply.line);
    client.reserved_at = reply.sent_at;
    request_about(client, Operation::Delete, job_of(reply.line), now);
    if (spec_.reserve_ahead) ++client.due;
    return {};
  }
  recorder_->time(Operation::ReserveDelete, now - client.reserved_at);
  recorder_->count(Operation::ReserveDelete, now);
  recorder_->count(Operation::Cycle, now);
  ++ended_;
  if (!spec_.reserve_ahead) ++client.due;
  return {};
}

void Load::on_mixed_reply(Client& client, const Connection::Reply& reply, Nanos now) {
  recorder_->time(Operation::All, now - reply.sent_at);
  recorder_->count(Operation::All, now);
  const bool reserved = reply.operation == Operation::Poll && reply.line.starts_with('R');
  if (reserved) client.mixed.hold(job_of(reply.line));
  ++client.due;
}

bool Load::read_body(std::string_view body, Nanos now) {
  if (!bodies_.is_one(body)) return false;
  if (const std::optional<Nanos> put_at = bodies_.time_of(body))
    recorder_->time(Operation::Cycle, now - *put_at);
  return true;
}

void Load::fill(Client& client, Nanos now) {
  while (client.due > 0 && may_begin(client, now)) {
    --client.due;
    begin(client, now);
  }
  if (client.due == 0 || client.waiting) return;
  client.waiting = true;
  waiting_.push_back(&client);
}

bool Load::may_put(Nanos now) const {
  if (spec_.rate > 0 && now < next_put_at()) return false;
  const bool somebody_deletes = spec_.workers > 0 || spec_.mixed > 0;
  return !somebody_deletes || put_count_ - deleted_count_ < spec_.ahead_max;
}

bool Load::may_begin(const Client& client, Nanos now) const {
  const bool does_all = client.role == Role::Mixed || client.role == Role::Cycler;
  return does_all || (left_ > 0 && (client.role == Role::Worker || may_put(now)));
}

Nanos Load::next_put_at() const {
  return paced_from_ + static_cast<Nanos>(paced_count_ * nanos_per_second / spec_.rate);
}

void Load::begin(Client& client, Nanos now) {
  if (client.role == Role::Mixed) return begin_mixed(client, now);
  if (client.role == Role::Cycler) return begin_cycle(client, now);
  --left_;
  if (client.role == Role::Producer) return put(client, now);
  client.connection.request(Operation::Reserve, "reserve\r\n", now);
}

void Load::begin_mixed(Client& client, Nanos now) {
  const Operation operation = client.mixed.choose(may_put(now));
  switch (operation) {
    case Operation::Put:
      return put(client, now);
    case Operation::Poll:
      client.connection.request(operation, "reserve-with-timeout 0\r\n", now);
      return;
    case Operation::Kick:
      client.connection.request(operation, "kick 10\r\n", now);
      return;
    case Operation::Peek:
      client.connection.request(operation, "peek-ready\r\n", now);
      return;
    default:
      return request_about(client, operation, client.mixed.give_up(), now);
  }
}

void Load::put(Client& client, Nanos now) {
  if (spec_.rate > 0) now = next_put_at();
  ++paced_count_;
  ++put_count_;
  char* const place = client.connection.request(Operation::Put, put_bytes_, now);
  bodies_.write(place + body_at_, now);
}

void Load::request_about(Client& client, Operation operation, JobId job, Nanos now) {
  std::array<char, 64> line;
  const std::string_view tail = operation == Operation::Release ? " 1024 0\r\n"
                                : operation == Operation::Bury  ? " 1024\r\n"
                                                                : "\r\n";
  const auto end =
      fmt::format_to_n(line.data(), line.size(), "{} {}{}", name_of(operation), job, tail);
  client.connection.request(operation, {line.data(), end.size}, now);
}

}  // namespace perennial::bench
