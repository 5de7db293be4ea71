#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/perenniald/core/core.h"
#include "engine/types/later.h"
#include "tests/support/memory_store.h"

namespace perennial::support {

// Core with fakes around it: a clock that moves only on request, a store in memory, and connections
// that are strings. One thread, no sleeps.
class CoreHarness {
 public:
  explicit CoreHarness(core::Options options = {});
  ~CoreHarness();

  ConnId open(bool may_checkpoint = false);
  ConnId open_as(const access::ClientRights& rights);
  void send(ConnId conn, std::string_view bytes);
  // Ends the input of a client.
  void end(ConnId conn);
  // Closes a client's connection.
  void close(ConnId conn);
  // Returns what the client has received since the last call.
  std::string receive(ConnId conn);
  // Whether the server has closed the connection.
  bool closed_by_server(ConnId conn) const { return closed_.contains(conn); }
  bool reading(ConnId conn) const {
    return core_->session(conn) != nullptr && core_->session(conn)->reading();
  }

  // Advances the clock and stops at each deadline on the way.
  void advance(Nanos by);
  // Advances the clock without notifying core, like a late timer.
  void skip(Nanos by) { now_ = later(now_, by); }
  Nanos now() const { return now_; }

  // Whether batches are committed as soon as they are due (the initial state), or held until
  // commit().
  void set_committing(bool committing) { committing_ = committing; }
  void commit();
  // Commits only the first batch. REQUIRES: core().has_batch().
  void commit_one();
  // Runs all commands that wait for their turn.
  void run_commands();
  // Sets how long the committer reports that a batch took.
  void set_commits_take(Nanos took) { commits_take_ = took; }
  // Whether clients read their output (the initial state), or leave it unread.
  void set_clients_reading(bool reading) { clients_reading_ = reading; }

  // Ends all connections, loses what is not durable, and restarts the server.
  void crash();
  // Restarts after a clean stop: everything is committed, and the next id is exact.
  void restart();

  // Makes a body unreadable, as a faulty disk would.
  void damage(JobId id) { damaged_.insert(id); }
  void set_accepts_puts(bool accepts_puts) { core_->on_disk_space(accepts_puts, now_); }
  void set_behind(bool behind) { core_->on_write_stall(behind, now_); }

  // The checkpoint points that were due. Each was taken between two commits and verified to hold
  // what the store holds.
  const std::vector<core::CheckpointPoint>& cuts() const { return cuts_; }
  // Reports the result of the latest permanent or temporary checkpoint.
  void finish_checkpoint(const Reply& answer);
  void finish_temporary(const Reply& answer);
  // Whether a checkpoint is being created whose result was not reported yet.
  bool is_creating(bool temporary) const {
    return temporary ? creating_temporary_ : creating_kept_;
  }

  // Who serves connections that were opened at core itself, and not with open().
  void set_internal(std::function<void(ConnId)> on_changed) {
    on_internal_ = std::move(on_changed);
  }

  core::Core& core() { return *core_; }
  MemoryStore& store() { return store_; }

  // Does everything that is possible without advancing the clock.
  void pump();

 private:
  void start();
  bool take_point();
  void serve_reads();
  void serve_read(const core::BodyRead& read);
  bool deliver();

  const core::Options options_;
  MemoryStore store_;
  std::unique_ptr<core::Core> core_;
  Nanos now_;
  ConnId last_conn_ = 0;
  bool committing_ = true;
  Nanos commits_take_ = 0;
  std::vector<core::CheckpointPoint> cuts_;
  bool creating_kept_ = false;
  bool creating_temporary_ = false;
  bool clients_reading_ = true;
  std::set<ConnId> open_;
  std::set<ConnId> closed_;
  std::map<ConnId, std::string> received_;
  std::set<JobId> damaged_;
  std::function<void(ConnId)> on_internal_;
};

}  // namespace perennial::support
