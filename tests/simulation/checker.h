#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tests/simulation/possible_states.h"
#include "wire/client.h"
#include "wire/parser.h"

namespace perennial::simulation {

// Checks a server against its promises, using only the bytes that were exchanged and the moments at
// which the server ended. The checker knows what each unanswered command may do to a job, and keeps
// the set of possible states of each job. It enforces these rules:
//
//   no acknowledged job is lost                     no NOT_FOUND for a job that certainly exists
//   no deleted job returns, none is invented        no RESERVED or FOUND for an impossible job
//   no id is used twice                             an id and a body belong together
//   one holder at a time                            no RESERVED for a job that another client holds
//   a client with leases changes what it holds      no DELETED or NOTED of another job for it
//   a job is there, or has ended, or is gone        no two ids of a body at once; no NOT_FOUND
//                                                   to restore-job or peek-ended while it is kept
//   an end is undone once                           no second INSERTED to restore-job
//   what is over is not shown                       no FOUND behind `keep` or `keep-max`
//   states add up                                   the counts of stats are within what is possible
//   priorities, delays, bury order, pauses, notes   as acknowledged, also after a crash and after a
//                                                   return from an end; so are ttr, tries and key
//
// A command that was not answered before a crash may have taken effect or not. The first
// contradiction is kept together with the history of its job. After it nothing is checked any more.
//
// A job that comes back from its end is the same one here, and has another id.
//
// REQUIRES: each body is sent only once, since bodies identify jobs, and so is each key. set-tube
// gives both `keep` and `keep-max`, and nothing else. The calls come in the order in which the
// events happened, as it is visible to clients.
class Checker {
 public:
  // `answers_are_durable` says whether everything that a client was answered is durable. Otherwise
  // all_durable() says when it is.
  explicit Checker(bool answers_are_durable = true);

  // `has_leases`: its delete and its note reach only what it holds (ClientRights::has_leases).
  void opened(ConnId conn, bool has_leases = false);
  void sent(ConnId conn, std::string_view bytes, Nanos now);
  void received(ConnId conn, std::string_view bytes, Nanos now);
  // The server has closed this connection. Its unanswered commands can no longer take effect.
  void closed(ConnId conn, Nanos now);
  // The server has ended, and all connections with it.
  void crashed(bool loses_unsynced, Nanos now);
  void all_durable();

  // The first contradiction, or an empty string.
  const std::string& problem() const { return problem_; }
  // The number of answers that were checked.
  uint64_t answer_count() const { return answer_count_; }
  // The number of jobs that are no longer checked, because too many commands were unanswered at
  // once.
  uint64_t given_up_count() const;

  // ---- What a client needs to choose its next command.
  std::vector<ConnId> conns() const;
  // The number of unanswered commands of this connection.
  size_t unanswered(ConnId conn) const { return conns_.at(conn).unanswered.size(); }
  // Whether the first unanswered command of this connection is a reserve.
  bool is_waiting_for_job(ConnId conn) const;
  // The ids that replies have named, oldest first. Some of these jobs are deleted.
  const std::vector<JobId>& ids() const { return ids_; }
  bool surely_gone(JobId id) const;
  bool may_have_ended(JobId id) const;
  // The ids, newest first and at most `max`, of jobs that may have ended and be kept.
  std::vector<JobId> ended_ids(size_t max) const;
  // The jobs that replies have given to this connection. Some reservations may have expired.
  const std::vector<JobId>& held_by(ConnId conn) const { return conns_.at(conn).held; }
  // The number of bodies sent so far, answered or not.
  size_t job_count() const { return jobs_.size(); }
  // One past the highest id that an unanswered put may have, unless the server skipped ids.
  JobId ids_end() const { return ids_end_ + unknown_; }

 private:
  static constexpr OpId no_op = ~OpId{0};  // No command has so high an id.
  struct Job {
    size_t serial;
    JobId id = 0;  // The newest that a reply has named; 0: none has.
    std::string body;
    Put put;
    OpId gone_at = no_op;  // Every command from this one on knows that the job is deleted.
    PossibleStates possible;
    std::vector<std::string> story = {};
  };
  struct Conn {
    bool has_leases = false;
    wire::Parser parser{1 << 20};
    wire::ReplyParser replies;
    std::deque<OpId> unanswered = {};
    std::string tube = "default";
    std::vector<JobId> held = {};
  };
  struct Pause {
    Nanos delay = 0;
    Nanos sent = 0;
    Nanos answered = 0;  // 0 while there is no answer.
    OpId op = 0;
    // Every command that is sent after the answer has at least this id.
    OpId answered_before = no_op;
    // Jobs that have kept the tube in existence since before the pause was sent.
    std::vector<size_t> keeping_jobs = {};
  };

