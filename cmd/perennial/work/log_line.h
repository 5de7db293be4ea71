#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cmd/perennial/work/job.h"
#include "cmd/perennial/work/policy.h"

// The lines that a worker writes to standard error, as text. Pure.
namespace perennial::tool::work {

enum class LogFormat : uint8_t { Logfmt, Json };

// Seconds are written with milliseconds.
using LogValue = std::variant<std::string, uint64_t, std::chrono::milliseconds>;
using LogFields = std::vector<std::pair<std::string, LogValue>>;

// One line without its line feed. A text with spaces, quotes or control characters is quoted; in
// JSON bytes that are no UTF-8 are replaced.
std::string log_line(LogFormat format, const LogFields& fields);

// The line of a job that has ended: at=work.job, job, tube, outcome, then `status` or `signal` if
// the command has run, seconds, `delay` of a release, `why` if the worker has ended it, `error`.
LogFields job_fields(const Job& job, const Verdict& verdict, const Ending& ending,
                     std::chrono::milliseconds took);

}  // namespace perennial::tool::work
