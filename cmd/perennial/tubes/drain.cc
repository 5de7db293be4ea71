#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <limits.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/arguments/consent.h"
#include "cmd/perennial/output/json.h"
#include "cmd/perennial/tubes/commands.h"

namespace perennial::tool {
namespace {

// The options of both commands.
struct DrainOptions {
  ServerAddress server = {};
  Consent consent = {};  // Only drain asks.
};

constexpr auto patience = std::chrono::seconds(10);
constexpr auto poll_interval = std::chrono::milliseconds(20);

std::string own_hostname() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

// Whether the process has run for about so many seconds.
bool is_as_old(uint64_t pid, uint64_t seconds) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  const std::string text((std::istreambuf_iterator<char>(stat)), std::istreambuf_iterator<char>());
  double up = 0;
  std::ifstream("/proc/uptime") >> up;
  // proc(5): the 22nd field, in ticks since the machine's start. The second may hold spaces.
  std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  uint64_t ticks = 0;
  if (!(fields >> ticks)) return false;
  constexpr double tolerance = 3;
  const double age = up - static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return std::abs(age - static_cast<double>(seconds)) <= tolerance;
}

// Compares the name and the age of the process, because the pid may be one of another machine or
// container and belong to another process here.
Result<pid_t> process_of(const ServerConnection& server, const StatsReply& stats) {
  const std::string manual =
      "; on its own machine, send SIGUSR1 to its process to drain it (systemctl kill "
      "--signal=SIGUSR1 perenniald)";
  if (!server.is_local() || stats.text("hostname") != own_hostname()) {
    return Status(StatusCode::Unsupported,
                  fmt::format("{} is on another machine, and drain works by a signal{}",
                              server.address(), manual));
  }
  const std::optional<uint64_t> pid = stats.number("pid");
  if (!pid || *pid == 0 || *pid > INT_MAX)
    return Status(StatusCode::Io, "the server does not say the number of its process");
  std::string name;
  std::getline(std::ifstream(fmt::format("/proc/{}/comm", *pid)), name);
  const bool is_server = name == "perenniald" || name == "beanstalkd";
  // In containers many servers have the same number.
  if (is_server && !is_as_old(*pid, stats.count("uptime"))) {
    return Status(StatusCode::NotFound,
                  fmt::format("the server says that it is process {}, which here is another '{}': "
                              "it may run in a container{}",
                              *pid, name, manual));
  }
  if (is_server) return static_cast<pid_t>(*pid);
  return Status(
      StatusCode::NotFound,
      fmt::format("the server says that it is process {}, which here is {}: it may run in "
                  "a container{}",
                  *pid, name.empty() ? "none" : "'" + name + "'", manual));
}

Status send_signal(pid_t pid) {
  if (::kill(pid, SIGUSR1) == 0) return {};
  return {StatusCode::Io,
          fmt::format("signal process {}: {}; run this as root, or as the user that it runs as",
                      pid, std::strerror(errno))};
}

Status wait_until_draining(ServerConnection& server) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < end) {
    const Result<StatsReply> stats = ask_stats(server, Stats{});
    if (!stats.ok()) return stats.status();
    if (stats->text("draining") == "true") return {};
    std::this_thread::sleep_for(poll_interval);
  }
  return {StatusCode::Io, "the signal was sent, and the server is still not draining"};
}

void report(const ServerConnection& server, const DrainOptions& options, bool is_draining,
            std::string_view line) {
  if (options.consent.json) {
    nlohmann::ordered_json out;
    if (options.consent.dry_run) out["dry_run"] = true;
    out["server"] = server.address();
    out["draining"] = is_draining;
    return print_result(out);
  }
  if (!options.consent.dry_run) fmt::print("{} {}\n", server.address(), line);
}

Result<Decision> decide_on(const ServerConnection& server, const StatsReply& stats,
                           const Consent& consent) {
  if (!is_asked(consent)) return Decision::Do;
  const std::string producers = count_text(stats.count("current-producers"), "producer");
  return decide(consent,
                {.act = fmt::format("drain the server at {}, so that it refuses every put ({})",
                                    server.address(), producers),
                 .count = 1,
                 .why_nothing = {}});
}

