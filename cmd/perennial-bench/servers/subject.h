#pragma once

#include <memory>
#include <string>

#include "cmd/common/tool/stats_reply.h"
#include "cmd/common/tool/stop_signals.h"
#include "cmd/perennial-bench/command/options.h"
#include "cmd/perennial-bench/servers/fresh_server.h"
#include "cmd/perennial-bench/servers/target.h"
#include "engine/types/extension.h"
#include "engine/types/status.h"

namespace perennial::bench {

// The server that is measured in one round of one task.
struct Subject {
  const BenchOptions& options;
  tool::StopSignals& signals;
  Target target = {};
  std::string name;  // The name in reports.
  // None: the server was already running, and others may use it.
  std::unique_ptr<FreshServer> started = nullptr;
};

// The server's reply to `stats`.
Result<tool::StatsReply> ask_stats(const Subject& subject);
// The extensions that the server allows: none if it is a beanstalkd.
Result<ExtensionSet> ask_extensions(const Subject& subject);

}  // namespace perennial::bench
