#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cmd/common/tool/server_connection.h"
#include "cmd/perennial/arguments/body.h"
#include "engine/types/command.h"
#include "engine/types/extension.h"

namespace perennial::tool {

// The flags and arguments of `perennial put`.
struct PutOptions {
  ServerAddress server = {};
  GivenBody body = {};
  std::string tube = "default";
  uint32_t priority = 1024;
  std::string delay = "0";
  std::string ttr = "60";
  bool lines = false;
  bool json = false;
  // Options of the protocol, as they were given.
  std::optional<std::string> idp = {};
  std::optional<std::string> until = {};
  std::optional<std::string> tries = {};
  std::optional<std::string> backoff = {};
  std::optional<std::string> dead = {};
  std::optional<std::string> expire = {};
  std::optional<std::string> concurrency = {};
};

// What `perennial put` sends, apart from the bodies.
struct PutRequest {
  Put put;              // body_bytes is not set.
  ExtensionSet needed;  // What the server must allow for it. Empty: it is a put of beanstalkd's.
};

// Reads the flags that go into the line of a put. InvalidArgument: the server would refuse them.
Result<PutRequest> read_put(const PutOptions& options);

}  // namespace perennial::tool
