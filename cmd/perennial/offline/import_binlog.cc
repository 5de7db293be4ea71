#include <cstdio>
#include <memory>

#include <absl/time/clock.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/offline/commands.h"
#include "migrations/binlog_import.h"

namespace perennial::tool {
namespace {

uint64_t job_count(const migrations::BinlogSummary& summary) {
  return summary.jobs.ready + summary.jobs.delayed + summary.jobs.buried;
}

void print_json(const migrations::BinlogSummary& summary) {
  const nlohmann::ordered_json out = {
      {"files", summary.files},
      {"records", summary.records},
      {"records_without_job", summary.orphans},
      {"jobs", job_count(summary)},
      {"ready", summary.jobs.ready},
      {"delayed", summary.jobs.delayed},
      {"buried", summary.jobs.buried},
      {"tubes", summary.tubes},
      {"body_bytes", summary.body_bytes},
      {"next_id", summary.next_id},
      {"torn", summary.torn},
      {"damaged", summary.damaged},
  };
  std::puts(out.dump(2).c_str());
}

void print_table(const migrations::BinlogSummary& summary) {
  fmt::print("files read          {}\n", summary.files);
  fmt::print("records read        {}\n", summary.records);
  fmt::print("  of no known job   {}\n", summary.orphans);
  fmt::print("jobs                {}\n", job_count(summary));
  fmt::print("  ready             {}\n", summary.jobs.ready);
  fmt::print("  delayed           {}\n", summary.jobs.delayed);
  fmt::print("  buried            {}\n", summary.jobs.buried);
  fmt::print("tubes               {}\n", summary.tubes);
  fmt::print("bytes of bodies     {}\n", summary.body_bytes);
  fmt::print("next id             {}\n", summary.next_id);
  for (const std::string& where : summary.torn) fmt::print("cut off             {}\n", where);
  for (const std::string& where : summary.damaged) fmt::print("not readable        {}\n", where);
}

// A crash of beanstalkd leaves zeros behind the last record, because it gives each file its full
// size before it writes there. A file that ends within a record is therefore not whole.
Status check_whole(const migrations::BinlogSummary& summary) {
  if (summary.torn.empty() && summary.damaged.empty()) return {};
  std::string what;
  if (!summary.damaged.empty())
    what = fmt::format("{} of {} files are damaged; ", summary.damaged.size(), summary.files);
  for (const std::string& where : summary.torn)
    what +=
        fmt::format("{} is cut off within a record, which no crash of beanstalkd does; ", where);
  return {StatusCode::Corruption,
          fmt::format("{}what stands behind cannot be read, and nothing was written. {} jobs could "
                      "be read. Copy the binlog again, if this is a copy; --skip-damaged goes on "
                      "with these jobs, as beanstalkd would",
                      what, job_count(summary))};
}

}  // namespace

Status import_binlog(const ImportOptions& options) {
  if (!options.dry_run && options.to.empty()) {
    return {StatusCode::InvalidArgument, "--to is required, or --dry-run"};
  }
  Result<std::unique_ptr<migrations::Binlog>> binlog = migrations::Binlog::open(options.from);
  if (!binlog.ok()) return binlog.take_status();
  const Nanos now = absl::GetCurrentTimeNanos();
  (*binlog)->replay(now);
  const migrations::BinlogSummary& summary = (*binlog)->summary();
  options.json ? print_json(summary) : print_table(summary);
  if (!options.skip_damaged)
    if (Status whole = check_whole(summary); !whole.ok()) return whole;
  if (options.dry_run) return {};
  return (*binlog)->write_to(options.to, now);
}

Subcommand import_binlog_command() {
  const auto options = std::make_shared<ImportOptions>();
  return {
      .name = "import-binlog",
      .summary = "Bring the jobs of a beanstalkd into a new data directory",
      .about =
          "Reads the binlog of beanstalkd, versions 5 and 7. Ids, tubes, priorities, delays, "
          "counters and the order of buried jobs are kept. Reserved jobs become ready, as "
          "when beanstalkd starts again.\n\n"
          "Stop beanstalkd first. Its directory is only read, so that you can go back to it.",
      .examples =
          "  perennial import-binlog --from /var/lib/beanstalkd --to /var/lib/perennial\n"
          "  perenniald -b /var/lib/perennial\n",
      .flags =
          {
              {"--from", "DIR", "The directory that beanstalkd was given with -b", &options->from,
               true},
              {"--to", "DIR", "The data directory to make; it must not be there yet", &options->to},
              {"--dry-run", "", "Read and report, and write nothing", &options->dry_run},
              {"--skip-damaged", "",
               "Go on where a file is damaged or cut off, without what stands behind",
               &options->skip_damaged},
              {"--json", "", "Report as JSON", &options->json},
          },
      .run = [options] { return import_binlog(*options); },
  };
}

}  // namespace perennial::tool
