#include "cmd/perennial/arguments/consent.h"

#include <cctype>
#include <cstdio>
#include <iostream>

#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include "cmd/perennial/output/readable.h"

namespace perennial::tool {
namespace {

std::string with_capital(std::string_view text) {
  std::string out(text);
  if (!out.empty()) {
    out.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(out.front())));
  }
  return out;
}

bool means_yes(std::string answer) {
  for (char& c : answer) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return answer == "y" || answer == "yes";
}

}  // namespace

std::vector<Flag> with_consent_flags(Consent& target, std::vector<Flag> flags) {
  flags.push_back({"--yes", "", "Do not ask", &target.yes});
  flags.push_back({"--dry-run", "", "Only say what it would do", &target.dry_run});
  flags.push_back({"--json", "", "Report as JSON", &target.json});
  return flags;
}

// The question must be seen and not be read from a file, so both are looked at.
bool has_person() {
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
}

bool is_asked(const Consent& consent) {
  return consent.dry_run || !consent.yes;
}

Result<bool> ask_person(std::string_view act) {
  if (!has_person()) {
    return Status(StatusCode::InvalidArgument,
                  fmt::format("this would {}; there is no terminal to ask on: give --yes", act));
  }
  std::fflush(stdout);
  // What was typed before the question does not answer it.
  ::tcflush(STDIN_FILENO, TCIFLUSH);
  std::fputs(fmt::format("{}? [y/N] ", printable(with_capital(act))).c_str(), stderr);
  std::string answer;
  // A line without its end was not entered.
  return std::getline(std::cin, answer) && !std::cin.eof() && means_yes(answer);
}

Status nothing_changed() {
  return {StatusCode::NotFound, "nothing was changed"};
}

Result<Decision> decide(const Consent& consent, const Intent& intent) {
  if (!is_asked(consent)) return Decision::Do;
  if (consent.dry_run && intent.count > 0) {
    if (!consent.json) fmt::print("would {}\n", printable(intent.act));
    return Decision::DryRun;
  }
  if (intent.count == 0) {
    if (!consent.json) fmt::print("nothing to do: {}\n", printable(intent.why_nothing));
    return consent.dry_run ? Decision::DryRun : Decision::Nothing;
  }
  const Result<bool> agreed = ask_person(intent.act);
  if (!agreed.ok()) return agreed.status();
  if (!*agreed) return nothing_changed();
  return Decision::Do;
}

std::string count_text(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", with_commas(count), noun, count == 1 ? "" : "s");
}

}  // namespace perennial::tool
