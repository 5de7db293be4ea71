#include "cmd/perenniald/process/log.h"

#include <cstdlib>
#include <memory>
#include <mutex>

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include "cmd/common/characters.h"
#include "cmd/perenniald/process/log_writer.h"

namespace perennial::perenniald {
namespace {

// How long a process that ends waits for the reader of its last lines.
constexpr Nanos last_lines_time_max = nanos_per_second;

// Neither it nor the logger is ever destroyed, because the committer's thread may log while the
// process ends.
LogWriter& writer() {
  static LogWriter* const instance = [] {
    std::atexit(flush_log);
    return new LogWriter(STDERR_FILENO);
  }();
  return *instance;
}

class WriterSink final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    writer().add({line.data(), line.size()}, message.level >= spdlog::level::err);
  }
  void flush_() override {}
};

spdlog::logger& logger() {
  static spdlog::logger* const instance = [] {
    auto* made = new spdlog::logger("perenniald", std::make_shared<WriterSink>());
    made->set_pattern("level=%l %v");
    return made;
  }();
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
