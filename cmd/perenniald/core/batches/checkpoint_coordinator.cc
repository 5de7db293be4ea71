#include "cmd/perenniald/core/batches/checkpoint_coordinator.h"

#include <memory>
#include <utility>

namespace perennial::core {
namespace {

Reply failed(std::string reason) {
  return std::make_unique<CheckpointFailed>(CheckpointFailed{std::move(reason)});
}

}  // namespace

CheckpointCoordinator::CheckpointCoordinator(engine::EngineView engine, BatchQueue& batches,
                                             size_t temporary_max, Answer answer)
    : engine_(engine), batches_(batches), requests_(temporary_max), answer_(std::move(answer)) {}

void CheckpointCoordinator::ask(ConnId conn, bool temporary, bool disk_accepts_puts) {
  if (!requests_.is_refusing() && !disk_accepts_puts) {
    return answer_(conn, failed("the disk is short of room: see store-state in stats"));
  }
  if (std::optional<std::string> refused = requests_.ask(conn, temporary)) {
    answer_(conn, failed(std::move(*refused)));
  }
}

// The open batch is sealed, so that no later transition joins it, and the jobs are counted at the
// same moment.
void CheckpointCoordinator::freeze_point(Nanos now) {
  if (!requests_.may_freeze()) return;
  batches_.seal(now);
  StateCounts jobs = engine_.state_counts();
  jobs.urgent = 0;
  requests_.freeze(batches_.open_index() - 1, jobs);
}

std::optional<CheckpointPoint> CheckpointCoordinator::take_point() {
  const std::optional<CheckpointPoint>& point = requests_.frozen();
  if (!point || !batches_.has_taken(point->index)) return std::nullopt;
  return requests_.take();
}

void CheckpointCoordinator::on_made(const Reply& answer) {
  answer_all(requests_.end_kept(), answer);
}

void CheckpointCoordinator::on_temporary_made(const Reply& answer) {
  const auto* const made = std::get_if<std::unique_ptr<CheckpointMade>>(&answer);
  const std::optional<ConnId> asked =
      requests_.end_temporary(made != nullptr ? (*made)->path : std::string());
  if (asked) answer_(*asked, answer);
}

void CheckpointCoordinator::refuse(const std::string& reason) {
  answer_all(requests_.refuse(reason), failed(reason));
}

void CheckpointCoordinator::answer_all(const std::vector<ConnId>& conns, const Reply& reply) {
  for (const ConnId conn : conns) answer_(conn, reply);
}

}  // namespace perennial::core
