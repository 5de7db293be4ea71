// A crontab of 33 real lines, applied from its file to an engine whose clock runs through a year,
// in three zones that change their clocks: Berlin, Lord Howe by half an hour, and Santiago in the
// south. Each planned time that puts a job is held against a second calendar: the C library's,
// asked minute by minute, with a reader of expressions that has nothing in common with ours.
//
// It is blind to the disk and to bodies, to `L`, `W` and seconds, and to a clock that jumps. Lines
// that are due more than once an hour have their year only in the long form.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "cmd/common/calendar/system_calendar.h"
#include "cmd/perennial/schedules/file/schedule_file.h"
#include "engine/engine.h"
#include "tests/support/long_form.h"

namespace perennial {
namespace {

constexpr int64_t begin_s = 1'767'225'600;  // 2026-01-01T00:00:00Z
constexpr int64_t days = 365;
constexpr int64_t end_s = begin_s + days * 86'400;

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == by) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

int number(const std::string& text) {
  int value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Whether a field of crontab(5) has this value. `first` and `last`: those of its range.
bool has(const std::string& field, int value, int first, int last) {
  for (const std::string& item : split(field, ',')) {
    const std::vector<std::string> stepped = split(item, '/');
    const std::vector<std::string> range = split(stepped[0], '-');
    const int from = range[0] == "*" ? first : number(range[0]);
    const int to = range[0] == "*" ? last : range.size() > 1 ? number(range[1]) : from;
    const int step = stepped.size() > 1 ? number(stepped[1]) : 1;
    if (value >= from && value <= to && (value - from) % step == 0) return true;
  }
  return false;
}

// An expression as five texts.
std::array<std::string, 5> fields_of(const std::string& expression) {
  static const std::map<std::string, std::string> words = {{"@hourly", "0 * * * *"},
                                                           {"@daily", "0 0 * * *"},
                                                           {"@weekly", "0 0 * * 0"},
                                                           {"@monthly", "0 0 1 * *"},
                                                           {"@yearly", "0 0 1 1 *"}};
  const auto word = words.find(expression);
  const std::vector<std::string> parts =
      split(word != words.end() ? word->second : expression, ' ');
  EXPECT_EQ(parts.size(), 5u) << expression;
  return {parts[0], parts[1], parts[2], parts[3], parts[4]};
}

bool matches_day_of_week(const std::string& field, const std::tm& local) {
  const std::vector<std::string> nth = split(field, '#');
  if (nth.size() > 1) {
    return number(nth[0]) % 7 == local.tm_wday && (local.tm_mday - 1) / 7 + 1 == number(nth[1]);
  }
  return has(field, local.tm_wday, 0, 7) || (local.tm_wday == 0 && has(field, 7, 0, 7));
}

bool matches(const std::array<std::string, 5>& fields, const std::tm& local) {
  const auto& [minute, hour, day, month, weekday] = fields;
  if (!has(minute, local.tm_min, 0, 59) || !has(hour, local.tm_hour, 0, 23)) return false;
  if (!has(month, local.tm_mon + 1, 1, 12)) return false;
  const bool is_day = has(day, local.tm_mday, 1, 31);
  const bool is_weekday = matches_day_of_week(weekday, local);
  const bool is_either = !day.starts_with('*') && !weekday.starts_with('*');
  return is_either ? is_day || is_weekday : is_day && is_weekday;
}

// When the expression is due in the year, in seconds. `zone` is that of the process (TZ).
std::vector<int64_t> due_by_the_c_library(const std::string& expression) {
  const std::array<std::string, 5> fields = fields_of(expression);
  const bool has_all_hours = fields[1] == "*";
  std::vector<int64_t> due;
  const auto civil_at = [](int64_t at, std::tm& local) {
    const std::time_t time = at;
    localtime_r(&time, &local);
    std::tm copy = local;
    return static_cast<int64_t>(timegm(&copy));
  };
  std::tm local = {};
  int64_t latest = civil_at(begin_s - 60, local);  // What the clock on the wall has shown.
  for (int64_t at = begin_s; at < end_s; at += 60) {
    const int64_t civil = civil_at(at, local);
    bool is_due = false;
    if (has_all_hours) {
      is_due = matches(fields, local);
    } else if (civil > latest) {
      // What is left out where clocks are put forward is due now.
      for (int64_t each = latest + 60; each <= civil; each += 60) {
        std::tm left_out = {};
        const std::time_t time = each;
        gmtime_r(&time, &left_out);
        is_due = is_due || matches(fields, left_out);
      }
    }
    latest = std::max(latest, civil);
    if (is_due) due.push_back(at);
  }
  return due;
}

// An engine with the calendar of the system, whose clocks a test sets.
class Year {
 public:
  Year() { apply(begin_s - 60, engine::Opened{}); }

  void set(const SetSchedule& set) { apply(begin_s - 60, Command(set)); }
  // A minute after the other, each with what is due in it. The jobs are deleted at once.
  void run() {
    for (int64_t at = begin_s; at < end_s; at += 60) {
      apply(at, engine::Tick{});
      const std::vector<JobId> jobs = std::exchange(jobs_, {});
      for (const JobId job : jobs) apply(at, Command(Delete{job}));
    }
  }
  const std::vector<int64_t>& planned(const std::string& name) { return planned_[name]; }

 private:
  void apply(int64_t at, engine::Event event) {
    out_.clear();
    engine_.apply({.now = at * nanos_per_second,
                   .wall = at * nanos_per_second,
                   .conn = 1,
                   .event = std::move(event)},
                  out_);
    for (const Transition& transition : out_.transitions) {
      const auto* const moved = std::get_if<JobMoved>(&transition);
      if (moved == nullptr || moved->before || !moved->after) continue;
      const ScheduleOrigin& origin = *moved->after->fields->schedule;
      jobs_.push_back(moved->id);
      planned_[origin.name].push_back(origin.planned / nanos_per_second);
    }
  }

  engine::Engine engine_{{.calendar = std::make_shared<const calendar::SystemCalendar>()}};
  engine::Output out_;
  std::vector<JobId> jobs_;
  std::map<std::string, std::vector<int64_t>> planned_;
};

class YearOfACrontab : public testing::TestWithParam<std::string> {};

TEST_P(YearOfACrontab, PutsAJobForEachPlannedTimeAndForNoOther) {
  ASSERT_EQ(setenv("TZ", GetParam().c_str(), 1), 0);
  tzset();
  auto read = tool::read_schedule_file(CRONTAB_FILE);
  ASSERT_TRUE(read.ok()) << read.status().message();
  Year year;
  std::map<std::string, std::string> expressions;
  for (tool::WantedSchedule& wanted : read->schedules) {
    ScheduleOptions& options = *wanted.command.options;
    const std::string& expression = options.cron.expression;
    const std::string minute = fields_of(expression)[0];
    const bool is_rare = minute.find_first_not_of("0123456789") == std::string::npos;
    if (!is_rare && !support::is_long_form()) continue;
    options.zone = GetParam();
    options.jitter = {};  // Which is later than the planned time.
    expressions[wanted.command.name] = expression;
    wanted.command.body_bytes = static_cast<uint32_t>(wanted.body.size());
    year.set(wanted.command);
  }
  ASSERT_GE(expressions.size(), 20u);
  year.run();
  size_t jobs = 0;
  for (const auto& [name, expression] : expressions) {
    EXPECT_EQ(year.planned(name), due_by_the_c_library(expression)) << name << " " << expression;
    jobs += year.planned(name).size();
  }
  RecordProperty("jobs", static_cast<int>(jobs));
  EXPECT_GT(jobs, 20'000u);
}

INSTANTIATE_TEST_SUITE_P(Schedules, YearOfACrontab,
                         testing::Values("Europe/Berlin", "Australia/Lord_Howe",
                                         "America/Santiago"),
                         [](const auto& tested) {
                           return tested.param.substr(tested.param.rfind('/') + 1);
                         });

}  // namespace
}  // namespace perennial
