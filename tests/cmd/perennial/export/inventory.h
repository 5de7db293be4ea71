#pragma once

#include <map>
#include <string>

#include "cmd/common/tool/server_connection.h"
#include "engine/types/basic.h"

namespace perennial::support {

// A job as a server reports it. Its id is the key.
struct JobFacts {
  std::string tube;
  std::string state;
  uint64_t priority = 0;
  uint64_t ttr_s = 0;
  uint64_t time_left_s = 0;
  std::string body;
};

// Every job of the server, found by requesting each id that it may have given out. REQUIRES: the
// server has not been restarted since it was empty.
std::map<JobId, JobFacts> inventory(const std::string& address);

// The number of jobs with each body.
std::map<std::string, int> bodies(const std::string& address);

// One number of stats.
uint64_t stat(const std::string& address, const std::string& key);

// Connects, or fails with a CHECK.
tool::ServerConnection connect(const std::string& address);
// Sends one command and returns the reply as text, or fails with a CHECK.
std::string ask(tool::ServerConnection& server, const perennial::Command& command,
                std::string_view body = {});

}  // namespace perennial::support
