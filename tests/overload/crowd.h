#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/status.h"
#include "tests/support/client_socket.h"

namespace perennial::overload {

// Many clients on one thread, which send without waiting for answers and read only on request.
class Crowd {
 public:
  // Receives every answer in the order of its client's commands. Returns the error, or an empty
  // string.
  using Judge = std::function<std::string(size_t client, std::string_view reply)>;

  // `receive_bytes` is the size of each client's receive buffer; 0 keeps the default.
  Status connect(const std::string& address, size_t count, int receive_bytes = 0);
  size_t size() const { return clients_.size(); }

  // Appends what a client is going to send, and the number of answers to it.
  void say(size_t client, std::string_view bytes, uint64_t answers);
  // Sends without reading until everything is sent or the server reads no more.
  Status press();
  // Sends the rest, and reads until every client has all its answers.
  Status finish(const Judge& judge);
  // Closes all clients at once, with unread answers.
  void leave() { clients_.clear(); }
  void leave(size_t client) { clients_[client].socket.close(); }
  support::ClientSocket& socket(size_t client) { return clients_[client].socket; }

 private:
  struct Client {
    support::ClientSocket socket;
    std::string to_send;
    size_t sent = 0;
    std::string received;
    size_t judged = 0;  // Bytes of `received` that were judged.
    uint64_t awaited = 0;

    bool all_sent() const { return sent == to_send.size(); }
  };
  // One round for all clients. Returns whether there was progress.
  Result<bool> turn(bool reading, int timeout_ms, const Judge& judge);
  Result<bool> send_some(Client& client);
  Result<bool> read_some(size_t index, const Judge& judge);
  bool done() const;

  std::vector<Client> clients_;
};

}  // namespace perennial::overload
