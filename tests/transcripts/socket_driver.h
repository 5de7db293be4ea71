#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/client_socket.h"
#include "tests/support/server_process.h"
#include "tests/transcripts/transcript.h"

namespace perennial::transcripts {

// Runs a transcript on a real server, through sockets. TRANSCRIPT_IO_THREADS: how many threads it
// has for the bytes of clients, if there are more than one.
class SocketDriver : public Driver {
 public:
  explicit SocketDriver(const support::ServerProcess& server);

  void set(const std::string& setting, int64_t value) override;
  void send(const std::string& client, const std::string& bytes) override;
  void end(const std::string& client) override;
  void close(const std::string& client) override;
  std::optional<std::string> receive(const std::string& client) override;
  bool closed(const std::string& client) override;
  void advance(Nanos by) override;
  void skip(Nanos by) override;
  void act(const Line& line) override;
  void check() override {}

 private:
  support::ClientSocket& socket(const std::string& client);
  // Returns when the server has read everything that was sent so far.
  void await_idle();

  const support::ServerProcess& server_;
  std::vector<support::ClientSocket> controls_;
  std::map<std::string, support::ClientSocket> sockets_;
};

}  // namespace perennial::transcripts
