#include <cstdio>
#include <memory>
#include <string>

#include <absl/time/clock.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/offline/commands.h"
#include "engine/types/status.h"
#include "migrations/steps.h"

namespace perennial::tool {
namespace {

using migrations::Migrated;

struct MigrateOptions {
  std::string data_dir;
  bool dry_run = false;
  bool json = false;
};

void print_json(const MigrateOptions& options, const Migrated& migrated) {
  const nlohmann::ordered_json out = {
      {"data_dir", options.data_dir},     {"from", migrated.from},       {"to", migrated.to},
      {"dry_run", options.dry_run},       {"resumed", migrated.resumed}, {"steps", migrated.steps},
      {"checkpoint", migrated.checkpoint}};
  std::puts(out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
}

void print_text(const MigrateOptions& options, const Migrated& migrated) {
  if (migrated.steps.empty()) {
    fmt::print("nothing to do: {} has format {} already\n", options.data_dir, migrated.to);
    return;
  }
  if (migrated.resumed) fmt::print("a migration was cut short here before, and goes on\n");
  for (const std::string& step : migrated.steps) {
    fmt::print("{} {}\n", options.dry_run ? "would run" : "done", step);
  }
  fmt::print("{} {} to format {}\n", options.dry_run ? "would go from format" : "from format",
             migrated.from, migrated.to);
  if (migrated.checkpoint.empty()) return;
  fmt::print("checkpoint of how it was: {}\n", migrated.checkpoint);
  fmt::print("To go back, restore it with --exact, and start the version that made it.\n");
}

// perennial migrate: migrates a data directory to the format of this program. Prints to standard
// output what it did.
Status migrate(const MigrateOptions& options) {
  const Result<Migrated> migrated = migrations::migrate({.data_dir = options.data_dir,
                                                         .dry_run = options.dry_run,
                                                         .now = absl::GetCurrentTimeNanos(),
                                                         .server_version = PERENNIAL_VERSION});
  if (!migrated.ok()) return migrated.status();
  options.json ? print_json(options, *migrated) : print_text(options, *migrated);
  return {};
}

}  // namespace

Subcommand migrate_command() {
  const auto options = std::make_shared<MigrateOptions>();
  return {
      .name = "migrate",
      .summary = "Bring a data directory of an older version to this one's format",
      .about =
          "A server refuses a data directory of a format that is too old and names this command. "
          "Stop the server first.\n\n"
          "A checkpoint of the directory as it is comes first, in DIR/checkpoints, so that you "
          "can go back: restore it with --exact, and start the version that made it. Then one "
          "step after the other is run, each from one format to the next. Should it be cut "
          "short, by a kill or by a full disk, run it again: it goes on where it stopped.\n\n"
          "A directory of a format that servers of this version read and write is left alone.",
      .examples =
          "  systemctl stop perenniald\n"
          "  perennial migrate --data-dir /var/lib/perennial --dry-run\n"
          "  perennial migrate --data-dir /var/lib/perennial\n"
          "  systemctl start perenniald\n",
      .flags = {{"--data-dir", "DIR", "The data directory", &options->data_dir, true},
                {"--dry-run", "", "Say what would be done, and change nothing", &options->dry_run},
                {"--json", "", "Report as JSON", &options->json}},
      .run = [options] { return migrate(*options); },
  };
}

}  // namespace perennial::tool
