#pragma once

#include <cstddef>
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

// A listing in parts: append_names_head, append_names for each part, names_tail. Together they are
// what append_reply makes of all names.
void append_names_head(std::string& out, const NamesSize& size);
void append_names(std::string& out, const TubeNames& names);
inline constexpr std::string_view names_tail = "\r\n";
// How long that reply is, nearly: without its first line and its end.
size_t names_bytes(const NamesSize& size);

// Appends the reply to stats: all 51 keys of beanstalkd in its order, then ours.
void append_stats(std::string& out, const EngineStats& engine, const ProcessFacts& process,
                  const StoreFacts& store);

}  // namespace perennial::wire
