#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "engine/types/status.h"
#include "tests/support/client_socket.h"
#include "tests/support/temp_dir.h"

namespace perennial::support {

// The exit code of both servers when their port is taken.
inline constexpr int address_in_use_code = 111;

enum class Program { Perenniald, Beanstalkd };

struct ServerSetup {
  Program program = Program::Perenniald;
  std::vector<std::string> flags = {};  // Added to the ones below.
  bool data_dir = true;                 // Give it -b; without, beanstalkd keeps nothing.
  bool unix_socket = false;             // Listen there and not on a loopback port.
  int start_timeout_ms = 30'000;
};

// How a process ended: its exit code, or the signal that ended it.
struct Ended {
  int code = -1;
  int signal = 0;
};

// A real server as a child process with a temporary directory of its own, which holds its data
// directory, its socket and what it wrote to standard error; the directory goes with this object,
// and so does the process. It may be started again after it ended, each time on a new port.
// REQUIRES: start() is called on a thread that outlives the server, because the kernel is told to
// kill the server when that thread ends.
class ServerProcess {
 public:
  explicit ServerProcess(ServerSetup setup = {});
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Starts it and returns once it accepts a connection. Fails, with its standard error in the
  // message, when it ends instead; ended() then says how.
  Status start();
  // Starts it and waits for it to end by itself: for starts that must fail.
  Result<Ended> start_and_wait(int timeout_ms = 30'000);

  void signal(int number);
  // Each sends its signal and waits for the end.
  Result<Ended> terminate(int timeout_ms = 30'000);
  Result<Ended> kill_now();
  // Waits for it to end, however that comes about.
  Result<Ended> wait(int timeout_ms);

  bool running() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  const Ended& ended() const { return ended_; }
  ServerSetup& setup() { return setup_; }

  // HOST:PORT or unix:PATH of the latest start.
  const std::string& address() const { return address_; }
  const std::string& dir() const { return dir_.path(); }
  std::string data_dir() const { return dir() + "/data"; }
  // What it wrote to standard error, over all its starts.
  std::string stderr_text() const;
  // REQUIRES: the server is running. A connection that fails is a CHECK: tests have no use for it.
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

// A port of the loopback interface that is free, for now, and that no client's end will be given.
uint16_t pick_port();

// Environment PERENNIALD or BEANSTALKD, else where the build and tests/run put them, beside the
// running test. Whether there is a program, start() finds out.
std::string program_path(Program program);

}  // namespace perennial::support
