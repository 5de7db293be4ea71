#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/common/tool/subcommand.h"
#include "engine/types/status.h"

// How a subcommand that destroys something is allowed to: it asks a person on a terminal, and a
// script says --yes.
namespace perennial::tool {

// The flags of such a subcommand.
struct Consent {
  bool yes = false;      // --yes: it is not to ask.
  bool dry_run = false;  // --dry-run: it is to count, and to change nothing.
  bool json = false;  // --json: standard output is an object of JSON, also where nothing is done.
};

// The flags that set it.
std::vector<Flag> with_consent_flags(Consent& target, std::vector<Flag> flags);

// What a subcommand is about to do.
struct Intent {
  // "delete 3 jobs of the tube 'mail' at 127.0.0.1:11300": what stands behind "would".
  std::string act;
  uint64_t count = 0;  // How many things that changes.
  // Why there is nothing to do if the count is 0: "the tube 'mail' has no such jobs".
  std::string why_nothing;
};

enum class Decision : uint8_t {
  Do,
  DryRun,   // It is only to say what it would do, and that was said, unless `json` is set.
  Nothing,  // The count is 0, and that was said, unless `json` is set.
};

// Whether to do it: asks where standard input and standard error are a terminal. InvalidArgument:
// there is no terminal, and no --yes. NotFound: the person has not agreed.
// A caller that would have to count only for the question asks is_asked() first.
Result<Decision> decide(const Consent& consent, const Intent& intent);
// Whether decide() needs an Intent: the flags do not say --yes alone.
bool is_asked(const Consent& consent);

// Whether standard input and standard error are a terminal.
bool has_person();
// Asks on the terminal, and returns whether the answer is yes. InvalidArgument: there is no
// terminal; `act` is as in Intent.
Result<bool> ask_person(std::string_view act);

// "nothing was changed", for a person who has not agreed.
Status nothing_changed();

// "1 job", "38,021 jobs".
std::string count_text(uint64_t count, std::string_view noun);

}  // namespace perennial::tool
