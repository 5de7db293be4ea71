#include "tests/cmd/perenniald/program/launch.h"

#include <fstream>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/types/check.h"

namespace perennial::support {
namespace {

// The server replaces the shell and keeps its process id, as LISTEN_PID requires.
std::string script(const Launch::Setup& setup) {
  std::string text = setup.shell.empty() ? "" : setup.shell + "\n";
  for (const auto& [name, value] : setup.variables) {
    text += fmt::format("export {}='{}'\n", name, value);
  }
  if (!setup.sockets.empty()) {
    text += fmt::format("export LISTEN_PID=$$ LISTEN_FDS={}\n", setup.sockets.size());
  }
  return text + "exec \"$0\" \"$@\"";
}

[[noreturn]] void become(char* const* words, const std::vector<int>& sockets, const char* dir) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  bool ready = chdir(dir) == 0;
  const int err = open("stderr", O_WRONLY | O_CREAT | O_APPEND, 0600);
  ready = ready && dup2(err, STDERR_FILENO) >= 0;
  // First move the descriptors away from the numbers that they will get.
  constexpr int away = 100;
  for (size_t i = 0; i < sockets.size(); ++i) {
    ready = ready && dup2(sockets[i], away + static_cast<int>(i)) >= 0;
  }
  for (size_t i = 0; i < sockets.size(); ++i) {
    const int number = static_cast<int>(i);
    ready = ready && dup2(away + number, 3 + number) >= 0 && close(away + number) == 0;
  }
  if (ready) execv("/bin/sh", words);
  _exit(126);
}

Ended ended_by(int status) {
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

}  // namespace

Launch::Launch(const std::string& dir, const Setup& setup) : dir_(dir) {
  std::vector<std::string> words = {"sh", "-c", script(setup), program_path(Program::Perenniald)};
  words.insert(words.end(), setup.flags.begin(), setup.flags.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_ = fork();
  CHECK(pid_ >= 0);
  if (pid_ == 0) become(pointers.data(), setup.sockets, dir_.c_str());
}

Launch::~Launch() {
  if (pid_ <= 0 || ended_) return;
  signal(SIGKILL);
  wait();
}

void Launch::signal(int number) {
  CHECK(kill(pid_, number) == 0);
}

Ended Launch::wait() {
  constexpr int tries_max = 120'000;  // A millisecond each, and more.
  int status = 0;
  for (int tries = 0; !ended_ && waitpid(pid_, &status, WNOHANG) != pid_; ++tries) {
    if (tries == tries_max) signal(SIGKILL);
    usleep(1'000);
  }
  pid_ = -1;
  return ended_ ? *std::exchange(ended_, std::nullopt) : ended_by(status);
}

// The process itself exists until somebody has waited for it, so kill() would not tell.
Result<ClientSocket> Launch::connect(const std::string& address) {
  constexpr int tries_max = 60'000;  // A millisecond each, and more.
  for (int tries = 0; tries < tries_max && !ended_; ++tries) {
    Result<ClientSocket> client = ClientSocket::connect(address);
    if (client.ok()) return client;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) ended_ = ended_by(status);
    usleep(1'000);
  }
  return Status(StatusCode::NotFound,
                (ended_ ? "the server has ended: " : "nobody listens: ") + stderr_text());
}

std::string Launch::stderr_text() const {
  std::ifstream file(dir_ + "/stderr");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace perennial::support
