// A crontab of 33 real lines as a file of schedules: it is read, and each is due when it should be.
// The times are literals that a program of its own has found, minute by minute with Python's
// zoneinfo. They begin at noon of the day before the clocks of Berlin are put forward.
//
// Blind to the jitter and to what a server does at these times.

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cmd/common/calendar/system_calendar.h"
#include "cmd/perennial/schedules/file/schedule_file.h"
#include "wire/time_text.h"

namespace perennial::tool {
namespace {

constexpr std::string_view noon = "2026-03-28T12:00:00+01:00";

struct Due {
  std::string name;
  std::vector<std::string> times;
};

const std::vector<Due>& all_due() {
  static const std::vector<Due> all = {
      {"cron.hourly", {"2026-03-28T11:17Z", "2026-03-28T12:17Z", "2026-03-28T13:17Z"}},
      {"cron.daily", {"2026-03-29T04:25Z", "2026-03-30T04:25Z", "2026-03-31T04:25Z"}},
      {"cron.weekly", {"2026-03-29T04:47Z", "2026-04-05T04:47Z", "2026-04-12T04:47Z"}},
      {"cron.monthly", {"2026-04-01T04:52Z", "2026-05-01T04:52Z", "2026-06-01T04:52Z"}},
      {"anacron", {"2026-03-28T11:30Z", "2026-03-28T12:30Z", "2026-03-28T13:30Z"}},
      {"certbot", {"2026-03-28T23:00Z", "2026-03-29T10:00Z", "2026-03-29T22:00Z"}},
      {"e2scrub-all", {"2026-03-29T01:30Z", "2026-04-05T01:30Z", "2026-04-12T01:30Z"}},
      {"e2scrub-reap", {"2026-03-29T01:10Z", "2026-03-30T01:10Z", "2026-03-31T01:10Z"}},
      {"mdadm-checkarray", {"2026-04-04T22:57Z", "2026-05-02T22:57Z", "2026-06-06T22:57Z"}},
      {"zfs-trim", {"2026-04-04T22:24Z", "2026-05-02T22:24Z", "2026-06-06T22:24Z"}},
      {"zfs-scrub", {"2026-04-11T22:24Z", "2026-05-09T22:24Z", "2026-06-13T22:24Z"}},
      {"sysstat-sa1", {"2026-03-28T11:05Z", "2026-03-28T11:15Z", "2026-03-28T11:25Z"}},
      {"sysstat-midnight", {"2026-03-28T22:59Z", "2026-03-29T21:59Z", "2026-03-30T21:59Z"}},
      {"php-sessionclean", {"2026-03-28T11:09Z", "2026-03-28T11:39Z", "2026-03-28T12:09Z"}},
      {"munin-cron", {"2026-03-28T11:05Z", "2026-03-28T11:10Z", "2026-03-28T11:15Z"}},
      {"munin-limits", {"2026-03-29T08:14Z", "2026-03-30T08:14Z", "2026-03-31T08:14Z"}},
      {"mailman3-minutely", {"2026-03-28T11:01Z", "2026-03-28T11:02Z", "2026-03-28T11:03Z"}},
      {"mailman3-quarter-hourly", {"2026-03-28T11:15Z", "2026-03-28T11:30Z", "2026-03-28T11:45Z"}},
      {"mailman3-hourly", {"2026-03-28T12:00Z", "2026-03-28T13:00Z", "2026-03-28T14:00Z"}},
      {"mailman3-daily", {"2026-03-28T23:00Z", "2026-03-29T22:00Z", "2026-03-30T22:00Z"}},
      {"mailman3-weekly", {"2026-03-28T23:00Z", "2026-04-04T22:00Z", "2026-04-11T22:00Z"}},
      {"mailman3-monthly", {"2026-03-31T22:00Z", "2026-04-30T22:00Z", "2026-05-31T22:00Z"}},
      {"mailman3-yearly", {"2026-12-31T23:00Z"}},
      {"logcheck", {"2026-03-28T11:02Z", "2026-03-28T12:02Z", "2026-03-28T13:02Z"}},
      {"roundcube-cleandb", {"2026-03-29T03:00Z", "2026-03-30T03:00Z", "2026-03-31T03:00Z"}},
      {"awstats-update", {"2026-03-28T11:10Z", "2026-03-28T11:20Z", "2026-03-28T11:30Z"}},
      {"awstats-static", {"2026-03-29T01:10Z", "2026-03-30T01:10Z", "2026-03-31T01:10Z"}},
      {"cacti-poller", {"2026-03-28T11:05Z", "2026-03-28T11:10Z", "2026-03-28T11:15Z"}},
      {"sanoid", {"2026-03-28T11:15Z", "2026-03-28T11:30Z", "2026-03-28T11:45Z"}},
      {"amavis-sa-sync", {"2026-03-28T11:18Z", "2026-03-28T14:18Z", "2026-03-28T17:18Z"}},
      {"amavis-sa-clean", {"2026-03-29T00:24Z", "2026-03-29T23:24Z", "2026-03-30T23:24Z"}},
      {"inn2-daily", {"2026-03-28T23:15Z", "2026-03-29T22:15Z", "2026-03-30T22:15Z"}},
      {"inn2-rnews", {"2026-03-28T11:10Z", "2026-03-28T12:10Z", "2026-03-28T13:10Z"}},
  };
  return all;
}

std::vector<std::string> times_of(const WantedSchedule& wanted, size_t count) {
  const calendar::SystemCalendar calendar;
  const ScheduleWhen when = schedule_of(wanted.command, {}).when;
  std::vector<std::string> times;
  std::optional<Nanos> at = wire::read_time(noon);
  while (times.size() < count) {
    at = calendar.next_after(when, at.value()).at;
    if (!at) break;
    // "2026-03-28T11:17:00.000Z" without what is below a minute.
    const std::string text = wire::utc_text(*at);
    EXPECT_TRUE(text.ends_with(":00.000Z")) << text;
    times.push_back(text.substr(0, text.size() - std::string_view(":00.000Z").size()) + "Z");
  }
  return times;
}

TEST(Crontab, OfDebianIsDueWhenItShouldBe) {
  const auto file = read_schedule_file(std::string(SCHEDULES_DIR) + "/crontab.yaml");
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_EQ(file->schedules.size(), all_due().size());
  for (size_t at = 0; at < file->schedules.size(); ++at) {
    const Due& due = all_due()[at];
    EXPECT_EQ(file->schedules[at].command.name, due.name);
    EXPECT_EQ(times_of(file->schedules[at], due.times.size()), due.times) << due.name;
  }
}

// The example of etc/docs/crontab.md.
TEST(Crontab, OfTheDocumentIsRead) {
  std::ostringstream text;
  text << std::ifstream(CRONTAB_DOCUMENT).rdbuf();
  const std::string document = text.str();
  const std::string fence = "```yaml\n";
  const size_t begin = document.find(fence);
  ASSERT_NE(begin, std::string::npos);
  const size_t from = begin + fence.size();
  const std::string path = fmt::format("{}/crontab.{}.yaml",
                                       std::filesystem::temp_directory_path().string(), ::getpid());
  std::ofstream(path) << document.substr(from, document.find("```", from) - from);
  const auto file = read_schedule_file(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_EQ(file->schedules.size(), 3U);
  using Times = std::vector<std::string>;
  EXPECT_EQ(times_of(file->schedules[0], 1), (Times{"2026-03-28T11:05Z"}));
  EXPECT_EQ(times_of(file->schedules[1], 2), (Times{"2026-03-29T01:30Z", "2026-03-30T01:30Z"}));
  EXPECT_EQ(times_of(file->schedules[2], 2), (Times{"2026-04-04T22:57Z", "2026-05-02T22:57Z"}));
}

}  // namespace
}  // namespace perennial::tool
