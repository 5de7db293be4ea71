#include "cmd/perennial/work/log_line.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/common/characters.h"

namespace perennial::tool::work {
namespace {

std::string seconds_text(std::chrono::milliseconds time) {
  return fmt::format("{}.{:03}", time.count() / 1000, time.count() % 1000);
}

struct AsLogfmt {
  std::string operator()(const std::string& text) const { return common::logfmt_value(text); }
  std::string operator()(uint64_t number) const { return fmt::format("{}", number); }
  std::string operator()(std::chrono::milliseconds time) const { return seconds_text(time); }
};

struct AsJson {
  std::string operator()(const std::string& text) const {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  std::string operator()(uint64_t number) const { return fmt::format("{}", number); }
  std::string operator()(std::chrono::milliseconds time) const { return seconds_text(time); }
};

// Why the worker has ended the command, in one word. Empty: the command ended without it.
std::string_view reason(Cause cause) {
  switch (cause) {
    case Cause::Exited:
    case Cause::Lost:
      return {};
    case Cause::NotStarted:
    case Cause::NoProgram:
      return "not-started";
    case Cause::TimedOut:
      return "timeout";
    case Cause::Stopped:
      return "stopped";
  }
  CHECK(false);
}

}  // namespace

std::string log_line(LogFormat format, const LogFields& fields) {
  std::string line;
  for (const auto& [key, value] : fields) {
    if (format == LogFormat::Logfmt) {
      line += fmt::format("{}{}={}", line.empty() ? "" : " ", key, std::visit(AsLogfmt{}, value));
    } else {
      line +=
          fmt::format("{}\"{}\":{}", line.empty() ? "{" : ",", key, std::visit(AsJson{}, value));
    }
  }
  return format == LogFormat::Json ? line + "}" : line;
}

LogFields job_fields(const Job& job, const Verdict& verdict, const Ending& ending,
                     std::chrono::milliseconds took) {
  const bool good = verdict.outcome == Outcome::Deleted || ending.cause == Cause::Stopped;
  LogFields fields = {{"level", good ? "info" : "warning"},
                      {"at", "work.job"},
                      {"job", job.id},
                      {"tube", job.tube},
                      {"outcome", std::string(outcome_name(verdict.outcome))}};
  if (ending.signal != 0) {
    fields.emplace_back("signal", static_cast<uint64_t>(ending.signal));
  } else if (ending.cause != Cause::NotStarted && ending.cause != Cause::NoProgram) {
    fields.emplace_back("status", static_cast<uint64_t>(ending.status));
  }
  fields.emplace_back("seconds", took);
  if (verdict.outcome == Outcome::Released) fields.emplace_back("delay", uint64_t{verdict.delay_s});
  if (const std::string_view why = reason(ending.cause); !why.empty())
    fields.emplace_back("why", std::string(why));
  if (!ending.error.empty()) fields.emplace_back("error", ending.error);
  return fields;
}

}  // namespace perennial::tool::work
