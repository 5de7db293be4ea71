#pragma once

#include "cmd/common/socket.h"
#include "engine/types/status.h"

namespace perennial::tool::work {

// How the main thread tells the runners to end: first to reserve no more, then to kill what runs.
// Neither is taken back. Any thread may ask and wait; each descriptor stays readable.
class StopRequest {
 public:
  // Io: the process has no descriptor left.
  static Result<StopRequest> make();

  void finish() { raise(finish_); }
  // Implies finish().
  void kill_commands() {
    finish();
    raise(kill_);
  }

  bool finishing() const;
  // Readable after finish(), and after kill_commands().
  int finish_fd() const { return finish_.fd(); }
  int kill_fd() const { return kill_.fd(); }

 private:
  StopRequest(common::Socket finish, common::Socket kill)
      : finish_(std::move(finish)), kill_(std::move(kill)) {}
  static void raise(const common::Socket& event);

  common::Socket finish_;
  common::Socket kill_;
};

}  // namespace perennial::tool::work
