#pragma once

#include <string>
#include <vector>

#include "cmd/common/tool/stats_reply.h"
#include "engine/types/command.h"
#include "engine/types/extension.h"
#include "engine/types/status.h"

namespace perennial::tool {

// What a job, or a tube, has that beanstalkd's protocol does not know.
template <typename Options>
struct Extras {
  Options options = {};
  ExtensionSet needed = {};  // What a server must allow to be given them. Empty: there are none.
  std::string names = {};    // "tries, expire", for people.
};

// Servers truncate times to whole seconds. One second is added, so that nothing is early.
uint32_t rounded_up(uint64_t seconds);

bool allows_all(ExtensionSet allowed, ExtensionSet needed);

// The options of a put that makes a copy of the job, from its stats-job. Those of its tube that are
// in force count as its own. How long its key is held (`until:`) cannot be seen and is as a put has
// it without. `delay_s`: that of the copy, after which its expiry begins. Io: a value is not one of
// a Perennial.
Result<Extras<perennial::PutOptions>> extras_of_job(const StatsReply& job, uint32_t delay_s);

// The settings of a tube, from its stats-tube, but for `drain`: who leaves a server has it drained.
// Those that the other server may know without the rest are commands of their own; none: no setting
// is set.
Result<std::vector<Extras<SetTube>>> extras_of_tube(const StatsReply& tube,
                                                    const std::string& name);

}  // namespace perennial::tool
