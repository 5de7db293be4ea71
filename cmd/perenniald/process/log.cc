#include "cmd/perenniald/process/log.h"

#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include "cmd/common/characters.h"
#include "cmd/perenniald/process/log_json.h"
#include "cmd/perenniald/process/log_writer.h"

namespace perennial::perenniald {
namespace {

// How long a process that ends waits for the reader of its last lines.
constexpr Nanos last_lines_time_max = nanos_per_second;

// "%*" of a pattern: the fields as members of a JSON object.
class JsonMembers final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& line) override {
    const std::string members = json_members({message.payload.data(), message.payload.size()});
    line.append(members.data(), members.data() + members.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonMembers>();
  }
};

std::string pattern_of(LogForm form) {
  const std::string time = "%Y-%m-%dT%H:%M:%S.%eZ";
  if (!form.is_json) return (form.has_time ? "time=" + time + " " : "") + "level=%l %v";
  return "{" + (form.has_time ? "\"time\":\"" + time + "\"," : "") + "\"level\":\"%l\",%*}";
}

// The form of lines. Any thread.
class Formatter {
 public:
  void set(LogForm form) {
    auto made = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
    made->add_flag<JsonMembers>('*').set_pattern(pattern_of(form));
    const std::lock_guard lock(mutex_);
    formatter_ = std::move(made);
  }
  // With its newline.
  std::string line(const spdlog::details::log_msg& message) {
    spdlog::memory_buf_t line;
    const std::lock_guard lock(mutex_);
    formatter_->format(message, line);
    return {line.data(), line.size()};
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<spdlog::pattern_formatter> formatter_;
};

// None of formatter, writer and logger is ever destroyed, because the committer's thread may log
// while the process ends.
Formatter& formatter() {
  static Formatter* const instance = [] {
    auto* made = new Formatter;
    made->set({});
    return made;
  }();
  return *instance;
}

std::string say_dropped(uint64_t lines) {
  const std::string fields = fmt::format("at=log.dropped lines={}", lines);
  return formatter().line({"", spdlog::level::warn, fields});
}

LogWriter& writer() {
  static LogWriter* const instance = [] {
    std::atexit(flush_log);
    return new LogWriter(STDERR_FILENO, say_dropped);
  }();
  return *instance;
}

class WriterSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    writer().add(formatter().line(message), message.level >= spdlog::level::err);
  }
  void flush_() override {}
};

spdlog::logger& logger() {
  static spdlog::logger* const instance =
      new spdlog::logger("perenniald", std::make_shared<WriterSink>());
  return *instance;
}

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::Debug:
      return spdlog::level::debug;
    case Level::Info:
      return spdlog::level::info;
    case Level::Warning:
      return spdlog::level::warn;
    case Level::Error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

void set_log_verbosity(uint64_t verbosity) {
  logger().set_level(verbosity == 0 ? spdlog::level::info : spdlog::level::debug);
}

bool is_logged(Level level) {
  return logger().should_log(to_spdlog(level));
}

void set_log_form(LogForm form) {
  formatter().set(form);
}

void flush_log() {
  writer().flush(last_lines_time_max);
}

void log(Level level, std::string_view at, std::initializer_list<Field> fields) {
  std::string text;
  for (const Field& field : fields) {
    if (!text.empty()) text += ' ';
    text += fmt::format("{}={}", field.key, common::logfmt_value(field.value));
  }
  log_fields(level, at, text);
}

void log_fields(Level level, std::string_view at, std::string_view fields) {
  // File names, certificates and messages of other programs may hold anything.
  const std::string shown = common::printable_line(fields);
  logger().log(to_spdlog(level), "at={}{}{}", at, shown.empty() ? "" : " ", shown);
}

}  // namespace perennial::perenniald
