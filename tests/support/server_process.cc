#include "tests/support/server_process.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace perennial::support {
namespace {

constexpr int starts_max = 5;
// Read before main(): inside a chroot the link is wrong as soon as a test has mounts of its own.
const std::filesystem::path own_path = std::filesystem::read_symlink("/proc/self/exe");

bool port_is_free(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(fd >= 0);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_port = htons(port);
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0;
  ::close(fd);
  return bound;
}

// Runs between fork and exec in a process that may have threads, so it may only make system calls.
[[noreturn]] void become(char* const* arguments, const char* dir, const char* stderr_path) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int err = ::open(stderr_path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int null = ::open("/dev/null", O_RDONLY);
  const bool ready = err >= 0 && null >= 0 && ::chdir(dir) == 0;
  if (ready) {
    ::dup2(null, STDIN_FILENO);
    ::dup2(err, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    ::execv(arguments[0], arguments);
  }
  ::_exit(126);
}

}  // namespace

ServerProcess::ServerProcess(ServerSetup setup) : setup_(std::move(setup)) {}

ServerProcess::~ServerProcess() {
  if (running()) CHECK(kill_now().ok());
}

Status ServerProcess::start() {
  for (int tries = 1;; ++tries) {
    spawn();
    Status s = wait_until_accepting();
    const bool port_was_taken = !running() && ended_.code == address_in_use_code;
    if (s.ok() || !port_was_taken || tries == starts_max) return s;
  }
}

Result<Ended> ServerProcess::start_and_wait(int timeout_ms) {
  spawn();
  return wait(timeout_ms);
}

void ServerProcess::signal(int number) {
  CHECK(running());
  CHECK(::kill(pid_, number) == 0);
}

Result<Ended> ServerProcess::terminate(int timeout_ms) {
  signal(SIGTERM);
  return wait(timeout_ms);
}

Result<Ended> ServerProcess::kill_now() {
  signal(SIGKILL);
  return wait(60'000);
}

Result<Ended> ServerProcess::wait(int timeout_ms) {
  CHECK(running());
  pollfd waiting{.fd = pidfd_, .events = POLLIN, .revents = 0};
  if (::poll(&waiting, 1, timeout_ms) != 1)
    return Status(StatusCode::NotFound, fmt::format("process {} has not ended", pid_));
  int status = 0;
  CHECK(::waitpid(pid_, &status, 0) == pid_);
  ::close(std::exchange(pidfd_, -1));
  pid_ = -1;
  ended_ = Ended{.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                 .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
  return ended_;
}

std::string ServerProcess::stderr_text() const {
  std::ifstream file(dir() + "/stderr");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

ClientSocket ServerProcess::connect() const {
  Result<ClientSocket> client = ClientSocket::connect(address_);
  CHECK(client.ok());
  return client.take();
}

void ServerProcess::spawn() {
  CHECK(!running());
  std::vector<std::string> words = arguments();
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const std::string stderr_path = dir() + "/stderr";
  pid_ = ::fork();
  CHECK(pid_ >= 0);
  if (pid_ == 0) become(pointers.data(), dir().c_str(), stderr_path.c_str());
  pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  CHECK(pidfd_ >= 0);
}

std::vector<std::string> ServerProcess::arguments() {
  std::vector<std::string> words{program_path(setup_.program)};
  if (setup_.unix_socket) {
    address_ = "unix:" + dir() + "/socket";
    words.insert(words.end(), {"-l", address_});
  } else {
    const std::string port = fmt::to_string(pick_port());
    address_ = "127.0.0.1:" + port;
    words.insert(words.end(), {"-l", "127.0.0.1", "-p", port});
  }
  if (setup_.data_dir) words.insert(words.end(), {"-b", data_dir()});
  // perenniald makes its directory, beanstalkd does not.
  if (setup_.data_dir && setup_.program == Program::Beanstalkd) ::mkdir(data_dir().c_str(), 0700);
  words.insert(words.end(), setup_.flags.begin(), setup_.flags.end());
  return words;
}

Status ServerProcess::wait_until_accepting() {
  const auto limit =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(setup_.start_timeout_ms);
  while (std::chrono::steady_clock::now() < limit) {
    if (ClientSocket::connect(address_).ok()) return {};
    // wait() returns early when the server ends.
    if (wait(2).ok())
      return Status(StatusCode::Io,
                    fmt::format("{} ended with code {} signal {}: {}", program_path(setup_.program),
                                ended_.code, ended_.signal, stderr_text()));
  }
  return Status(StatusCode::Io,
                fmt::format("the server did not accept in time: {}", stderr_text()));
}

// Picks a port below the kernel's range for clients. Within that range a connect to a free port may
// be given the same source port, and then connects to itself.
uint16_t pick_port() {
  static std::set<uint16_t> picked;
  std::random_device random;
  for (;;) {
    const auto port = static_cast<uint16_t>(15'000 + random() % 17'000);
    if (port_is_free(port) && picked.insert(port).second) return port;
  }
}

std::string program_path(Program program) {
  const char* named = ::getenv(program == Program::Perenniald ? "PERENNIALD" : "BEANSTALKD");
  if (named != nullptr) return named;
  const bool ours = program == Program::Perenniald;
  const char* const beside = ours ? "perenniald" : "beanstalkd/usr/bin/beanstalkd";
  return (own_path.parent_path() / beside).string();
}

}  // namespace perennial::support
