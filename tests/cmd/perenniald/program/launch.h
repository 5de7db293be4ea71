#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/support/server_process.h"

namespace perennial::support {

// perenniald as a service manager or a shell starts it: with passed descriptors, variables and
// limits. The destructor kills it with SIGKILL if it still runs.
class Launch {
 public:
  struct Setup {
    std::vector<std::string> flags;
    std::vector<int> sockets = {};  // Become descriptors 3, 4 and so on.
    std::map<std::string, std::string> variables =
        {};                  // LISTEN_PID and LISTEN_FDS come by themselves.
    std::string shell = {};  // Commands that run before the server.
  };
  // `dir`: the working directory, which also gets standard error.
  Launch(const std::string& dir, const Setup& setup);
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number);
  // Waits for its end. The caller has asked for the end, or expects it: after two minutes the
  // process is killed, and ended by that signal.
  Ended wait();
  // Connects to `address` as soon as the server listens there. An error: it has ended before, or
  // does not listen for a minute; the message has its standard error.
  Result<ClientSocket> connect(const std::string& address);
  std::string stderr_text() const;

 private:
  std::string dir_;
  pid_t pid_ = -1;
  std::optional<Ended> ended_;  // Seen by connect(), and not yet returned by wait().
};

}  // namespace perennial::support
