#pragma once

#include <string>
#include <thread>

namespace perennial::support {

// Something on a port of loopback that is no work queue: to whatever comes first on a connection it
// answers one text, and then nothing more until the client leaves.
class CannedServer {
 public:
  explicit CannedServer(std::string answer);
  ~CannedServer();
  CannedServer(const CannedServer&) = delete;
  CannedServer& operator=(const CannedServer&) = delete;

  const std::string& address() const { return address_; }

 private:
  void serve();

  std::string answer_;
  std::string address_;
  int listener_ = -1;
  std::thread thread_;
};

}  // namespace perennial::support
