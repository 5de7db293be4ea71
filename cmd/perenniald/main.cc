#include <algorithm>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "cmd/common/exit_codes.h"
#include "cmd/common/standard_streams.h"
#include "cmd/perenniald/config/flags.h"
#include "cmd/perenniald/process/aborts.h"
#include "cmd/perenniald/process/descriptors.h"
#include "cmd/perenniald/process/failure.h"
#include "cmd/perenniald/process/log.h"
#include "cmd/perenniald/process/process.h"
#include "cmd/perenniald/process/service_manager.h"
#include "cmd/perenniald/process/standard_input.h"
#include "cmd/perenniald/process/temporary_dir.h"
#include "cmd/perenniald/process/user.h"
#include "cmd/perenniald/server/access_control.h"
#include "cmd/perenniald/server/access_report.h"
#include "cmd/perenniald/server/announcement.h"
#include "cmd/perenniald/server/listeners.h"
#include "cmd/perenniald/server/server.h"

namespace perennial::perenniald {
namespace {

// Prints what is wrong with the files that the settings name, or else what was asked for.
int report_files(const Invocation& invocation) {
  Problems problems;
  load_tls(invocation.config, problems);
  const std::shared_ptr<const access::Users> users = load_users(invocation.config, problems);
  if (problems.empty()) {
    const bool of_access = invocation.action == Invocation::Action::Access;
    std::string out = invocation.out;
    if (of_access) {
      const AccessReport report = access_report(invocation.config, users.get());
      out = invocation.json ? to_json(report) : to_text(report);
    }
    std::fputs(out.c_str(), stdout);
  }
  for (const std::string& problem : problems) {
    std::fprintf(stderr, "perenniald: %s\n", problem.c_str());
  }
  return problems.empty() ? common::exit_clean : common::exit_usage;
}

// The signals by which a server is asked to stop, kept until somebody is there who hears them. They
// would end the process at once, and leave a directory.
class KeptSignals {
 public:
  KeptSignals() {
    sigset_t kept;
    sigemptyset(&kept);
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&kept, number);
    pthread_sigmask(SIG_BLOCK, &kept, &before_);
  }
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;
  ~KeptSignals() { release(); }
  void release() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_ = {};
};

// For the program that has started this one. Whoever does not read it does without.
void announce(const std::string& line) {
  std::printf("%s\n", line.c_str());
  if (std::fflush(stdout) == 0) return;
  log(Level::Warning, "ephemeral", {{"error", "standard output takes no line"}});
}

// What a server is given for its start.
struct Parts {
  std::vector<BoundSocket> sockets;
  TlsListeners tls;
  std::shared_ptr<const access::Users> users;
  Descriptors descriptors;
};

int run_server(const Config& config, Parts parts, std::function<Invocation()> read_settings,
               bool exits_with_stdin, KeptSignals* kept = nullptr) {
  std::string line;
  if (config.is_ephemeral)
    line = announcement(config, parts.sockets, fixed_process_facts(config.job_bytes_max).version);
  Server server(config, std::move(parts.sockets), std::move(parts.tls), std::move(parts.users),
                parts.descriptors, std::move(read_settings));
  if (config.is_ephemeral) server.on_serving([&line] { announce(line); });
  if (kept != nullptr) kept->release();
  if (exits_with_stdin) exit_with_standard_input();
  return server.run();
}

// The directory goes when this returns, also where the start has failed.
int run_ephemeral(Config config, Parts parts, const std::function<Invocation()>& read_settings,
                  bool exits_with_stdin) {
  KeptSignals kept;
  const Result<TemporaryDir> dir = TemporaryDir::create(config.data_dir);
  if (!dir.ok()) return report({common::exit_unreadable, "ephemeral", dir.status().message()});
  config.data_dir = dir->path();
  log(Level::Warning, "ephemeral",
      {{"data_dir", config.data_dir},
       {"effect", "nothing is synced, and all jobs go when the server ends"}});
  const auto read_again = [read_settings, data_dir = dir->path()] {
    Invocation invocation = read_settings();
    invocation.config.data_dir = data_dir;
    return invocation;
  };
  return run_server(config, std::move(parts), read_again, exits_with_stdin, &kept);
}

// The order of a start: bind, drop the user, open, recover, listen. Steps that need privileges come
// first, and clients are accepted last, so none of them waits for a server that cannot start.
// `read_settings` reads the flags and the file again.
int serve(const Config& config, std::function<Invocation()> read_settings, bool exits_with_stdin) {
  if (exits_with_stdin) {
    if (Status held = check_standard_input(); !held.ok())
      return report({common::exit_usage, "stdin", held.message()});
  }
  Result<std::vector<BoundSocket>> sockets = open_sockets(config);
  if (!sockets.ok()) {
    return report({common::exit_address, "listen", sockets.status().message()});
  }
  if (!config.user.empty()) {
    if (const std::optional<Failure> failure = become_user(config.user)) return report(*failure);
  }
  const KeepaliveSettings keepalive = {.keepalive_s = config.tcp_keepalive_s,
                                       .user_timeout_s = config.tcp_user_timeout_s};
  Status set = set_keepalive(*sockets, keepalive);
  if (set.ok()) set = defer_accept(*sockets, config.cluster.peer_address);
  if (!set.ok()) return report({common::exit_address, "listen", set.message()});
  // After the change of the user, so that a reload can read the files, too.
  Problems problems;
  TlsListeners tls = load_tls(config, problems);
  if (!problems.empty()) {
    return report({common::exit_usage, "tls", fmt::format("{}", fmt::join(problems, "; "))});
  }
  std::shared_ptr<const access::Users> users = load_users(config, problems);
  if (!problems.empty()) {
    return report({common::exit_usage, "users", fmt::format("{}", fmt::join(problems, "; "))});
  }
  warn_of_open_sockets(config, *sockets, users.get());
  apply_core_dumps(config.core_dumps);
  const bool holds_keys =
      std::ranges::any_of(tls, [](const auto& listener) { return listener != nullptr; });
  if (holds_keys && !config.core_dumps) hide_memory();
  const uint64_t descriptors = raise_descriptors();
  const std::optional<Descriptors> shares =
      share_descriptors(descriptors, sockets->size(), config.connections_max);
  if (!shares) {
    return report(
        {common::exit_usage, "start",
         fmt::format("the limit of file descriptors (RLIMIT_NOFILE, ulimit -n) is {}, and "
                     "must be at least {}",
                     descriptors, descriptors_min(sockets->size()))});
  }
  Parts parts = {.sockets = sockets.take(),
                 .tls = std::move(tls),
                 .users = std::move(users),
                 .descriptors = *shares};
  if (config.is_ephemeral)
    return run_ephemeral(config, std::move(parts), read_settings, exits_with_stdin);
  return run_server(config, std::move(parts), std::move(read_settings), exits_with_stdin);
}

// For a start that only prints something.
int end_of_output(int code) {
  const Status closed = common::close_standard_output();
  if (closed.ok()) return code;
  std::fprintf(stderr, "perenniald: %s\n", closed.message().c_str());
  return code == common::exit_clean ? common::exit_failed : code;
}

int run(int argc, char** argv) {
  common::open_standard_streams();
  const Invocation invocation = parse_command_line(argc, argv);
  std::fputs(invocation.err.c_str(), stderr);
  if (invocation.action == Invocation::Action::Check ||
      invocation.action == Invocation::Action::Access) {
    return end_of_output(report_files(invocation));
  }
  std::fputs(invocation.out.c_str(), stdout);
  if (invocation.action == Invocation::Action::Exit) return end_of_output(invocation.exit_code);
  set_log_form({.is_json = invocation.config.log_format == LogFormat::Json,
                .has_time = !is_journal(STDERR_FILENO)});
  set_log_verbosity(invocation.config.verbosity);
  for (const std::string& warning : invocation.warnings) {
    log(Level::Warning, "flags", {{"warning", warning}});
  }
  handle_aborts();
  std::signal(SIGPIPE, SIG_IGN);  // A closed connection shows as an error of the write.
  return serve(
      invocation.config, [argc, argv] { return parse_command_line(argc, argv); },
      invocation.exits_with_stdin);
}

}  // namespace
}  // namespace perennial::perenniald

int main(int argc, char** argv) {
  return perennial::perenniald::run(argc, argv);
}
