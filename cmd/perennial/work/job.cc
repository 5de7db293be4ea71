#include "cmd/perennial/work/job.h"

#include <fmt/format.h>

namespace perennial::tool::work {

std::vector<std::string> command_for(const std::vector<std::string>& command, JobId id) {
  constexpr std::string_view placeholder = "{}";
  const std::string number = fmt::format("{}", id);
  std::vector<std::string> made = command;
  for (std::string& word : made) {
    size_t at = word.find(placeholder);
    while (at != std::string::npos) {
      word.replace(at, placeholder.size(), number);
      at = word.find(placeholder, at + number.size());
    }
  }
  return made;
}

std::vector<std::string> environment_of(const Job& job) {
  return {
      fmt::format("PERENNIAL_JOB_ID={}", job.id),
      fmt::format("PERENNIAL_TUBE={}", job.tube),
      fmt::format("PERENNIAL_ATTEMPT={}", job.attempt),
      fmt::format("PERENNIAL_TTR={}", job.ttr_s),
      fmt::format("PERENNIAL_SCHEDULE={}", job.schedule),
      fmt::format("PERENNIAL_PLANNED={}", job.planned),
  };
}

std::string command_text(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) {
    if (!text.empty()) text += ' ';
    const bool plain = !word.empty() && word.find_first_of(" \t\n\"'\\") == std::string::npos;
    text += plain ? word : fmt::format("{:?}", word);
  }
  return text;
}

}  // namespace perennial::tool::work
