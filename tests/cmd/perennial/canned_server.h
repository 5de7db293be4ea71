#pragma once

#include <string>
#include <thread>

namespace perennial::support {

// A program on a loopback port that is no work queue. It answers the first bytes on a connection
// with one text and then nothing until the client closes.
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
