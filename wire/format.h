#pragma once

#include <string>
#include <string_view>

#include "engine/types/reply.h"
#include "engine/types/stats.h"

namespace perennial::wire {

// Appends the reply's bytes, as beanstalkd 1.13 sends them.
// REQUIRES: `reply` holds no JobReply (see append_job_head) and no EngineStats (see append_stats).
void append_reply(std::string& out, const Reply& reply);

// Appends what comes before the body: "RESERVED <id> <bytes>\r\n", or the same with FOUND. The body
// is the caller's, so that a great one need not be copied.
void append_job_head(std::string& out, const JobReply& reply);
// What comes behind it.
inline constexpr std::string_view job_tail = "\r\n";

// Appends the reply to stats: all 51 keys of beanstalkd in its order, then ours.
void append_stats(std::string& out, const EngineStats& engine, const ProcessFacts& process,
                  const StoreFacts& store);

}  // namespace perennial::wire
