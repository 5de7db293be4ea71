#include "cmd/perennial-bench/report/deliver.h"

#include <cstdio>
#include <fstream>
#include <string>

#include "cmd/perennial-bench/report/plot.h"
#include "cmd/perennial-bench/report/report.h"
#include "cmd/perennial-bench/report/report_json.h"

namespace perennial::bench {
namespace {

Status write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return {};
  return {StatusCode::Io, path + ": cannot be written"};
}

Status check(const BenchOptions& options, const std::vector<Budget>& budgets, const Report& report,
             std::FILE* out) {
  bool all_met = false;
  std::fputs(("\n" + check_budgets(report, budgets, all_met)).c_str(), out);
  if (all_met) return {};
  return {StatusCode::NotFound, options.check + ": not all budgets are met"};
}

}  // namespace

Status deliver(const BenchOptions& options, const std::vector<Budget>& budgets,
               const Report& report) {
  // If JSON goes to standard output, nothing else does, so that a script can parse it.
  const bool for_script = options.json == "-";
  std::FILE* const out = for_script ? stderr : stdout;
  std::fputs(format_table(report).c_str(), out);
  Status status;
  if (for_script)
    std::fputs(format_json(report).c_str(), stdout);
  else if (!options.json.empty())
    status = write_file(options.json, format_json(report));
  if (status.ok() && !options.plot.empty()) status = draw_plot(format_json(report), options.plot);
  if (status.ok() && !options.check.empty()) status = check(options, budgets, report, out);
  return status;
}

}  // namespace perennial::bench
