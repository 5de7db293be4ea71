#include "cmd/perennial-bench/servers/fresh_server.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string_view>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>  // mkdtemp is POSIX, not C++.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/common/socket.h"
#include "cmd/perennial-bench/servers/clock.h"
#include "cmd/perennial-bench/servers/stopping.h"

namespace perennial::bench {
namespace {

// Enough for ten million jobs on any disk.
constexpr Nanos start_time_max = 600 * nanos_per_second;
constexpr int end_ms_max = 60'000;
constexpr int look_ms = 1;

bool port_is_free(uint16_t port) {
  const common::Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_port = htons(port);
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0;
}

// Picks a port below the kernel's range for clients. Within that range a connect to a free port may
// be given the same source port, and then connects to itself.
uint16_t pick_port() {
  std::random_device random;
  for (;;) {
    const auto port = static_cast<uint16_t>(15'000 + random() % 17'000);
    if (port_is_free(port)) return port;
  }
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace

Result<std::unique_ptr<FreshServer>> FreshServer::start(const Launch& launch,
                                                        tool::StopSignals& signals) {
  std::unique_ptr<FreshServer> server(new FreshServer);
  std::string dir = launch.parent_dir + "/perennial-bench-XXXXXX";
  if (::mkdtemp(dir.data()) == nullptr)
    return std::move(common::system_error("mkdtemp")).with(launch.parent_dir);
  server->dir_ = dir;
  const uint16_t port = pick_port();
  server->address_.host = "127.0.0.1";
  server->address_.port = port;
  server->line_ = "exec " + replace_all(replace_all(launch.command, "{dir}", dir), "{port}",
                                        fmt::to_string(port));
  server->preload_ = launch.preload;
  server->preload_us_ = fmt::to_string(launch.preload_us);
  server->spawn();
  if (Status s = server->wait_until_answering(signals); !s.ok()) return s;
  return server;
}

FreshServer::~FreshServer() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    if (!ended(end_ms_max)) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  std::error_code failed;  // A directory that remains in /tmp is no reason to fail a measurement.
  if (!dir_.empty()) std::filesystem::remove_all(dir_, failed);
}

Result<Nanos> FreshServer::kill_and_restart(tool::StopSignals& signals) {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  const Nanos begun = now_nanos();
  spawn();
  if (Status s = wait_until_answering(signals); !s.ok()) return s;
  return now_nanos() - begun;
}

void FreshServer::spawn() {
  pid_ = ::fork();
  if (pid_ == 0) become_server();
}

void FreshServer::become_server() const {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);  // Ctrl-C signals only the bench, which then ends its servers.
  sigset_t none;
  ::sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  const std::string log = dir_ + "/" + log_name;
  const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  if (!preload_.empty()) {
    ::setenv("LD_PRELOAD", preload_.c_str(), 1);
    ::setenv("SLOW_SYNC_US", preload_us_.c_str(), 1);
  }
  ::execl("/bin/sh", "sh", "-c", line_.c_str(), nullptr);
  ::_exit(127);
}

Status FreshServer::wait_until_answering(tool::StopSignals& signals) {
  if (pid_ < 0) return common::system_error("fork");
  const Nanos limit = now_nanos() + start_time_max;
  while (now_nanos() < limit) {
    if (Status s = check_stop(signals); !s.ok()) return s;
    if (ended(look_ms)) return Status(StatusCode::Io, "the server ended: " + errors());
    if (answers()) return {};
  }
  return Status(StatusCode::Io, "the server does not answer: " + errors());
}

// Whether the server answers within a short time. It may accept connections long before it is
// ready.
bool FreshServer::answers() const {
  constexpr std::string_view question = "list-tube-used\r\n";
  const Result<common::Socket> socket = common::connect_to(address_);
  if (!socket.ok()) return false;
  const timeval limit{.tv_sec = 1, .tv_usec = 0};
  ::setsockopt(socket->fd(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (::send(socket->fd(), question.data(), question.size(), MSG_NOSIGNAL) < 0) return false;
  char first = 0;
  return ::recv(socket->fd(), &first, 1, 0) == 1 && first == 'U';
}

bool FreshServer::ended(int wait_ms) {
  for (int waited = 0; waited < wait_ms; waited += look_ms) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      return true;
    }
    ::usleep(look_ms * 1000);
  }
  return false;
}

std::string FreshServer::errors() const {
  std::ifstream file(dir_ + "/" + log_name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string default_parent_dir() {
  const char* named = ::getenv("TMPDIR");
  return named != nullptr ? named : "/tmp";
}

}  // namespace perennial::bench
