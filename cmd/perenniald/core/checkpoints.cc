// Core's part in checkpoints: where in history each is cut, and what those hear who asked.

#include <memory>
#include <utility>

#include "cmd/perenniald/core/beanstalk_session.h"
#include "cmd/perenniald/core/core.h"

namespace perennial::core {
namespace {

Reply failed(std::string reason) {
  return std::make_unique<CheckpointFailed>(CheckpointFailed{std::move(reason)});
}

}  // namespace

void Core::on_checkpoint_asked(BeanstalkSession& conn, const Checkpoint& asked, Nanos now) {
  if (!conn.may_checkpoint || asked.trailing_junk) {
    const auto kind =
        conn.may_checkpoint ? Malformed::Kind::BadFormat : Malformed::Kind::UnknownCommand;
    const Command refused = Malformed{kind};
    return apply({.now = now, .conn = conn.id, .room = room_.any(), .event = refused}, {});
  }
  if (!checkpoints_.is_refusing() && !room_.disk_has_room()) {
    return reply_to(conn, failed("the disk is short of room: see store-state in stats"));
  }
  if (std::optional<std::string> refused = checkpoints_.ask(conn.id, asked.temporary)) {
    reply_to(conn, failed(std::move(*refused)));
  }
}

// The open batch is sealed, so that what comes next cannot slip in, and the jobs are counted in the
// same moment.
void Core::settle_cut(Nanos now) {
  if (!checkpoints_.may_settle()) return;
  batches_.seal(now);
  StateCounts jobs = engine_.state_counts();
  jobs.urgent = 0;
  checkpoints_.settle(batches_.open_index() - 1, jobs);
}

std::optional<Cut> Core::take_cut() {
  const std::optional<Cut>& cut = checkpoints_.settled();
  if (!cut || !batches_.has_taken(cut->index)) return std::nullopt;
  return checkpoints_.take();
}

void Core::on_checkpoint(const Reply& answer) {
  reply_to(checkpoints_.end_kept(), answer);
}

void Core::on_temporary_checkpoint(const Reply& answer) {
  const auto* const made = std::get_if<std::unique_ptr<CheckpointMade>>(&answer);
  const std::optional<ConnId> asked =
      checkpoints_.end_temporary(made != nullptr ? (*made)->path : std::string());
  if (asked) reply_to(std::vector{*asked}, answer);
}

void Core::refuse_checkpoints(const std::string& reason) {
  reply_to(checkpoints_.refuse(reason), failed(reason));
}

void Core::reply_to(std::vector<ConnId>&& conns, const Reply& reply) {
  for (const ConnId id : conns) {
    if (BeanstalkSession* const conn = find(id)) reply_to(*conn, reply);
  }
}

}  // namespace perennial::core
