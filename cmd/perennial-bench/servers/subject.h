#pragma once

#include <memory>
#include <string>

#include "cmd/common/address.h"
#include "cmd/common/tool/stats_reply.h"
#include "cmd/common/tool/stop_signals.h"
#include "cmd/perennial-bench/command/options.h"
#include "cmd/perennial-bench/servers/fresh_server.h"
#include "engine/types/status.h"

namespace perennial::bench {

// The server that is being measured, for one round of one task.
struct Subject {
  const BenchOptions& options;
  tool::StopSignals& signals;
  common::Address address;
  std::string name;  // As reports call it.
  // None: it was running already, and others may use it.
  std::unique_ptr<FreshServer> started = nullptr;
};

// What it answers to `stats`.
Result<tool::StatsReply> ask_stats(const Subject& subject);

}  // namespace perennial::bench
