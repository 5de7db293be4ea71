#include "cmd/perennial/work/policy.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "cmd/common/duration.h"
#include "cmd/common/units.h"

namespace perennial::tool::work {
namespace {

constexpr int exit_status_max = 255;

Result<uint32_t> parse_seconds(std::string_view text) {
  const Result<std::chrono::milliseconds> time = common::parse_duration(text);
  if (!time.ok()) return time.status();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*time);
  if (seconds == *time) return static_cast<uint32_t>(seconds.count());
  return Status(StatusCode::InvalidArgument, fmt::format("'{}' is not in whole seconds", text));
}

bool is_success(const Ending& ending) {
  return ending.cause == Cause::Exited && ending.signal == 0 && ending.status == 0;
}

bool asks_for_bury(const Policy& policy, const Ending& ending) {
  return ending.cause == Cause::Exited && ending.signal == 0 &&
         std::find(policy.bury_on.begin(), policy.bury_on.end(), ending.status) !=
             policy.bury_on.end();
}

}  // namespace

Result<Backoff> parse_backoff(std::string_view text) {
  const size_t colon = text.find(':');
  Result<uint32_t> first = parse_seconds(text.substr(0, colon));
  if (!first.ok()) return first.take_status().with("--backoff");
  Result<uint32_t> cap = std::max(*first, Backoff{}.cap_s);
  if (colon != std::string_view::npos) cap = parse_seconds(text.substr(colon + 1));
  if (!cap.ok()) return cap.take_status().with("--backoff");
  if (*cap < *first)
    return Status(StatusCode::InvalidArgument, "--backoff: CAP is lower than FIRST");
  return Backoff{.first_s = *first, .cap_s = *cap};
}

uint32_t delay_after(const Backoff& backoff, uint64_t failures) {
  CHECK(failures > 0);
  uint64_t delay_s = backoff.first_s;
  for (; failures > 1 && delay_s > 0 && delay_s < backoff.cap_s; --failures) delay_s *= 2;
  return static_cast<uint32_t>(std::min<uint64_t>(delay_s, backoff.cap_s));
}

Result<std::vector<int>> parse_statuses(std::string_view text) {
  std::vector<int> statuses;
  if (text.empty()) return statuses;
  for (;;) {
    const size_t comma = text.find(',');
    const Result<uint64_t> status = common::parse_count(text.substr(0, comma));
    if (!status.ok() || *status == 0 || *status > exit_status_max) {
      return Status(StatusCode::InvalidArgument,
                    fmt::format("--bury-on: '{}' is not an exit status from 1 to {}",
                                text.substr(0, comma), exit_status_max));
    }
    statuses.push_back(static_cast<int>(*status));
    if (comma == std::string_view::npos) return statuses;
    text.remove_prefix(comma + 1);
  }
}

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::Deleted:
      return "deleted";
    case Outcome::Released:
      return "released";
    case Outcome::Buried:
      return "buried";
    case Outcome::Lost:
      return "lost";
  }
  CHECK(false);
}

bool is_without_blame(Cause cause) {
  return cause == Cause::Stopped || cause == Cause::NoProgram;
}

// A command that exits with 0 after it was told to end has not said that its work is done: many
// programs end so on SIGTERM. Its job runs again, as after any other kill.
Verdict judge(const Policy& policy, const Ending& ending, uint64_t failures_before) {
  if (ending.cause == Cause::Lost) return {.outcome = Outcome::Lost};
  if (is_without_blame(ending.cause)) return {.outcome = Outcome::Released};
  if (is_success(ending)) return {.outcome = Outcome::Deleted};
  const uint64_t failures = failures_before + 1;
  const bool exhausted = policy.tries_max > 0 && failures >= policy.tries_max;
  if (exhausted || asks_for_bury(policy, ending)) return {.outcome = Outcome::Buried};
  return {.outcome = Outcome::Released, .delay_s = delay_after(policy.backoff, failures)};
}

}  // namespace perennial::tool::work
