#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "cmd/common/socket.h"
#include "cmd/common/tool/server_connection.h"
#include "cmd/perennial/work/exchange.h"
#include "cmd/perennial/work/settings.h"

namespace perennial::tool::work {

// The connection of a runner, and which extensions the server allows.
struct Connected {
  ServerConnection server;
  ExtensionSet allowed;
};

// Connects to the server, and watches the tubes of the worker and no others. InvalidArgument: the
// server refuses the worker's user.
Result<Connected> connect_to_tubes(const Settings& settings);

// What to do after a reply that was not expected. InvalidArgument: the server refuses the user, as
// it will do until somebody changes the rights. Otherwise Io: another connection may help.
Status failure_of(const wire::ClientReply& reply, std::string_view doing);

// Connects runners to the server, through one exchange if the server can reserve batches, and each
// on its own otherwise. The exchange runs on a thread of this object. When the server is lost, the
// connections of all runners end, and the first that connects again begins a new exchange.
class Multiplexer {
 public:
  // `settings` outlives it. Io: the process has no descriptor left.
  static Result<std::unique_ptr<Multiplexer>> make(const Settings& settings);
  // REQUIRES: no runner is connected, or will be.
  ~Multiplexer();
  Multiplexer(const Multiplexer&) = delete;
  Multiplexer& operator=(const Multiplexer&) = delete;

  // May be called on any thread.
  Result<Connected> connect();

 private:
  Multiplexer(const Settings& settings, common::Socket wake);
  void serve();
  // Takes what connect() has left. False: it is the end.
  bool take_arrivals(std::optional<Exchange>& exchange);
  void on_lost();

  const Settings& settings_;
  const common::Socket wake_;  // An eventfd.
  // The runners call connect() on their threads, and the exchange is on its own.
  std::mutex mutex_;
  bool is_ending_ = false;
  bool has_server_ = false;  // There is an exchange, or there will be one.
  ExtensionSet allowed_;     // What that server allows.
  std::optional<Exchange> arrived_exchange_;
  std::vector<common::Socket> arrived_runners_;
  std::thread thread_;
};

}  // namespace perennial::tool::work
