#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/types/status.h"

// How a subcommand describes itself. The command line, --help, the man pages and the completions of
// the shells are all made from this, so that they cannot disagree.
namespace perennial::tool {

// An option, or an argument that is known by its place.
struct Flag {
  // "--data-dir" for an option, "-n,--lines" for one with a short form, "TUBE" for an argument.
  std::string name;
  // What its value is called. DIR and FILE are completed by the shell. Empty: a switch without one.
  std::string value;
  std::string help;  // One sentence, without its full stop.
  // Where the value goes; what is there before is the default. Outlives the Subcommand.
  std::variant<bool*, std::string*, uint32_t*, uint64_t*, double*, std::optional<uint64_t>*,
               std::vector<std::string>*>
      target;
  bool required = false;
  std::vector<std::string> choices = {};  // If there are any, nothing else is taken.
  // Of a number; both bounds belong to the range.
  uint64_t lowest = 0;
  uint64_t highest = ~uint64_t{0};
};

struct Subcommand {
  std::string name;      // "dump", or "checkpoint create".
  std::string summary;   // One line, without a full stop.
  std::string about;     // Paragraphs, separated by empty lines.
  std::string examples;  // Lines, ready to be copied; one that begins with '#' says why.
  std::vector<Flag> flags;
  // What it does. InvalidArgument is a mistake in how it was called: exit code 2. Any other failure
  // is 1.
  std::function<Status()> run;
  // Instead of run: the program beside this one that is given all that follows the name.
  std::string program = {};
};

// What a first word that several commands share is for: "checkpoint" of "checkpoint create".
struct Group {
  std::string name;
  std::string summary;
};

}  // namespace perennial::tool