// By the command of the protocol, which reaches the server that was named, or else by a signal,
// which a beanstalkd knows, too. The command is unknown there, or denied (admin_on).
Status drain_now(ServerConnection& server, const StatsReply& stats) {
  const Result<ExtensionSet> allowed = ask_extensions(server);
  if (!allowed.ok()) return allowed.status();
  if (allowed->allows(Extension::Drain)) {
    const Result<wire::ClientReply> reply = server.ask(Drain{});
    if (!reply.ok()) return reply.status();
    if (reply->is(Word::Draining)) return {};
    if (!reply->is(Word::Denied)) return unexpected(*reply, "drain");
  }
  const Result<pid_t> pid = process_of(server, stats);
  if (!pid.ok()) return pid.status();
  if (Status sent = send_signal(*pid); !sent.ok()) return sent;
  return wait_until_draining(server);
}

// perennial drain: a server refuses puts until it is started again, or undrained.
Status drain(const DrainOptions& options) {
  Result<ServerConnection> server = open_server(options.server);
  if (!server.ok()) return server.take_status();
  const Result<StatsReply> stats = ask_stats(*server, Stats{});
  if (!stats.ok()) return stats.status();
  if (!stats->text("draining")) {
    return {StatusCode::Unsupported,
            "the server does not say whether it is draining: it is a beanstalkd before 1.12"};
  }
  if (stats->text("draining") == "true") {
    // It is said in a dry run, too.
    if (options.consent.dry_run && !options.consent.json) {
      fmt::print("nothing to do: {} was draining already\n", server->address());
    }
    report(*server, options, true, "was draining already");
    return {};
  }
  const Result<Decision> decision = decide_on(*server, *stats, options.consent);
  if (!decision.ok()) return decision.status();
  if (*decision != Decision::Do) {
    report(*server, options, true, "");
    return {};
  }
  if (Status drained = drain_now(*server, *stats); !drained.ok()) return drained;
  report(*server, options, true, "is draining: it takes no more jobs");
  return {};
}

// perennial undrain: lets a server take jobs again. It works by a command of the protocol, because
// no signal means that.
Status undrain_by_command(const DrainOptions& options) {
  Result<ServerConnection> server = open_server(options.server);
  if (!server.ok()) return server.take_status();
  const ExtensionSet needed = ExtensionSet().with(Extension::Drain);
  if (Status known = require_extensions(*server, needed); !known.ok()) return known;
  const Result<wire::ClientReply> reply = server->ask(Undrain{});
  if (!reply.ok()) return reply.status();
  if (reply->is(Word::Denied)) return denied();
  if (!reply->is(Word::NotDraining)) return unexpected(*reply, "undrain");
  report(*server, options, false, "takes jobs");
  return {};
}

}  // namespace

Subcommand drain_command() {
  const auto options = std::make_shared<DrainOptions>();
  return {
      .name = "drain",
      .summary = "Let a server take no more jobs",
      .about =
          "Every put is then answered DRAINING, and all else works, so that workers can empty the "
          "queue. 'perennial undrain' ends it, and so does a restart. It works by the command "
          "'drain'. Where the server does not know that or denies it (admin_on), as a beanstalkd "
          "does, it works by SIGUSR1 to the process that 'stats' names: on the server's machine, "
          "as root or as the server's user. It returns when the server is draining. It asks "
          "before; a script gives --yes.",
      .examples =
          "  perennial drain --yes\n"
          "  # What is left:\n"
          "  perennial stats\n",
      .flags = with_server_flags(
          options->server, with_consent_flags(options->consent, {server_flag(options->server)})),
      .run = [options] { return drain(*options); },
  };
}

Subcommand undrain_command() {
  const auto options = std::make_shared<DrainOptions>();
  return {
      .name = "undrain",
      .summary = "Let a server that drains take jobs again",
      .about =
          "Ends what 'perennial drain' has begun. It works over the protocol, so the server may be "
          "on another machine. For one tube there is 'perennial set tube TUBE --drain no'. A "
          "beanstalkd has no such command: it drains until it is started again.",
      .examples = "  perennial undrain\n",
      .flags = with_server_flags(options->server,
                                 {
                                     server_flag(options->server),
                                     {"--json", "", "Report as JSON", &options->consent.json},
                                 }),
      .run = [options] { return undrain_by_command(*options); },
  };
}

}  // namespace perennial::tool
