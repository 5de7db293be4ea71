// The part of Core that serves jobs that have ended: what the desk asks of the queue.

#include <span>
#include <utility>
#include <variant>

#include "cmd/perenniald/core/beanstalk_session.h"
#include "cmd/perenniald/core/core.h"
#include "engine/types/check.h"

namespace perennial::core {
namespace {

bool sets_keep(const Command& command) {
  const auto* const set = std::get_if<SetTube>(&command);
  return set != nullptr &&
         ((set->keep.given && set->keep.value) || (set->keep_max.given && set->keep_max.value));
}

}  // namespace

bool Core::serve_ended(BeanstalkSession& conn, const Command& command, Nanos now) {
  if (const auto* const peek = std::get_if<PeekEnded>(&command)) {
    ended_.peek(conn.id, *peek);
  } else if (const auto* const list = std::get_if<ListJobs>(&command);
             list != nullptr && list->states.are_ended) {
    apply({.now = now, .conn = conn.id, .event = engine::EndedAsked{*list}});
    ended_.list(conn.id, *list);
  } else if (const auto* const notes = std::get_if<ListNotes>(&command);
             notes != nullptr && is_of_ended(*notes)) {
    apply({.now = now, .conn = conn.id, .event = engine::EndedAsked{*notes}});
    ended_.list_notes(conn.id, *notes);
  } else if (const auto* const restore = std::get_if<RestoreJob>(&command)) {
    ended_.restore(conn.id, *restore);
  } else if (const auto* const tube = std::get_if<RestoreTube>(&command)) {
    ended_.restore(conn.id, *tube, now);
  } else if (sets_keep(command) && !ended_allowed_) {
    reply_to(conn, Word::Denied);
  } else {
    return false;
  }
  return true;
}

std::optional<uint64_t> Core::operation_progress(ConnId conn) const {
  const std::optional<uint64_t> restored = ended_.progress(conn);
  return restored ? restored : engine_.view().operation_progress(conn);
}

void Core::on_disk_left(const store::DiskLeft& left) {
  admission_.on_disk_left(left);
  ended_.on_disk(ended_disk());
}

// No other job has the id then. Where no tube keeps any, the engine says NOT_FOUND at once.
bool Core::is_of_ended(const ListNotes& notes) const {
  const engine::EngineView engine = engine_.view();
  return engine.tube_of_job(notes.id) == nullptr && engine.next_with_ended({}) != nullptr;
}

// Short: below twice the low-water mark, of which the slack is a quarter. A disk that takes no puts
// because few files can be made has space: to remove jobs would make no files free.
EndedDesk::Disk Core::ended_disk() const {
  const store::DiskLeft& left = admission_.disk_left();
  if (left.bytes >= 4 * left.slack_bytes) return EndedDesk::Disk::Ample;
  return admission_.disk_accepts_puts() ? EndedDesk::Disk::Short : EndedDesk::Disk::Full;
}

Reply Core::restore(engine::Restore&& job, Body&& body, Nanos now) {
  const bool accepts_puts = admission_.accepts(std::span<const Body>(&body, 1));
  apply({.now = now, .accepts_puts = accepts_puts, .event = std::move(job)}, std::span(&body, 1));
  CHECK(output_.restored.has_value());
  return std::move(*output_.restored);
}

void Core::end(engine::EndedOver&& over, Nanos now) {
  apply({.now = now, .accepts_puts = admission_.accepts_any(), .event = std::move(over)});
}

// What is allowed is in the audit already where it is a command of operators on a tube; that of a
// job is known only here.
bool Core::allows(ConnId id, access::Verb verb, std::string_view tube, const Command& command,
                  Nanos now) {
  const BeanstalkSession* const conn = find(id);
  if (conn == nullptr || !conn->access) return conn != nullptr;
  const access::User* const user = conn->access->user;
  const bool is_allowed = user != nullptr && user->verbs_on(tube).holds(verb);
  if (!is_allowed) {
    gate_.audit_refused(audit_event(*conn, command), now);
  } else if (std::holds_alternative<RestoreJob>(command)) {
    gate_.audit(audit_event(*conn, command));
  }
  return is_allowed;
}

void Core::answer(ConnId id, const Reply& reply, Nanos now) {
  BeanstalkSession* const conn = find(id);
  CHECK(conn != nullptr);
  if (conn->command.at == 0) conn->command.at = now;
  reply_to(*conn, reply);
}

void Core::answer_body(ConnId id, const JobReply& reply, Body&& body, Nanos /*now*/) {
  BeanstalkSession& conn = *find(id);
  conn.unanswered = false;
  const BatchIndex after = held_.after_all(conn.replies);
  scratch_.clear();
  wire::append_job_head(scratch_, reply);
  run_budget_.spend_on_answer(scratch_.size() + body.size());
  if (is_shared(body.size())) {
    conn.replies.outbox.push(
        after, scratch_, shared_bodies_.share(reply.id, std::move(body), false), wire::job_tail);
  } else {
    conn.replies.outbox.push(after, scratch_, body, wire::job_tail);
  }
  held_.hold(conn.id, conn.replies, after);
  held_.count(conn.replies, conn.command);
  make_runnable(conn);
  touch(conn);
}

}  // namespace perennial::core
