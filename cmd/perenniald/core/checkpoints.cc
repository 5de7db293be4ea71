// Core's part in checkpoints: who waits for which, and where in history each is cut.

#include <memory>
#include <utility>

#include "cmd/perenniald/core/connection.h"
#include "cmd/perenniald/core/core.h"
#include "engine/types/check.h"

namespace perennial::core {
namespace {

Reply failed(std::string reason) {
  return std::make_unique<CheckpointFailed>(CheckpointFailed{std::move(reason)});
}

}  // namespace

void Core::on_checkpoint_asked(Connection& conn, const Checkpoint& asked, Nanos now) {
  if (!conn.may_checkpoint || asked.trailing_junk) {
    const auto kind =
        conn.may_checkpoint ? Malformed::Kind::BadFormat : Malformed::Kind::UnknownCommand;
    const Command refused = Malformed{kind};
    return apply({.now = now, .conn = conn.id, .room = room(), .event = refused}, {});
  }
  if (!checkpoints_.refused_because.empty()) {
    return reply_to(conn, failed(checkpoints_.refused_because));
  }
  if (!disk_has_room_) {
    return reply_to(conn, failed("the disk is short of room: see store-state in stats"));
  }
  checkpoints_.wanted = true;
  checkpoints_.waiting.push_back(conn.id);
}

// The open batch is sealed, so that what comes next cannot slip in, and the jobs are counted in the
// same moment.
void Core::settle_cut(Nanos now) {
  if (!checkpoints_.wanted || checkpoints_.being_made) return;
  if (!open_.empty()) seal_open(now);
  StateCounts jobs = engine_.state_counts();
  jobs.urgent = 0;
  checkpoints_.cut = Cut{open_index_ - 1, jobs};
  checkpoints_.being_made = true;
  checkpoints_.wanted = false;
  checkpoints_.sharing = std::exchange(checkpoints_.waiting, {});
}

std::optional<Cut> Core::take_cut() {
  if (!checkpoints_.cut) return std::nullopt;
  const bool all_taken = sealed_.empty() || sealed_.front().index() > checkpoints_.cut->index;
  return all_taken ? std::exchange(checkpoints_.cut, std::nullopt) : std::nullopt;
}

void Core::on_checkpoint(const Reply& answer) {
  CHECK(checkpoints_.being_made);
  CHECK(!checkpoints_.cut);
  checkpoints_.being_made = false;
  reply_to(std::exchange(checkpoints_.sharing, {}), answer);
}

void Core::refuse_checkpoints(std::string reason) {
  checkpoints_.refused_because = std::move(reason);
  checkpoints_.wanted = false;
  // One that was settled and not taken is not made any more.
  if (checkpoints_.cut) checkpoints_.being_made = false;
  checkpoints_.cut.reset();
  const Reply answer = failed(checkpoints_.refused_because);
  reply_to(std::exchange(checkpoints_.sharing, {}), answer);
  reply_to(std::exchange(checkpoints_.waiting, {}), answer);
}

void Core::reply_to(std::vector<ConnId>&& conns, const Reply& reply) {
  for (const ConnId id : conns) {
    if (Connection* const conn = find(id)) reply_to(*conn, reply);
  }
}

}  // namespace perennial::core
