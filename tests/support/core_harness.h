#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/perenniald/core/core.h"
#include "tests/support/memory_store.h"

namespace perennial::support {

// Core with everything around it faked: a clock that stands still until it is moved, a store in
// memory, and connections that are strings. One thread, no sleep.
class CoreHarness {
 public:
  explicit CoreHarness(core::Options options = {});
  ~CoreHarness();

  ConnId open(bool may_checkpoint = false);
  void send(ConnId conn, std::string_view bytes);
  // The client sends nothing more.
  void end(ConnId conn);
  // The client is gone.
  void close(ConnId conn);
  // What has arrived at the client since the last call.
  std::string receive(ConnId conn);
  // Whether the server has closed the connection.
  bool closed_by_server(ConnId conn) const { return closed_.contains(conn); }
  bool reading(ConnId conn) const {
    return core_->session(conn) != nullptr && core_->session(conn)->reading();
  }

  // Moves the clock, stopping at each deadline on the way.
  void advance(Nanos by);
  // Moves it without a word to core, as when the timer is late.
  void skip(Nanos by) { now_ += by; }
  Nanos now() const { return now_; }

  // Whether batches are committed as soon as they are due (the start), or held until commit().
  void set_committing(bool committing) { committing_ = committing; }
  void commit();
  // The first of them only. REQUIRES: core().has_batch().
  void commit_one();
  // All that waits for its turn.
  void run_commands();
  // How long the committer says that a batch took.
  void set_commits_take(Nanos took) { commits_take_ = took; }
  // Whether clients read what is sent to them (the start), or leave it where it is.
  void set_clients_reading(bool reading) { clients_reading_ = reading; }

  // All connections end, what is not durable is lost, and the server starts again.
  void crash();
  // The same with a clean stop: everything is committed, and the next id is exact.
  void restart();

  // Damages a body as a bad disk would: it cannot be read any more.
  void damage(JobId id) { damaged_.insert(id); }
  void set_room(bool room) { core_->on_room(room, now_); }
  void set_behind(bool behind) { core_->on_behind(behind, now_); }

  // The cuts that were due, each taken between two commits and found to hold what the store holds.
  const std::vector<core::Cut>& cuts() const { return cuts_; }
  // What became of the latest that is not temporary, or is.
  void finish_checkpoint(const Reply& answer);
  void finish_temporary(const Reply& answer);
  // Whether there is one for which that was not said.
  bool is_cut(bool temporary) const { return temporary ? temporary_is_cut_ : kept_is_cut_; }

  core::Core& core() { return *core_; }
  MemoryStore& store() { return store_; }

  // Does all that can be done without time passing.
  void pump();

 private:
  void start();
  bool take_cut();
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
  std::vector<core::Cut> cuts_;
  bool kept_is_cut_ = false;
  bool temporary_is_cut_ = false;
  bool clients_reading_ = true;
  std::set<ConnId> open_;
  std::set<ConnId> closed_;
  std::map<ConnId, std::string> received_;
  std::set<JobId> damaged_;
};

}  // namespace perennial::support
