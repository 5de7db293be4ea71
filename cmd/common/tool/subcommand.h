#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/types/status.h"

// How a subcommand describes itself. The command line, --help, the man pages and the completions of
// the shells are all generated from this description, so that they cannot disagree.
namespace perennial::tool {

// An option, or an argument that is identified by its position.
struct Flag {
  // "--data-dir" for an option, "-n,--lines" for one with a short form, "TUBE" for an argument.
  std::string name;
  // The name of its value in the help. The shell completes DIR and FILE. DURATION is a time such as
  // "1h30m". Empty for a switch without a value.
  std::string value;
  std::string help;  // One sentence, without its full stop.
  // Where the value is stored. The value before parsing is the default. The target must outlive the
  // Subcommand. A time that is stored as seconds is refused unless it is whole seconds.
  std::variant<bool*, std::string*, uint32_t*, uint64_t*, std::optional<std::string>*,
               std::optional<uint64_t>*, std::vector<std::string>*, std::chrono::milliseconds*,
               std::optional<std::chrono::milliseconds>*, std::chrono::seconds*,
               std::optional<std::chrono::seconds>*>
      target;
  bool required = false;
  std::vector<std::string> choices = {};  // If not empty, only these values are accepted.
  // The bounds of a number, both inclusive. Those of a time are in the unit in which it is stored.
  uint64_t lowest = 0;
  uint64_t highest = ~uint64_t{0};
  // The environment variable that has the value of a text where the command line does not say it.
  std::string environment = {};

  bool is_argument() const { return !name.starts_with('-'); }
};

// What one exit status of a subcommand means.
struct ExitStatus {
  int code;
  std::string when;  // "when the job is a duplicate": the rest of a sentence.
};

struct Subcommand {
  std::string name;      // "dump", or "checkpoint create".
  std::string summary;   // One line, without a full stop.
  std::string about;     // Paragraphs, separated by empty lines.
  std::string examples;  // Lines that can be copied; a line with '#' explains one.
  std::vector<Flag> flags;
  // Runs the subcommand. InvalidArgument means bad usage: exit code 2. Any other failure gives 1.
  std::function<Status()> run = {};
  // Set instead of `run` by a subcommand that has `exit_statuses`: returns the exit status of a run
  // that did not fail.
  std::function<Result<int>()> run_to_exit_status = {};
  std::vector<ExitStatus> exit_statuses = {};  // Those besides 0, 1 and 2.
  // Set instead of `run`: a program in the same directory, which gets all arguments after the name.
  std::string program = {};
  // What the flags point to, where `run` does not own it.
  std::shared_ptr<void> holds = {};
};

// The help of a first word that several commands share: "checkpoint" of "checkpoint create".
struct Group {
  std::string name;
  std::string summary;
};

}  // namespace perennial::tool
