#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "engine/types/status.h"
#include "tests/support/client_socket.h"
#include "tests/support/temp_dir.h"

namespace perennial::support {

// The exit code of both servers when their port is in use.
inline constexpr int address_in_use_code = 111;

enum class Program { Perenniald, Beanstalkd };

struct ServerSetup {
  Program program = Program::Perenniald;
  std::vector<std::string> flags = {};  // Added to the flags below.
  bool data_dir = true;                 // Passes -b. Without it beanstalkd stores nothing.
  bool unix_socket = false;             // Listens on a unix socket instead of a loopback port.
  int start_timeout_ms = 30'000;
};

// How a process ended: its exit code, or the signal that ended it.
struct Ended {
  int code = -1;
  int signal = 0;
};

// A real server as a child process with its own temporary directory, which holds its data
// directory, its socket and its standard error. The destructor ends the process and removes the
// directory. The server may be started again after it ended, each time on a new port. REQUIRES:
// start() is called on a thread that outlives the server, because the kernel kills the server when
// that thread ends.
class ServerProcess {
 public:
  explicit ServerProcess(ServerSetup setup = {});
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Starts the server and returns once it accepts a connection. Fails, with the server's standard
  // error in the message, if it ends instead; ended() then says how.
  Status start();
  // Starts the server and waits for it to end, for starts that must fail.
  Result<Ended> start_and_wait(int timeout_ms = 30'000);

  void signal(int number);
  // Each sends its signal and waits for the end.
  Result<Ended> terminate(int timeout_ms = 30'000);
  Result<Ended> kill_now();
  // Waits for the process to end for any reason.
  Result<Ended> wait(int timeout_ms);

  bool running() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  const Ended& ended() const { return ended_; }
  ServerSetup& setup() { return setup_; }

  // HOST:PORT or unix:PATH of the latest start.
  const std::string& address() const { return address_; }
  const std::string& dir() const { return dir_.path(); }
  std::string data_dir() const { return dir() + "/data"; }
  // The standard error of all starts.
  std::string stderr_text() const;
  // REQUIRES: the server is running. A failed connection is a CHECK, because no test can use it.
  ClientSocket connect() const;

 private:
  void spawn();
  std::vector<std::string> arguments();
  Status wait_until_accepting();

  ServerSetup setup_;
  TempDir dir_;
  std::string address_;
  pid_t pid_ = -1;
  int pidfd_ = -1;
  Ended ended_;
};

// Returns a free port of the loopback interface that the kernel does not assign to clients, and not
// the same one twice. Another process may take it meanwhile. Not for several threads at once.
uint16_t pick_port();

// The value of PERENNIALD or BEANSTALKD, else the path beside the running test, where the build and
// tests/run put the programs. start() reports a missing program.
std::string program_path(Program program);

}  // namespace perennial::support
