#include "cmd/perennial/export/not_kept.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cmd/perennial/export/export_options.h"
#include "cmd/perennial/output/readable.h"

namespace perennial::tool {

Result<NotKept> not_kept(ExtensionSet here, ExtensionSet there, const StatsReply& stats,
                         const std::vector<StatsReply>& tubes) {
  constexpr std::pair<Extension, const char*> names[] = {
      {Extension::Unique, "keys"},
      {Extension::Attempts, "tries, back-off and dead tubes"},
      {Extension::Expire, "expiry"},
      {Extension::ConcurrencyKeys, "concurrency keys"},
  };
  NotKept out;
  for (const auto& [extension, name] : names) {
    if (!here.allows(extension) || there.allows(extension)) continue;
    out.of_jobs.emplace_back(name);
    if (extension == Extension::Unique) out.keys = stats.count("current-keys");
    if (extension == Extension::ConcurrencyKeys) out.parked = stats.count("current-jobs-parked");
  }
  for (const StatsReply& tube : tubes) {
    const std::string name(tube.text("name").value_or("?"));
    const Result<std::vector<Extras<SetTube>>> settings = extras_of_tube(tube, name);
    if (!settings.ok()) return settings.status();
    const bool are_all_known = std::ranges::all_of(
        *settings, [&](const auto& group) { return allows_all(there, group.needed); });
    if (!are_all_known) out.tubes.push_back(name);
  }
  return out;
}

std::string NotKept::sentence(const std::string& other, bool drops_options) const {
  if (of_jobs.empty() && tubes.empty()) return {};
  std::string out = fmt::format("{} does not know ", other);
  if (!of_jobs.empty()) {
    out += fmt::format("{} of jobs: those that have any {}", fmt::join(of_jobs, ", "),
                       drops_options ? "lose it" : "stay, if you do not say --drop-options");
  } else {
    out += "settings of tubes";
  }
  std::vector<std::string> counts;
  if (keys > 0) counts.push_back(fmt::format("{} keys are taken", with_commas(keys)));
  if (parked > 0) counts.push_back(fmt::format("{} jobs are parked", with_commas(parked)));
  if (!tubes.empty()) {
    constexpr size_t names_max = 5;
    const std::span shown = std::span(tubes).first(std::min(tubes.size(), names_max));
    counts.push_back(fmt::format("{} tubes lose their settings ({}{})", with_commas(tubes.size()),
                                 fmt::join(shown, ", "),
                                 shown.size() < tubes.size() ? ", ..." : ""));
  }
  if (!counts.empty()) out += fmt::format("; {}", fmt::join(counts, ", "));
  return out;
}

}  // namespace perennial::tool
