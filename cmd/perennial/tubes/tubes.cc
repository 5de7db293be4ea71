#include <cstdio>
#include <memory>
#include <string>

#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd/common/tool/colours.h"
#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/tubes/commands.h"
#include "cmd/perennial/tubes/tubes_table.h"
#include "engine/types/stats.h"

namespace perennial::tool {
namespace {

struct TubesOptions {
  ServerAddress server = {};
  bool wide = false;  // All columns.
  bool json = false;
};

// A pipe or a file has no width, so names are not truncated.
size_t terminal_columns() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return SIZE_MAX / 2;
  return size.ws_col;
}

void print_json(const std::vector<StatsReply>& tubes) {
  std::string out = "[";
  for (const StatsReply& tube : tubes) {
    out += out.size() == 1 ? "\n" : ",\n";
    out += to_json(tube);
  }
  std::puts((out + "\n]").c_str());
}

// perennial tubes: prints a line for each tube of a running server.
Status tubes(const TubesOptions& options) {
  Result<ServerConnection> server = open_server(options.server);
  if (!server.ok()) return server.take_status();
  const Result<std::vector<StatsReply>> all = ask_all_tubes(*server);
  if (!all.ok()) return all.status();
  if (options.json) {
    print_json(*all);
  } else {
    const std::string table =
        options.wide ? wide_tubes_table(*all) : tubes_table(*all, terminal_columns());
    std::fputs(with_bold_heading(table, STDOUT_FILENO).c_str(), stdout);
  }
  return {};
}

}  // namespace

Subcommand tubes_command() {
  const auto options = std::make_shared<TubesOptions>();
  return {
      .name = "tubes",
      .summary = "List the tubes of a running server, a line each",
      .about =
          "Sorted by name, with a line of totals. READY to BURIED count jobs, WAIT workers that "
          "wait for one, USE connections whose puts go there, WATCH those that watch it; a worker "
          "of several tubes counts in each of them, so there is no total. PARKED is there where "
          "there are parked jobs: ready ones that no worker gets, because as many jobs with their "
          "concurrency key are reserved as may be. READY counts them, too. AGE: " +
          std::string(oldest_ready_meaning) +
          " If it grows while workers are there, they are too slow or stuck, or other jobs always "
          "come first. "
          "PAUSE is what is left of a pause. Only perennial tells AGE.\n\n"
          "--wide adds how many jobs have died, have expired, or were duplicates (DUP) since the "
          "start, and the settings in force: after how many TRIES a job is dead, its BACKOFF in "
          "seconds, where dead jobs go (DEAD-TO), EXPIRE in seconds, how many may be reserved at "
          "once (MAX), RATE as jobs:seconds, and DRAIN, whether puts are refused. '-' is none.\n\n"
          "On a terminal long names are cut, which a '~' shows; elsewhere they are whole. With "
          "--json every key is there, as the protocol names it.",
      .examples =
          "  perennial tubes\n"
          "  # Tubes with buried jobs:\n"
          "  perennial tubes --json | jq -r '.[] | select(.\"current-jobs-buried\" > 0) | .name'\n",
      .flags = with_server_flags(
          options->server,
          {
              server_flag(options->server),
              {"--wide", "", "More columns: dead jobs and others, and settings", &options->wide},
              {"--json", "", "All keys of all tubes, as JSON", &options->json},
          }),
      .run = [options] { return tubes(*options); },
  };
}

}  // namespace perennial::tool
