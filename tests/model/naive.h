#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/image.h"
#include "engine/input.h"

namespace perennial::model {

// The job-state machine once more, written from the protocol as plainly as it can be: maps, scans,
// and no index that could be wrong. Slow, and nothing to be proud of but that it is easily seen to
// be right. It has no limits and no small turns.
class Naive {
 public:
  Naive();

  // The replies to an input, in order.
  std::vector<engine::ConnReply> apply(const engine::Input& input);
  std::optional<Nanos> next_deadline() const;
  // Every client leaves at once and the server starts again; no id below `next_id` is given out.
  void reopen(JobId next_id, Nanos now);
  // What of it is kept; without id_limit, which is the engine's own affair.
  engine::Image image() const;

  const std::set<ConnId>& conns() const { return conn_ids_; }
  bool unanswered(ConnId conn) const { return conns_.at(conn).waiting; }
  JobId next_id() const { return next_id_; }

 private:
  struct Job {
    JobRow row;
    ConnId holder = 0;
    Nanos deadline = 0;
  };
  struct Tube {
    TubeId id = 0;
    std::string name;
    bool stored = false;
    Nanos pause = 0;
    Nanos pause_until = 0;
    uint64_t total = 0;
    uint64_t deletes = 0;
    uint64_t pauses = 0;
  };
  struct Conn {
    ConnId id = 0;
    std::string used = "default";
    std::vector<std::string> watched = {"default"};
    bool waiting = false;
    std::optional<Nanos> until;
    uint64_t waiting_since = 0;
    bool half_closed = false;
    bool producer = false;
    bool worker = false;
  };
  struct Apply;

  Tube* find_tube(const std::string& name);
  const Tube& tube_of(const Job& job) const;
  Tube& take_tube(const std::string& name);
  bool is_unused(const Tube& tube) const;
  void end_if_unused(const std::string& name);
  Job* best(const std::vector<std::string>& tubes, bool also_paused);
  // The jobs of a tube in a state, first to last in the order of that state.
  std::vector<Job*> jobs_in(const std::string& tube, JobState state);
  std::vector<Job*> held_by(ConnId conn);
  bool deadline_soon(ConnId conn);
  void make_ready(Job& job);
  void reserve(Conn& conn, Job& job);
  void serve_waiting(Tube& tube);
  void bury(Job& job);
  void answer(ConnId conn, Reply reply) { replies_.push_back({conn, std::move(reply)}); }
  void answer_job(ConnId conn, JobReply::Kind kind, const Job& job);
  std::optional<Nanos> conn_deadline(const Conn& conn) const;
  void tick();
  void tick_pauses();
  StateCounts count(const std::string* tube);

  std::map<JobId, Job> jobs_;
  std::vector<Tube> tubes_;  // In the order of list-tubes.
  std::map<ConnId, Conn> conns_;
  std::set<ConnId> conn_ids_;
  JobId next_id_ = 1;
  uint64_t next_bury_ = 1;
  uint64_t next_wait_ = 1;
  bool draining_ = false;
  CommandCounts commands_;
  uint64_t timeouts_ = 0;
  uint64_t total_jobs_ = 0;
  uint64_t total_conns_ = 0;
  uint64_t damaged_ = 0;
  Nanos now_ = 0;
  bool room_ = true;
  std::vector<engine::ConnReply> replies_;
};

}  // namespace perennial::model
