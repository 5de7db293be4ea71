#include <span>
#include <string_view>
#include <utility>

#include "cmd/common/secret.h"
#include "cmd/perenniald/net/connections.h"
#include "cmd/perenniald/process/log.h"

// How several clients are read, or sent to, with one call to the kernel. What then becomes of each
// of them is in connections.cc, and the same as after a call of its own.
namespace perennial::perenniald {
namespace {

// The bytes of one client that a batch reads. A client that has sent more is read again at once.
constexpr size_t received_bytes = TurnBudget::read_later_bytes_max;

}  // namespace

static_assert(SocketSet::reports_max <= SocketBatch::sockets_max);

size_t Connections::service_some(std::span<const ConnId> ids) {
  size_t count = 0;
  // Sessions keep their output in place meanwhile, because none of them is called.
  if (may_batch() && ids.size() > 1)
    while (count < ids.size() && add_output(ids[count])) ++count;
  if (count > 0) {
    send_together(ids.first(count));
    return count;
  }
  service(ids.front());
  return 1;
}

// Returns false if the client needs more than to be sent something, or has to wait for its turn.
bool Connections::add_output(ConnId id) {
  if (!batch_->has_slot() || batch_bytes_ >= TurnBudget::write_bytes_max) return false;
  const auto found = connections_.find(id);
  if (found == connections_.end()) return false;
  const Connection& conn = found->second;
  if (conn.full || !conn.stream->is_plain()) return false;
  const std::string_view out = conn.session->output().substr(0, write_bytes_max(conn));
  if (out.empty()) return false;
  batch_->send(conn.stream->fd(), out);
  batch_bytes_ += out.size();
  output_sizes_.push_back(out.size());
  return true;
}

void Connections::send_together(std::span<const ConnId> ids) {
  const std::span<const Stream::Outcome> outcomes = run_batch();
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto found = connections_.find(ids[i]);
    if (found == connections_.end()) continue;  // The end of another client has closed it.
    Connection& conn = found->second;
    if (on_written(conn, output_sizes_[i], outcomes[i])) watch(conn, conn.session->reading());
  }
  output_sizes_.clear();
  batch_bytes_ = 0;
}

void Connections::receive_together(std::span<const SocketSet::Report> reports) {
  is_received_.clear();
  for (const SocketSet::Report& report : reports) is_received_.push_back(add_input(report));
  const std::span<const Stream::Outcome> outcomes = run_batch();
  size_t next = 0;
  for (size_t i = 0; i < reports.size(); ++i) {
    if (!is_received_[i]) {
      on_ready(reports[i]);
      continue;
    }
    const Stream::Outcome got = outcomes[next];
    const std::span<char> bytes = std::span(received_).subspan(next++ * received_bytes, got.bytes);
    const auto found = connections_.find(reports[i].conn);
    if (found == connections_.end()) {  // The end of another client has closed it.
      common::wipe(bytes);
      continue;
    }
    const bool later = must_read_later();
    on_read(found->second, got, bytes, later);
    if (bytes.size() == received_bytes && !later) on_ready(reports[i]);
  }
}

// Returns false if the client needs more than to be read.
bool Connections::add_input(const SocketSet::Report& report) {
  if (report.can != SocketSet::Interest{.reading = true}) return false;
  const auto found = connections_.find(report.conn);
  if (found == connections_.end()) return false;
  const Connection& conn = found->second;
  if (!conn.watched_for.reading || conn.session == nullptr) return false;
  if (!conn.stream->is_plain()) return false;
  const size_t at = batch_->count() * received_bytes;
  batch_->receive(conn.stream->fd(), std::span(received_).subspan(at, received_bytes));
  return true;
}

// Once the kernel has refused a call, each client has a call of its own.
bool Connections::may_batch() const {
  return batch_ != nullptr && batch_->status().ok();
}

std::span<const Stream::Outcome> Connections::run_batch() {
  const std::span<const Stream::Outcome> outcomes = batch_->run();
  if (!batch_->status().ok())
    log(Level::Warning, "io_uring.off", {{"error", batch_->status().message()}});
  return outcomes;
}

}  // namespace perennial::perenniald
