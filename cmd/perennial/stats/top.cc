#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "cmd/common/tool/stop_signals.h"
#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/stats/commands.h"
#include "cmd/perennial/stats/terminal.h"
#include "cmd/perennial/stats/top_screen.h"

namespace perennial::tool {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct TopOptions {
  ServerAddress server = {};
  milliseconds interval{2000};
  bool once = false;
};

constexpr uint64_t interval_ms_min = 100;
constexpr uint64_t interval_ms_max = 3'600'000;
// How long the screen waits for a server that does not answer.
constexpr milliseconds silence_max{2000};
// How often signals are checked.
constexpr milliseconds wait_max{200};

Result<TopSample> take_sample(ServerConnection& server) {
  TopSample sample;
  Result<StatsReply> stats = ask_stats(server, Stats{});
  if (!stats.ok()) return stats.take_status();
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  sample.at = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  sample.server = stats.take();
  Result<std::vector<StatsReply>> tubes = ask_all_tubes(server);
  if (!tubes.ok()) return tubes.take_status();
  sample.tubes = tubes.take();
  return sample;
}

// The last two samples of the server. Reconnects when necessary.
class LiveView {
 public:
  explicit LiveView(ServerAddress server) : address_(std::move(server)) {}

  Status look() {
    Status status = connect();
    if (status.ok()) {
      Result<TopSample> sample = take_sample(*server_);
      if (sample.ok()) {
        before_ = std::exchange(after_, sample.take());
      } else {
        status = sample.take_status();
        server_.reset();  // A reply may be partially read.
      }
    }
    trouble_ = status.message();
    return status;
  }

  TopView view() const {
    return {.address = address_.address,
            .before = before_ ? &*before_ : nullptr,
            .after = after_ ? &*after_ : nullptr,
            .trouble = trouble_};
  }

 private:
  Status connect() {
    if (server_) return {};
    Result<ServerConnection> server = ServerConnection::open(address_);
    if (!server.ok()) return server.take_status();
    if (Status limited = server->limit_silence(address_.timeout.value_or(silence_max));
        !limited.ok())
      return limited;
    server_.emplace(server.take());
    return {};
  }

  const ServerAddress address_;
  std::optional<ServerConnection> server_;
  std::optional<TopSample> before_;
  std::optional<TopSample> after_;
  std::string trouble_;
};

Status print_once(LiveView& watch, const TopOptions& options) {
  if (Status first = watch.look(); !first.ok()) return first;
  std::this_thread::sleep_for(options.interval);
  if (Status second = watch.look(); !second.ok()) return second;
  for (const ScreenLine& line : top_screen(watch.view(), {})) fmt::print("{}\n", line.text);
  return {};
}

// Returns true if the user or a signal asks to quit.
bool wait_until(Clock::time_point due, LiveView& watch, Terminal& terminal, StopSignals& signals) {
  for (;;) {
    if (signals.stopped()) return true;
    const auto left = std::chrono::ceil<milliseconds>(due - Clock::now());
    if (left.count() <= 0) return false;
    const Terminal::Key key = terminal.wait(static_cast<int>(std::min(left, wait_max).count()));
    if (key == Terminal::Key::Quit) return true;
    if (key == Terminal::Key::Resized) terminal.show(top_screen(watch.view(), terminal.size()));
  }
}

Status show_always(LiveView& watch, const TopOptions& options) {
  // An error of the first sample is reported without opening the screen.
  if (Status first = watch.look(); !first.ok()) return first;
  StopSignals signals;
  Result<std::unique_ptr<Terminal>> terminal = Terminal::open();
  if (!terminal.ok()) return terminal.take_status();
  for (;;) {
    const Clock::time_point due = Clock::now() + options.interval;
    (*terminal)->show(top_screen(watch.view(), (*terminal)->size()));
    if (wait_until(due, watch, **terminal, signals)) return {};
    ignore(watch.look(), "the screen says so, and the next look connects again");
  }
}

// perennial top: shows the activity of a server on a screen that is updated.
Status top(const TopOptions& options) {
  LiveView watch(options.server);
  return options.once ? print_once(watch, options) : show_always(watch, options);
}

}  // namespace

Subcommand top_command() {
  const auto options = std::make_shared<TopOptions>();
  return {
      .name = "top",
      .summary = "Watch a running server: rates, depths and the busiest tubes",
      .about =
          "The screen is for a terminal of 80 by 24 or more, and follows its size; q or Ctrl-C "
          "leaves. A server that goes away is shown as such, and connected to again when it is "
          "back.\n\n"
          "'per s' are commands per second since the last look; a batch is one command. 'ended' "
          "are "
          "jobs that have died, because they used up their tries, and that have expired, since the "
          "start of the server. 'oldest' is the ready job that has been ready longest: if it grows "
          "while workers wait, they watch other tubes, the tube is paused, or the job is parked; "
          "if "
          "it grows and none waits, there are too few, or other jobs always come first. AGE is the "
          "same for each tube. "
          "'ended', 'store' and ages are told by perennial only.",
      .examples =
          "  perennial top\n"
          "  perennial top --interval 500ms --server unix:/run/perennial.sock\n"
          "  # For a script or a ticket:\n"
          "  perennial top --once\n",
      .flags = with_server_flags(
          options->server,
          {
              server_flag(options->server),
              {.name = "--interval",
               .value = "DURATION",
               .help = "Between two looks",
               .target = &options->interval,
               .lowest = interval_ms_min,
               .highest = interval_ms_max},
              {"--once", "", "Print one screen, of one interval, and end", &options->once},
          }),
      .run = [options] { return top(*options); },
  };
}

}  // namespace perennial::tool
