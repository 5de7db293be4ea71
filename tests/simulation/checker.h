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

#include "tests/simulation/job_beliefs.h"
#include "wire/client.h"
#include "wire/parser.h"

namespace perennial::simulation {

// Holds a server to its promises, by nothing but the bytes that went to and fro, and the moments at
// which it ended. It knows what each command may do to a job at any moment until it is answered,
// and keeps for each job what may be true of it. The laws follow:
//
//   no job that was acknowledged is lost            nobody is told NOT_FOUND who believes in it
//   no deleted job comes back, none from nowhere    no RESERVED or FOUND for what cannot be there
//   no id twice                                     an id and a body belong together for ever
//   one holder at a time                            no RESERVED for what another surely holds
//   states add up                                   the sums of stats lie within what may be true
//   priorities, delays, bury order, pauses          as acknowledged, also after a crash
//
// What was not answered before a crash may or may not have happened. The first contradiction is
// kept, with the story of its job; after it nothing is checked any more.
//
// REQUIRES: each body is sent once only, since it is by their bodies that jobs are known; and each
// call comes in the order in which things happened, as far as anybody outside can tell.
class Checker {
 public:
  // `keeps_unsynced`: whether what was told is durable. If not, all_durable() says when.
  explicit Checker(bool told_is_durable = true);

  void opened(ConnId conn);
  void sent(ConnId conn, std::string_view bytes, Nanos now);
  void received(ConnId conn, std::string_view bytes, Nanos now);
  // The server has let go of this connection: what is unanswered will not happen any more.
  void closed(ConnId conn, Nanos now);
  // The server ended, somehow, and with it all connections.
  void crashed(bool loses_unsynced, Nanos now);
  void all_durable();

  // The first contradiction; empty if there is none.
  const std::string& problem() const { return problem_; }
  // How many answers have been checked.
  uint64_t told_count() const { return told_; }
  // How many jobs it has lost track of, because too much was unanswered at once.
  uint64_t given_up_count() const;

  // ---- What a client needs to know, to go on.
  std::vector<ConnId> conns() const;
  // How many of its commands are unanswered.
  size_t unanswered(ConnId conn) const { return conns_.at(conn).unanswered.size(); }
  // Whether what it waits for first is a job.
  bool is_waiting_for_job(ConnId conn) const;
  // The ids that clients were told of, oldest first. Some are gone.
  const std::vector<JobId>& ids() const { return ids_; }
  bool surely_gone(JobId id) const;
  // What it was told to hold, as far as it can know.
  const std::vector<JobId>& held_by(ConnId conn) const { return conns_.at(conn).held; }
  // The bodies sent so far, answered or not.
  size_t job_count() const { return jobs_.size(); }
  // The ids that unanswered puts may have been given end here, unless some were passed over.
  JobId ids_end() const { return ids_end_ + unknown_; }

 private:
  static constexpr OpId no_op = ~OpId{0};  // Nothing that was sent has so great an id.
  struct Job {
    size_t serial;
    JobId id = 0;  // 0 until somebody was told.
    std::string body;
    OpId gone_at = no_op;  // Everybody knew from here on that it is gone.
    JobBeliefs beliefs;
    std::vector<std::string> story = {};
  };
  struct Conn {
    wire::Parser parser{1 << 20};
    wire::ReplyParser replies;
    std::deque<OpId> unanswered = {};
    std::string tube = "default";
    std::vector<JobId> held = {};
  };
  struct Pause {
    Nanos delay = 0;
    Nanos sent = 0;
    Nanos told = 0;  // 0: not.
    OpId op = 0;
    OpId told_before = no_op;  // Whatever was sent after it was told has at least this id.
    std::vector<size_t> witnesses = {};  // Jobs that have kept the tube alive since it was sent.
  };

  void on_command(ConnId id, Conn& conn, Command&& command, std::string_view body, Nanos now);
  void on_put(Op& op, const Put& put, std::string_view body);
  void on_reply(Conn& conn, const wire::ClientReply& reply, Nanos now);

  // What an answer says, by the command that it answers.
  struct Answer;
  void answer(const Op& op, const wire::ClientReply& reply);
  void answer_put(const Op& op, const wire::ClientReply& reply);
  void answer_named(const Op& op, const wire::ClientReply& reply, Effect effect);
  void answer_body(const Op& op, const wire::ClientReply& reply);
  void answer_reserve(const Op& op, const wire::ClientReply& reply);
  void answer_kick(const Op& op);
  void answer_peek(const Op& op, const wire::ClientReply& reply);
  void answer_stats(const Op& op, const wire::ClientReply& reply);
  void answer_pause(const Op& op, const wire::ClientReply& reply);
  void answer_stats_tube(const Op& op, const wire::ClientReply& reply);
  void narrow_by_stats_job(const Op& op, const wire::ClientReply& reply, Job& job);
  void check_order(Job& first, JobState state);

  // The job that a reply shows, if it can be it.
  Job* identify(const wire::ClientReply& reply);
  bool learn_id(Job& job, JobId id);
  void told(Job& job, const Op& op, const Effect& effect, const wire::ClientReply& reply);
  void finish(const Op& op);
  Job* find(JobId id);
  Job* job_of(const Op& op) { return op.serial == Op::no_job ? nullptr : &jobs_[op.serial]; }
  Moment moment() const {
    return {.now = now_, .place = next_op_, .wide = wide_, .is_open = is_open_};
  }
  // Whether nothing but this command can have happened since it was sent.
  bool is_quiet(const Op& op) const { return op.quiet && op.id + 1 == next_op_; }
  void note(Job& job, std::string line);
  void contradict(std::string what);
  void contradict(const Job& job, std::string_view what);

  const bool told_is_durable_;
  std::string problem_;
  Nanos now_ = 0;
  OpId next_op_ = 1;
  uint64_t told_ = 0;
  size_t op_count_ = 0;  // Unanswered, but for reserves.
  size_t unknown_ = 0;   // Puts whose id nobody knows.
  JobId ids_end_ = 1;
  std::deque<Job> jobs_;
  std::vector<JobId> ids_;
  std::unordered_map<JobId, Job*> by_id_;
  std::unordered_map<std::string, Job*> by_body_;
  std::map<ConnId, Conn> conns_;
  std::map<OpId, Op> ops_;
  std::vector<const Op*> wide_;
  std::map<std::string, std::vector<Pause>, std::less<>> pauses_;  // By tube, oldest first.
  const std::function<bool(ConnId)> is_open_;
};

}  // namespace perennial::simulation
