#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "cmd/perenniald/access/client_rights.h"
#include "cmd/perenniald/core/session.h"
#include "engine/types/basic.h"
#include "engine/types/command.h"
#include "wire/client.h"

// Clients of the queue that are a part of the server. Each speaks the protocol with core, over a
// session of its own. So what the HTTP port changes has the rights, the audit, the durability and
// the bounded turns that every command has.
namespace perennial::http {

class QueueClients;

// One connection. Its end is that of a client: jobs that it holds return, and a long operation of
// it stops where it is.
class QueueClient {
 public:
  ~QueueClient();
  QueueClient(const QueueClient&) = delete;
  QueueClient& operator=(const QueueClient&) = delete;

  ConnId id() const { return id_; }
  // `body` as in wire::append_command. Commands may follow each other without waiting. One that the
  // queue would not read as this command alone, by wire::is_one_command, is not sent: its answer is
  // BAD_FORMAT.
  void send(const Command& command, std::string_view body = {});
  // Does what is due in the queue by now, and a part of a long operation, as the first client of a
  // turn does. Whoever asks what this client has done until now, and then ends it, calls this
  // first.
  void catch_up();
  // The next answer, in the order of the commands. None: it is not there yet, or is_closed().
  std::optional<wire::ClientReply> take();
  // The server has ended the connection: its user is gone. No further answer comes.
  bool is_closed() const { return is_closed_; }

 private:
  friend class QueueClients;
  QueueClient(QueueClients& clients, ConnId id, core::Session& session, std::function<void()> wake);

  void collect();

  QueueClients& clients_;
  const ConnId id_;
  core::Session* session_;
  const std::function<void()> wake_;
  wire::ReplyParser parser_;
  std::deque<wire::ClientReply> replies_;
  bool is_closed_ = false;
};

class QueueClients {
 public:
  struct Hooks {
    std::function<core::Session&(ConnId conn, const access::ClientRights& rights)> open;
    std::function<Nanos()> now;
  };
  explicit QueueClients(Hooks hooks) : hooks_(std::move(hooks)) {}

  // `wake` is called when an answer has come. The client does not outlive this.
  std::unique_ptr<QueueClient> open(access::ClientRights rights, std::function<void()> wake);

  // Whether the connection is one of these. Sockets have lower ids.
  static bool owns(ConnId conn) { return conn >= first_id; }
  // REQUIRES: owns(conn). Core says that the connection has output, or is finished.
  void on_changed(ConnId conn);
  size_t count() const { return clients_.size(); }
  // Whether a command was sent, or a client ended, since the last call, so that core has work.
  bool take_has_spoken();

 private:
  friend class QueueClient;
  static constexpr ConnId first_id = ConnId{1} << 62;

  const Hooks hooks_;
  std::map<ConnId, QueueClient*> clients_;
  ConnId next_id_ = first_id;
  bool has_spoken_ = false;
};

}  // namespace perennial::http
