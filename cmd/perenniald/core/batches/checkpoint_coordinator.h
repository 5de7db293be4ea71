#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cmd/perenniald/core/batches/batch_queue.h"
#include "cmd/perenniald/core/batches/checkpoint_requests.h"
#include "engine/types/basic.h"
#include "engine/types/reply.h"
#include "engine/view/engine_view.h"

namespace perennial::core {

// Puts each wanted checkpoint at its checkpoint point, between two batches, and answers the
// connections that asked for it. Core reports connections that ask and that close. The maker of
// checkpoints asks what to make, and reports the result.
class CheckpointCoordinator {
 public:
  // Answers a connection. A connection that is closed is ignored.
  using Answer = std::function<void(ConnId conn, const Reply& reply)>;

  // `engine` and `batches` outlive this. `temporary_max`: the most temporary checkpoints that may
  // exist or be waited for.
  CheckpointCoordinator(engine::EngineView engine, BatchQueue& batches, size_t temporary_max,
                        Answer answer);

  // ---- Requests.
  // The schedule wants one, so there is no connection to answer.
  void want() { requests_.want(); }
  // A client wants one. It is answered now or later. `disk_accepts_puts`: if false, it is refused.
  void ask(ConnId conn, bool temporary, bool disk_accepts_puts);
  // The connection is closed.
  void on_close(ConnId conn) { requests_.on_close(conn); }

  // ---- The checkpoint point.
  // If a checkpoint is wanted and none is being made, fixes its checkpoint point: it holds
  // everything that has happened so far. From then on it counts as being made. REQUIRES: the log
  // has created what the last take_point() returned.
  void freeze_point(Nanos now);
  // Returns the checkpoint point that lies between the last batch taken and the next one. Each is
  // returned once.
  std::optional<CheckpointPoint> take_point();

  // ---- Results.
  // Answers the connections that asked with CheckpointMade or CheckpointFailed. REQUIRES: a
  // checkpoint point of that kind was taken, and its result was not reported yet.
  void on_made(const Reply& answer);
  void on_temporary_made(const Reply& answer);

  // ---- The end.
  // Answers all connections that wait with this failure, and from now on each that asks. A
  // checkpoint whose point was taken still ends with on_made().
  void refuse(const std::string& reason);
  // Gives up all temporary checkpoints, because every connection ends.
  void give_up_temporaries() { requests_.give_up_all(); }
  // Returns the paths of temporary checkpoints that no connection owns any more and that must be
  // removed.
  std::vector<std::string> take_given_up() { return requests_.take_given_up(); }

 private:
  void answer_all(const std::vector<ConnId>& conns, const Reply& reply);

  const engine::EngineView engine_;
  BatchQueue& batches_;
  CheckpointRequests requests_;
  const Answer answer_;
};

}  // namespace perennial::core
