#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>

#include "cmd/perenniald/core/core.h"
#include "tests/simulation/disk.h"
#include "tests/simulation/history.h"

namespace perennial::simulation {

// One run of a server: core on a disk, with connections that are strings and a clock that tests
// advance. The caller decides when a batch is handed over and when it completes. Reports to the
// history what clients see and the result of each batch.
class Server {
 public:
  // Receives answers. This is the history unless a planted bug intercepts them.
  using Deliver = std::function<void(ConnId, std::string_view)>;

  Server(core::Options options, Disk& disk, History& history, Nanos now);

  // Recovers. After a failure no other function may be called.
  Status start();
  // `has_leases` is as in ClientRights.
  void open(ConnId conn, bool has_leases = false);
  void send(ConnId conn, std::string_view bytes);
  void close(ConnId conn);
  // Sends a command that the history does not see, nor its answer.
  void whisper(std::string_view bytes);
  void advance(Nanos by);
  // Hands a batch over, if one is due and the disk is idle.
  void begin_commit();
  // Waits for the disk, if it has a batch. Then held replies leave.
  void finish_commit();
  // Takes what has become durable meanwhile, and what was read of ended jobs.
  void look();
  // Commits until no client waits for anything except the passage of time.
  void run_until_idle();
  // Stops cleanly: every command is answered and the disk is closed.
  Status stop();

  Nanos now() const { return now_; }
  uint64_t batches() const { return batches_; }
  // After the last batch that was handed over, or as it was found.
  const engine::Image& image() const { return image_; }
  // By how much the wall clock, by which schedules go, is ahead of now().
  void set_wall_ahead(Nanos ahead) { wall_ahead_ = ahead; }
  // A planted bug: clients that stand for leases reach every job.
  void ignore_leases() { ignores_leases_ = true; }
  void set_deliver(Deliver deliver) { deliver_ = std::move(deliver); }
  // Why the server cannot continue. A failed read ends a server, and so does a lead that is over.
  // It answers nothing from then on.
  const Status& failure() const { return failure_; }

 private:
  core::Options with_facts(core::Options options) const;
  Status restore(const Disk::Found& found);
  void fold(const store::Batch& batch);
  void take(Disk::Done done);
  void check_memory();
  void pump();
  void serve_reads();
  void serve_ended_reads(bool at_once);
  bool deliver();

  Disk& disk_;
  History& history_;
  Deliver deliver_;
  std::unique_ptr<core::Core> core_;
  Nanos now_;
  Nanos wall_ahead_ = 0;
  engine::Image image_;  // After the last batch that was handed over.
  std::set<ConnId> open_;
  bool whispers_ = false;
  // Reads of ended jobs that core has asked for and that have not come back.
  struct LateRead {
    core::EndedRead read;
    std::optional<core::EndedResult> result;  // None: the disk was not asked yet.
  };
  std::deque<LateRead> late_reads_;
  bool ignores_leases_ = false;
  bool committing_ = false;
  BatchIndex reply_index_ = 0;
  BatchIndex durable_ = 0;
  BatchIndex answers_durable_ = 0;
  uint64_t batches_ = 0;
  Status failure_;
};

}  // namespace perennial::simulation
