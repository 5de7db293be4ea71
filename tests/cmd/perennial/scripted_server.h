#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace perennial::support {

// A server that plays one conversation, for answers that no real server gives on request. It serves
// one connection. Unexpected input ends the conversation, and heard() returns that input.
class ScriptedServer {
 public:
  struct Turn {
    std::string line;  // The expected beginning of the next line. The body of a put is a line.
    std::string reply;
    std::function<void()> before = {};  // Runs before the reply.
  };

  explicit ScriptedServer(std::vector<Turn> turns);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  const std::string& address() const { return address_; }
  // Waits for the end of the conversation. Returns "" if it went as written, else the unexpected
  // input.
  std::string heard();

 private:
  void serve();
  bool read_line(int client, std::string& line);

  std::vector<Turn> turns_;
  std::string address_;
  int listener_ = -1;
  std::string input_;
  std::string unexpected_;
  std::thread thread_;
};

}  // namespace perennial::support
