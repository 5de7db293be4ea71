#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/perenniald/access/users.h"
#include "engine/types/command.h"
#include "engine/view/engine_view.h"

// What a user may do: one rule for every command, in the table of rules.cc. A new command without
// its rule does not compile. etc/docs/security.md shows the rules as a table.
//
// The table is here and not in engine/types/command.h, because the engine, the client and the tools
// read that one, too, and know no users; and because a rule may name a function that asks the
// engine about a job.
namespace perennial::access {

enum class Verdict : uint8_t {
  Allowed,
  Forbidden,  // FORBIDDEN.
  // NOT_FOUND, as if the job did not exist. The answer and every counter are those of an id that is
  // not there, so nobody learns which ids there are in tubes that are not theirs.
  Hidden,
};

struct Judgement {
  Verdict verdict = Verdict::Allowed;
  // If it is not allowed: a verb that would have allowed it.
  Verb missing = Verb::Produce;
  std::string tube = {};  // Where it is missing, if the command names that tube.
};

// Judges a command of this user on this connection. In a batch of ids it hides those that the user
// may not touch: they are answered as if they did not exist. The engine tells which tube a job is
// in.
//
// A connection watches only tubes that it may reserve from, except `default`, which it watches from
// the beginning.
//
// What a user may not do does not depend on what there is: FORBIDDEN answers by the names that the
// command has, or because no grant of the user has the verb; Hidden is as an id that is not there.
// The API over HTTP judges by this function, too.
Judgement judge(const User& user, ConnId conn, Command& command, engine::EngineView engine);

// Makes a command that is Hidden one on a job or a schedule that does not exist. REQUIRES: it names
// one.
void hide(Command& command);

// Whether lists of tubes have the name of this one for the user, and whether its counters are shown
// to the user: the rule of stats-tube.
bool may_list(const User& user, std::string_view tube);
bool may_count(const User& user, std::string_view tube);
// Whether lists of schedules have those of this tube for the user.
bool may_see_schedules(const User& user, std::string_view tube);

// Whether the command changes what belongs to others, so that the audit names it: nothing but
// `manage` or `admin` allows it.
bool is_of_operator(const Command& command);

// The rule of a command, for its documents.
struct CommandRule {
  std::string_view word;   // As a client writes it.
  VerbSet verbs;           // Any of them, as `where` says. Empty: the command needs none.
  std::string_view where;  // On which tubes, in Markdown; or why it needs none.
};
// One for each command, those with the same rule beside each other.
std::vector<CommandRule> command_rules();

// The word of the command, as a client writes it; "" for a line that was refused.
std::string_view word_of(const Command& command);

// The tube or the job that a command names, for the audit: "mail", "job 7"; or nothing.
std::string subject_of(const Command& command);

}  // namespace perennial::access
