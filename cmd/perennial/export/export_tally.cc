#include "cmd/perennial/export/export_tally.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/output/readable.h"

namespace perennial::tool {
namespace {

std::string row(std::string_view label, uint64_t count) {
  return fmt::format("{:<20} {}\n", label, with_commas(count));
}

}  // namespace

uint64_t ExportTally::left_total() const {
  uint64_t total = 0;
  for (const auto& [reason, count] : left) total += count;
  return total;
}

std::string tally_table(const ExportTally& tally, bool dry_run) {
  std::string out = row("tubes", tally.tubes);
  out += row(dry_run ? "jobs to move" : "jobs moved", tally.moved.total());
  out += row("  ready", tally.moved.ready);
  out += row("  delayed", tally.moved.delayed);
  out += row("  buried", tally.moved.buried);
  out += row("jobs left", tally.left_total());
  for (const auto& [reason, count] : tally.left)
    out += fmt::format("  {:<18} {}\n", with_commas(count), reason);
  if (tally.not_buried > 0) out += row("moved, not buried", tally.not_buried);
  if (tally.without_notes > 0) out += row("moved, notes lost", tally.without_notes);
  if (tally.tubes_without_settings > 0) {
    out += row("tubes, no settings", tally.tubes_without_settings);
  }
  if (tally.possible_duplicates > 0) out += row("perhaps on both", tally.possible_duplicates);
  return out;
}

std::string tally_json(const ExportTally& tally, bool dry_run) {
  nlohmann::ordered_json left = nlohmann::ordered_json::object();
  for (const auto& [reason, count] : tally.left) left[reason] = count;
  const nlohmann::ordered_json out = {
      {"dry_run", dry_run},
      {"stopped", tally.stopped},
      {"tubes", tally.tubes},
      {"jobs", tally.moved.total()},
      {"ready", tally.moved.ready},
      {"delayed", tally.moved.delayed},
      {"buried", tally.moved.buried},
      {"left_total", tally.left_total()},
      {"left", left},
      {"not_buried", tally.not_buried},
      {"without_notes", tally.without_notes},
      {"tubes_without_settings", tally.tubes_without_settings},
      {"possible_duplicates", tally.possible_duplicates},
  };
  return out.dump(2) + "\n";
}

}  // namespace perennial::tool
