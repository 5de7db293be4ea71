#include "tests/simulation/schedules.h"

#include <array>
#include <map>
#include <set>
#include <variant>

#include <fmt/format.h>

namespace perennial::simulation {
namespace {

// The planned times of the jobs that a schedule has put and that are there.
std::map<std::string, std::multiset<Nanos>> planned_times(const engine::Image& image) {
  std::map<std::string, std::multiset<Nanos>> out;
  for (const auto& [id, row] : image.jobs) {
    if (!row.fields || !row.fields->schedule) continue;
    out[row.fields->schedule->name].insert(row.fields->schedule->planned);
  }
  return out;
}

std::string wrong_with(const ScheduleStored& stored, const std::multiset<Nanos>& times) {
  const ScheduleProgress& progress = stored.progress;
  const auto* const every = std::get_if<ScheduleEvery>(&stored.schedule->when);
  if (every == nullptr || !every->anchor || !progress.planned) return "it is none of this test";
  if (std::set<Nanos>(times.begin(), times.end()).size() != times.size()) {
    return "a planned time has put two jobs";
  }
  if (progress.fired != times.size()) {
    return fmt::format("it has put {} jobs, and {} are there", progress.fired, times.size());
  }
  if (!times.empty() && *times.rbegin() != progress.last_planned) {
    return "the last planned time is not that of the last job";
  }
  if (!times.empty() && *times.rbegin() >= *progress.planned) return "a time will come again";
  const auto passed = static_cast<uint64_t>((*progress.planned - *every->anchor) / every->period);
  const uint64_t counted = progress.fired + progress.skipped + progress.missed;
  // The anchor itself is none.
  if (counted + 1 != passed) {
    return fmt::format("{} times have passed, and {} are accounted for", passed - 1, counted);
  }
  return "";
}

std::string some_schedule(int number, std::mt19937_64& random) {
  constexpr std::array missed = {"one", "none", "20", "3"};
  constexpr std::array overlap = {"allow", "allow", "skip"};
  constexpr std::array jitter = {"", "", " jitter:1", " jitter:250ms"};
  constexpr std::array every = {"1", "1500ms", "7"};
  return fmt::format(
      "set-schedule s{} 1 0 60 2 every:{} tube:planned missed:{} overlap:{}{}\r\ns{}\r\n", number,
      every[random() % every.size()], missed[random() % missed.size()],
      overlap[random() % overlap.size()], jitter[random() % jitter.size()], number);
}

Nanos some_wall_ahead(std::mt19937_64& random) {
  constexpr std::array<Nanos, 6> seconds = {0, 0, 0, 90, -90, 3'600};
  return seconds[random() % seconds.size()] * nanos_per_second;
}

void pass_time(Server& server, std::mt19937_64& random) {
  constexpr std::array<Nanos, 5> durations = {1, 150, 700, 1'000, 3'000};
  server.advance(durations[random() % durations.size()] * nanos_per_ms);
}

}  // namespace

std::string wrong_with_schedules(const engine::Image& image) {
  const std::map<std::string, std::multiset<Nanos>> times = planned_times(image);
  for (const auto& [name, stored] : image.schedules) {
    const auto found = times.find(name);
    const std::string wrong =
        wrong_with(stored, found == times.end() ? std::multiset<Nanos>() : found->second);
    if (!wrong.empty()) return fmt::format("schedule {}: {}", name, wrong);
  }
  for (const auto& [name, all] : times) {
    if (!image.schedules.contains(name)) return fmt::format("no schedule {} has put a job", name);
  }
  return "";
}

void drive_schedules(Server& server, const History& history, std::mt19937_64& random, int steps) {
  server.set_wall_ahead(some_wall_ahead(random));
  if (server.image().schedules.empty()) {
    for (int number = 0; number < 3; ++number) server.whisper(some_schedule(number, random));
  }
  for (int i = 0; i < steps && server.failure().ok() && history.problem().empty(); ++i) {
    const uint64_t drawn = random() % 100;
    if (drawn < 30) {
      server.begin_commit();
    } else if (drawn < 65) {
      server.finish_commit();
    } else if (drawn < 70) {
      server.look();
    } else if (drawn < 99) {
      pass_time(server, random);
    } else {
      server.set_wall_ahead(some_wall_ahead(random));
    }
  }
}

}  // namespace perennial::simulation
