#include "cmd/perenniald/http/queue_client.h"

#include <span>
#include <string>
#include <utility>

#include "engine/types/check.h"
#include "wire/one_command.h"

namespace perennial::http {

QueueClient::QueueClient(QueueClients& clients, ConnId id, core::Session& session,
                         std::function<void()> wake)
    : clients_(clients), id_(id), session_(&session), wake_(std::move(wake)) {}

QueueClient::~QueueClient() {
  clients_.clients_.erase(id_);
  clients_.has_spoken_ = true;
  if (session_ != nullptr) session_->on_close(clients_.hooks_.now());
}

void QueueClient::send(const Command& command, std::string_view body) {
  if (is_closed_) return;
  std::string bytes;
  wire::append_command(bytes, command, body);
  // Whoever makes the command checks its names. Where that is forgotten, the client's answer says
  // so, and no body of a user runs as commands.
  if (!wire::is_one_command(bytes, command)) bytes = wire::bad_format_line;
  clients_.has_spoken_ = true;
  session_->on_bytes(bytes, clients_.hooks_.now());
}

void QueueClient::catch_up() {
  if (!is_closed_) session_->on_bytes({}, clients_.hooks_.now());
}

std::optional<wire::ClientReply> QueueClient::take() {
  if (replies_.empty()) return std::nullopt;
  wire::ClientReply reply = std::move(replies_.front());
  replies_.pop_front();
  return reply;
}

void QueueClient::collect() {
  while (!session_->output().empty()) {
    const std::string_view output = session_->output();
    wire::ReplyStep step = parser_.feed(output);
    CHECK(step.status.ok());
    session_->on_written(step.consumed);
    if (step.reply) replies_.push_back(*std::move(step.reply));
  }
  if (session_->finished()) {
    is_closed_ = true;
    session_->on_close(clients_.hooks_.now());
    session_ = nullptr;
  }
  wake_();
}

std::unique_ptr<QueueClient> QueueClients::open(access::ClientRights rights,
                                                std::function<void()> wake) {
  rights.is_internal = true;
  const ConnId id = next_id_++;
  auto client = std::unique_ptr<QueueClient>(
      new QueueClient(*this, id, hooks_.open(id, rights), std::move(wake)));
  clients_.emplace(id, client.get());
  has_spoken_ = true;
  return client;
}

void QueueClients::on_changed(ConnId conn) {
  const auto found = clients_.find(conn);
  if (found != clients_.end() && !found->second->is_closed()) found->second->collect();
}

bool QueueClients::take_has_spoken() {
  return std::exchange(has_spoken_, false);
}

}  // namespace perennial::http
