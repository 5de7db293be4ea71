#pragma once

#include <map>
#include <string>

#include "cmd/common/tool/server_connection.h"
#include "engine/types/basic.h"

namespace perennial::support {

// A job as a server tells of it; the id is its key.
struct JobFacts {
  std::string tube;
  std::string state;
  uint64_t priority = 0;
  uint64_t ttr_s = 0;
  uint64_t time_left_s = 0;
  std::string body;
};

// Every job that the server holds, by asking for each id that it can have given out.
// REQUIRES: the server has not been started again since it was empty.
std::map<JobId, JobFacts> inventory(const std::string& address);

// How often each body is there.
std::map<std::string, int> bodies(const std::string& address);

// One number of stats.
uint64_t stat(const std::string& address, const std::string& key);

// A connection, or a CHECK.
tool::ServerConnection connect(const std::string& address);
// One command; its reply in words, or a CHECK.
std::string ask(tool::ServerConnection& server, const perennial::Command& command,
                std::string_view body = {});

}  // namespace perennial::support
