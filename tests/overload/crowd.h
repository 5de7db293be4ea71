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

// Many clients on one thread, who send without waiting for answers and read when they like.
class Crowd {
 public:
  // Is given every answer, in the order of its client's commands. Nonempty: it is wrong, and why.
  using Judge = std::function<std::string(size_t client, std::string_view reply)>;

  // `receive_bytes`: how little each keeps in its socket; 0: as the system has it.
  Status connect(const std::string& address, size_t count, int receive_bytes = 0);
  size_t size() const { return clients_.size(); }

  // What a client is going to send, and how many answers it will bring.
  void say(size_t client, std::string_view bytes, uint64_t answers);
  // Sends, and reads nothing, until all is sent or the server takes no more.
  Status press();
  // Sends what is left, and reads until every client has all its answers.
  Status finish(const Judge& judge);
  // They are all gone at once, with what they have not read.
  void leave() { clients_.clear(); }
  void leave(size_t client) { clients_[client].socket.close(); }
  support::ClientSocket& socket(size_t client) { return clients_[client].socket; }

 private:
  struct Client {
    support::ClientSocket socket;
    std::string to_send;
    size_t sent = 0;
    std::string received;
    size_t judged = 0;  // Of `received`.
    uint64_t awaited = 0;

    bool all_sent() const { return sent == to_send.size(); }
  };
  // Each: whether anything moved, or why not.
  Result<bool> turn(bool reading, int timeout_ms, const Judge& judge);
  Result<bool> send_some(Client& client);
  Result<bool> read_some(size_t index, const Judge& judge);
  bool done() const;

  std::vector<Client> clients_;
};

}  // namespace perennial::overload
