#pragma once

#include <string>
#include <string_view>

#include "engine/types/reply.h"
#include "engine/types/stats.h"

namespace perennial::wire {

// Appends the reply's bytes, as beanstalkd 1.13 sends them.
// REQUIRES: `reply` holds no JobReply (see append_job) and no EngineStats (see append_stats).
void append_reply(std::string& out, const Reply& reply);

// Appends "RESERVED <id> <bytes>\r\n<body>\r\n" or the same with FOUND.
void append_job(std::string& out, const JobReply& reply, std::string_view body);

// Appends the reply to stats: all 51 keys of beanstalkd in its order, then ours.
void append_stats(std::string& out, const EngineStats& engine, const ProcessFacts& process,
                  const StoreFacts& store);

}  // namespace perennial::wire
