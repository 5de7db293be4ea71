#include "tests/store/etcd/etcd_process.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/types/check.h"
#include "tests/support/server_process.h"

namespace perennial::store::etcd {
namespace {

const std::filesystem::path own_path = std::filesystem::read_symlink("/proc/self/exe");

std::string program(const char* variable, const char* beside) {
  const char* const named = ::getenv(variable);
  return named != nullptr ? named : (own_path.parent_path() / beside).string();
}

std::string etcd_path() {
  return program("ETCD", "etcd-server/usr/bin/etcd");
}
std::string etcdctl_path() {
  return program("ETCDCTL", "etcd-client/usr/bin/etcdctl");
}

pid_t spawn(std::vector<std::string> words, const std::string& output) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t pid = ::fork();
  CHECK(pid >= 0);
  if (pid > 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int fd = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (fd < 0) ::_exit(126);
  ::dup2(fd, STDOUT_FILENO);
  ::dup2(fd, STDERR_FILENO);
  ::execv(pointers[0], pointers.data());
  ::_exit(126);
}

std::string scratch() {
  const char* const memory = "/dev/shm";
  return ::access(memory, W_OK) == 0 ? memory : "/tmp";
}

}  // namespace

bool etcd_is_present() {
  return std::filesystem::exists(etcd_path()) && std::filesystem::exists(etcdctl_path());
}

EtcdCluster::EtcdCluster(size_t members, std::vector<std::string> flags, std::string scheme)
    : flags_(std::move(flags)), scheme_(std::move(scheme)), dir_(scratch()) {
  for (size_t i = 0; i < members; ++i) {
    members_.push_back({.client_port = support::pick_port(), .peer_port = support::pick_port()});
    endpoints_.push_back(fmt::format("{}://127.0.0.1:{}", scheme_, members_[i].client_port));
  }
  for (size_t i = 0; i < members; ++i) start(i);
}

EtcdCluster::~EtcdCluster() {
  if (std::uncaught_exceptions() > 0) {
    const std::string said = log();
    std::cerr << said.substr(said.size() - std::min<size_t>(said.size(), 10'000)) << '\n';
  }
  for (size_t i = 0; i < members_.size(); ++i)
    if (members_[i].pid > 0) kill_now(i);
}

void EtcdCluster::start(size_t member) {
  CHECK(members_[member].pid < 0);
  members_[member].pid = spawn(arguments(member), dir_.path() + "/log");
}

void EtcdCluster::signal(size_t member, int number) const {
  CHECK(members_[member].pid > 0);
  CHECK(::kill(members_[member].pid, number) == 0);
  if (number == SIGSTOP) {
    // kill() does not wait for it: until all threads have stopped, one of them may still answer.
    int status = 0;
    CHECK(::waitpid(members_[member].pid, &status, WUNTRACED) == members_[member].pid);
    CHECK(WIFSTOPPED(status));
  }
}

void EtcdCluster::kill_now(size_t member) {
  signal(member, SIGKILL);
  CHECK(::waitpid(members_[member].pid, nullptr, 0) == members_[member].pid);
  members_[member].pid = -1;
}

bool EtcdCluster::control(const std::vector<std::string>& arguments) const {
  ::setenv("ETCDCTL_API", "3", 1);
  std::vector<std::string> words{etcdctl_path(), "--endpoints=" + endpoints_[0]};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const pid_t pid = spawn(words, dir_.path() + "/log");
  int status = 0;
  CHECK(::waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string EtcdCluster::log() const {
  std::ifstream file(dir_.path() + "/log");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> EtcdCluster::arguments(size_t member) const {
  const auto peer = [&](size_t i) {
    return fmt::format("http://127.0.0.1:{}", members_[i].peer_port);
  };
  std::string cluster;
  for (size_t i = 0; i < members_.size(); ++i)
    cluster += fmt::format("{}m{}={}", i == 0 ? "" : ",", i, peer(i));
  std::vector<std::string> words{etcd_path(),
                                 fmt::format("--name=m{}", member),
                                 fmt::format("--data-dir={}/m{}", dir_.path(), member),
                                 "--listen-client-urls=" + endpoints_[member],
                                 "--advertise-client-urls=" + endpoints_[member],
                                 "--listen-peer-urls=" + peer(member),
                                 "--initial-advertise-peer-urls=" + peer(member),
                                 "--initial-cluster=" + cluster,
                                 "--logger=zap",
                                 "--log-level=error"};
  words.insert(words.end(), flags_.begin(), flags_.end());
  return words;
}

}  // namespace perennial::store::etcd
