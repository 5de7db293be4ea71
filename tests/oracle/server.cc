#include "tests/oracle/server.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/oracle/peer.h"

extern char** environ;

namespace perennial::oracle {
namespace {

using std::chrono::steady_clock;

constexpr auto start_time_max = std::chrono::seconds(20);
constexpr auto stop_time_max = std::chrono::seconds(10);

// Where the program is: named by the environment, or beside this test, where tests/run unpacks
// theirs.
Result<std::string> program(Server::Kind kind) {
  const bool ours = kind == Server::Kind::Perenniald;
  const char* const variable = ours ? "PERENNIALD" : "BEANSTALKD";
  const char* const named = std::getenv(variable);
  std::string path = named != nullptr ? named : "";
  if (path.empty()) {
    const auto beside = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    path = beside / (ours ? "perenniald" : "beanstalkd/usr/bin/beanstalkd");
  }
  if (path.empty() || access(path.c_str(), X_OK) != 0) {
    return Status(StatusCode::NotFound,
                  fmt::format("no program at \"{}\": set {} to the path of {}", path, variable,
                              ours ? "perenniald" : "Debian's beanstalkd 1.12"));
  }
  return path;
}

Status system_error(std::string_view doing) {
  return Status(StatusCode::Io, fmt::format("{}: {}", doing, std::strerror(errno)));
}

// A port that nobody has now. Somebody may take it before the server does; start() then tries
// again.
Result<uint16_t> free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  const bool good = fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  Status failed = good ? Status() : system_error("find a free port");
  if (fd >= 0) close(fd);
  if (!good) return failed;
  return static_cast<uint16_t>(ntohs(address.sin_port));
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(Kind kind, uint32_t job_bytes_max) {
  Result<std::string> path = program(kind);
  if (!path.ok()) return path.take_status();
  Status last;
  for (int attempt = 0; attempt < 3; ++attempt) {
    std::unique_ptr<Server> server(new Server);
    char directory[] = "/tmp/perennial-oracle-XXXXXX";
    if (mkdtemp(directory) == nullptr) return system_error("make a temporary directory");
    server->directory_ = directory;
    Result<uint16_t> port = free_port();
    if (!port.ok()) return port.take_status();
    server->port_ = *port;
    std::vector<std::string> command = {
        *path, "-l", "127.0.0.1", "-p", std::to_string(*port), "-z", std::to_string(job_bytes_max)};
    if (kind == Kind::Perenniald) {
      command.insert(command.end(), {"-b", server->directory_ + "/data"});
      std::filesystem::create_directory(server->directory_ + "/data");
    }
    last = server->spawn(command);
    if (last.ok()) last = server->await_listening();
    if (last.ok()) return server;
    last = std::move(last).with(server->log());
  }
  return last;
}

Status Server::spawn(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const std::string log_path = directory_ + "/log";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log_path.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  const int error = posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return Status();
  pid_ = -1;
  return Status(StatusCode::Io, fmt::format("start {}: {}", command[0], std::strerror(error)));
}

Status Server::await_listening() {
  for (const auto until = steady_clock::now() + start_time_max; steady_clock::now() < until;) {
    const bool connected = Peer(port_).connected();
    if (!running()) return Status(StatusCode::Io, "the server ended at its start");
    if (connected) return Status();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return Status(StatusCode::Io, "the server does not listen");
}

bool Server::running() {
  int status = 0;
  if (pid_ > 0 && waitpid(pid_, &status, WNOHANG) == pid_) pid_ = -1;
  return pid_ > 0;
}

Server::~Server() {
  if (running()) kill(pid_, SIGTERM);
  for (const auto until = steady_clock::now() + stop_time_max;
       running() && steady_clock::now() < until;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (running()) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

std::string Server::log() const {
  std::ostringstream text;
  text << std::ifstream(directory_ + "/log").rdbuf();
  return std::move(text).str();
}

}  // namespace perennial::oracle
