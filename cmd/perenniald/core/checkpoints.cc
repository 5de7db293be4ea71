// Core's part in checkpoints: who waits for which, and where in history each is cut.

#include <algorithm>
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
  if (asked.temporary) return on_temporary_asked(conn);
  checkpoints_.wanted = true;
  checkpoints_.waiting.push_back(conn.id);
}

void Core::on_temporary_asked(Connection& conn) {
  give_up_temporary(conn.id);
  const size_t count = checkpoints_.temporary_waiting.size() + checkpoints_.temporary_held.size() +
                       (checkpoints_.temporary_being_cut ? 1 : 0);
  if (count >= options_.temporary_checkpoints_max) {
    return reply_to(conn, failed("there are as many temporary checkpoints as there may be: try "
                                 "again when one of those who asked for them has gone"));
  }
  checkpoints_.temporary_waiting.push_back(conn.id);
}

// Of a connection that closes or asks for another one.
void Core::give_up_temporary(ConnId conn) {
  std::erase(checkpoints_.temporary_waiting, conn);
  if (checkpoints_.temporary_for == conn) checkpoints_.temporary_for.reset();
  const auto held = checkpoints_.temporary_held.find(conn);
  if (held == checkpoints_.temporary_held.end()) return;
  checkpoints_.given_up.push_back(std::move(held->second));
  checkpoints_.temporary_held.erase(held);
}

void Core::give_up_temporaries() {
  for (auto& [conn, path] : checkpoints_.temporary_held) {
    checkpoints_.given_up.push_back(std::move(path));
  }
  checkpoints_.temporary_held.clear();
  std::ranges::sort(checkpoints_.given_up);  // The order of a hash map is nobody's to see.
}

// The open batch is sealed, so that what comes next cannot slip in, and the jobs are counted in the
// same moment. While one that is kept is verified, the temporary ones have their turn.
void Core::settle_cut(Nanos now) {
  if (checkpoints_.cut || checkpoints_.temporary_being_cut) return;
  const bool is_kept = checkpoints_.wanted && !checkpoints_.being_made;
  if (!is_kept && checkpoints_.temporary_waiting.empty()) return;
  if (!open_.empty()) seal_open(now);
  StateCounts jobs = engine_.state_counts();
  jobs.urgent = 0;
  checkpoints_.cut = Cut{.index = open_index_ - 1, .jobs = jobs, .temporary = !is_kept};
  if (is_kept) {
    checkpoints_.being_made = true;
    checkpoints_.wanted = false;
    checkpoints_.sharing = std::exchange(checkpoints_.waiting, {});
  } else {
    checkpoints_.temporary_being_cut = true;
    checkpoints_.temporary_for = checkpoints_.temporary_waiting.front();
    checkpoints_.temporary_waiting.pop_front();
  }
}

std::optional<Cut> Core::take_cut() {
  if (!checkpoints_.cut) return std::nullopt;
  const bool all_taken = sealed_.empty() || sealed_.front().index() > checkpoints_.cut->index;
  return all_taken ? std::exchange(checkpoints_.cut, std::nullopt) : std::nullopt;
}

void Core::on_checkpoint(const Reply& answer) {
  CHECK(checkpoints_.being_made);
  CHECK(!checkpoints_.cut || checkpoints_.cut->temporary);
  checkpoints_.being_made = false;
  reply_to(std::exchange(checkpoints_.sharing, {}), answer);
}

void Core::on_temporary_checkpoint(const Reply& answer) {
  CHECK(checkpoints_.temporary_being_cut);
  CHECK(!checkpoints_.cut);
  checkpoints_.temporary_being_cut = false;
  const std::optional<ConnId> asked = std::exchange(checkpoints_.temporary_for, std::nullopt);
  Connection* const conn = asked ? find(*asked) : nullptr;
  if (const auto* const made = std::get_if<std::unique_ptr<CheckpointMade>>(&answer)) {
    if (conn != nullptr) {
      checkpoints_.temporary_held.emplace(*asked, (*made)->path);
    } else {
      checkpoints_.given_up.push_back((*made)->path);
    }
  }
  if (conn != nullptr) reply_to(*conn, answer);
}

void Core::refuse_checkpoints(std::string reason) {
  checkpoints_.refused_because = std::move(reason);
  checkpoints_.wanted = false;
  // One that was settled and not taken is not made any more.
  if (const std::optional<Cut> cut = std::exchange(checkpoints_.cut, std::nullopt)) {
    (cut->temporary ? checkpoints_.temporary_being_cut : checkpoints_.being_made) = false;
  }
  const Reply answer = failed(checkpoints_.refused_because);
  std::vector<ConnId> temporary(checkpoints_.temporary_waiting.begin(),
                                checkpoints_.temporary_waiting.end());
  if (checkpoints_.temporary_for) temporary.push_back(*checkpoints_.temporary_for);
  checkpoints_.temporary_waiting.clear();
  checkpoints_.temporary_for.reset();
  reply_to(std::move(temporary), answer);
  reply_to(std::exchange(checkpoints_.sharing, {}), answer);
  reply_to(std::exchange(checkpoints_.waiting, {}), answer);
}

void Core::reply_to(std::vector<ConnId>&& conns, const Reply& reply) {
  for (const ConnId id : conns) {
    if (Connection* const conn = find(id)) reply_to(*conn, reply);
  }
}

}  // namespace perennial::core
