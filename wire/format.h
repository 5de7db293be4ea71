#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/types/reply.h"
#include "engine/types/stats.h"
#include "wire/stats.h"

namespace perennial::wire {

// Appends the reply's bytes, as beanstalkd 1.13 sends them. REQUIRES: `reply` holds no JobReply
// (see append_job_head), no JobsReserved with a job (see append_batch_head), and no EngineStats
// (see append_stats).
void append_reply(std::string& out, const Reply& reply, StatsStyle style = {});

// Appends what comes before the body: "RESERVED <id> <bytes>\r\n", or the same with FOUND, and the
// facts that were asked for in front of the CRLF. The
// caller appends the body, so that a large one need not be copied.
void append_job_head(std::string& out, const JobReply& reply);
// Appends what comes before the jobs of a batch: "RESERVED_BATCH <count>\r\n". Each job follows
// with a head, a body and a tail of its own.
void append_batch_head(std::string& out, const JobsReserved& reply);
// What comes after the body.
inline constexpr std::string_view job_tail = "\r\n";

// A listing in parts: append_names_head, append_names for each part, names_tail. Together they give
// the same bytes as append_reply with all names.
void append_names_head(std::string& out, const NamesSize& size);
void append_names(std::string& out, const TubeNames& names);
inline constexpr std::string_view names_tail = "\r\n";
// The size of that reply in bytes, without its first line and its last CRLF.
size_t names_bytes(const NamesSize& size);

// Appends the reply to stats: all 51 keys of beanstalkd in its order, then those of this server if
// `style` has them.
void append_stats(std::string& out, const EngineStats& engine, const ProcessFacts& process,
                  const StoreFacts& store, StatsStyle style = {});

}  // namespace perennial::wire