  void on_command(ConnId id, Conn& conn, Command&& command, std::string_view body, Nanos now);
  void on_put(Op& op, const Put& put, std::string_view body);
  void on_ending(const Op& op);
  // The number of jobs that may have ended in the tube.
  uint64_t count_ended(const std::string& tube) const;
  void on_reply(Conn& conn, const wire::ClientReply& reply, Nanos now);

  // What an answer says, depending on the command that it answers.
  struct Answer;
  void answer(const Op& op, const wire::ClientReply& reply);
  void answer_put(const Op& op, const wire::ClientReply& reply);
  void answer_named(const Op& op, const wire::ClientReply& reply, Effect effect);
  void answer_body(const Op& op, const wire::ClientReply& reply);
  void answer_notes(const Op& op, const wire::ClientReply& reply);
  void answer_reserve(const Op& op, const wire::ClientReply& reply);
  void answer_kick(const Op& op);
  void answer_peek(const Op& op, const wire::ClientReply& reply);
  void answer_stats(const Op& op, const wire::ClientReply& reply);
  void answer_pause(const Op& op, const wire::ClientReply& reply);
  void answer_stats_tube(const Op& op, const wire::ClientReply& reply);
  void answer_restore(const Op& op, const wire::ClientReply& reply);
  void answer_peek_ended(const Op& op, const wire::ClientReply& reply);
  void answer_walk(const Op& op, const std::string& tube, uint64_t count);
  void answer_restore_tube(const Op& op, const wire::ClientReply& reply);
  void answer_flush(const Op& op, const wire::ClientReply& reply);
  void answer_list(const Op& op, const wire::ClientReply& reply);
  void answer_set(const Op& op, const wire::ClientReply& reply);
  void expect_shown(const std::string& tube, const std::vector<JobId>& listed);
  void expect_order(const std::vector<JobId>& listed);
  void expect_put_fields(const Job& job, const wire::ClientReply& reply);
  void narrow_by_stats_job(const Op& op, const wire::ClientReply& reply, Job& job);
  void check_order(Job& first, JobState state);

  // Returns the job that a reply shows, or null after a contradiction.
  Job* identify(const wire::ClientReply& reply);
  bool learn_id(Job& job, JobId id);
  void answered(Job& job, const Op& op, const Effect& effect, const wire::ClientReply& reply);
  void finish(const Op& op);
  Job* find(JobId id);
  Job* job_of(const Op& op) { return op.serial == Op::no_job ? nullptr : &jobs_[op.serial]; }
  Moment moment() const {
    return {
        .now = now_, .place = next_op_, .wide = wide_, .is_open = is_open_, .keeping = keeping_};
  }
  // Whether no other command can have taken effect since this one was sent.
  bool is_quiet(const Op& op) const { return op.quiet && op.id + 1 == next_op_; }
  void note(Job& job, std::string line);
  void contradict(std::string what);
  void contradict(const Job& job, std::string_view what);
  static std::string told(const Job& job);

  const bool answers_are_durable_;
  std::string problem_;
  Nanos now_ = 0;
  OpId next_op_ = 1;
  uint64_t answer_count_ = 0;
  size_t op_count_ = 0;  // Unanswered commands without reserves.
  size_t unknown_ = 0;   // Puts and returns whose id no reply has named.
  JobId ids_end_ = 1;
  std::deque<Job> jobs_;
  std::vector<JobId> ids_;
  std::unordered_map<JobId, Job*> by_id_;
  std::unordered_map<std::string, Job*> by_body_;
  std::map<ConnId, Conn> conns_;
  std::map<OpId, Op> ops_;
  std::vector<const Op*> wide_;
  Keeping keeping_;
  std::map<std::string, std::vector<Pause>, std::less<>> pauses_;  // By tube, oldest first.
  const std::function<bool(ConnId)> is_open_;
};

}  // namespace perennial::simulation
