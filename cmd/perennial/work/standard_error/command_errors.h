#pragma once

#include <string>

#include "cmd/common/socket.h"
#include "cmd/perennial/work/standard_error/relay.h"
#include "cmd/perennial/work/standard_error/tail.h"

namespace perennial::tool::work {

// What one command writes to its standard error: a pipe, whose content is passed on at once and
// unchanged, and whose end is kept. While the relay has not written the last piece nothing is read,
// so that the command waits for a slow reader, as it would without the pipe. Never waits itself.
class CommandErrors {
 public:
  // `pipe` is the end for reading, which does not block. `inlet` outlives this object.
  CommandErrors(common::Socket pipe, Inlet& inlet) : pipe_(std::move(pipe)), inlet_(inlet) {}

  // For poll(): readable when on_event() has something to do. -1: there will be nothing more.
  int fd() const { return inlet_.is_idle() ? pipe_.fd() : inlet_.fd(); }
  void on_event();
  // The command has ended: passes on what the pipe holds, closes it, and returns the end of all
  // that was written. Processes that the command has left running may still have the other end, and
  // get SIGPIPE when they write.
  std::string end();

 private:
  void read(size_t bytes_max);

  common::Socket pipe_;
  Inlet& inlet_;
  Tail tail_;
};

}  // namespace perennial::tool::work
