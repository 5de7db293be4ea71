#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace perennial::support {

// A server that knows one conversation, for the answers that no real one gives on request. Serves
// one connection; what the client sends otherwise ends it, and heard() tells.
class ScriptedServer {
 public:
  struct Turn {
    std::string line;  // What the next line must begin with. The body of a put is a line.
    std::string reply;
    std::function<void()> before = {};  // Done before the reply.
  };

  explicit ScriptedServer(std::vector<Turn> turns);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  const std::string& address() const { return address_; }
  // Waits for the end of the conversation: "" if it went as written, else what came instead.
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
