#pragma once

#include "cmd/perennial/jobs/put.h"
#include "engine/types/command.h"
#include "engine/types/extension.h"

namespace perennial::tool {

// What `perennial put` sends, apart from the bodies.
struct PutRequest {
  Put put;              // body_bytes is not set.
  ExtensionSet needed;  // What the server must allow for it. Empty: it is a put of beanstalkd's.
};

// Reads the flags that go into the line of a put. InvalidArgument: the server would refuse them.
Result<PutRequest> read_put(const PutOptions& options);

}  // namespace perennial::tool
