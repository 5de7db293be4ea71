#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/perenniald/checkpoints/checkpoints.h"
#include "cmd/perenniald/config/config.h"
#include "cmd/perenniald/config/flags.h"
#include "cmd/perenniald/core/core.h"
#include "cmd/perenniald/loop/clock.h"
#include "cmd/perenniald/loop/fine_timer.h"
#include "cmd/perenniald/loop/turn_budget.h"
#include "cmd/perenniald/net/acceptor.h"
#include "cmd/perenniald/net/connections.h"
#include "cmd/perenniald/net/sockets.h"
#include "cmd/perenniald/process/descriptors.h"
#include "cmd/perenniald/server/bodies/bodies.h"
#include "cmd/perenniald/server/cluster_node.h"
#include "cmd/perenniald/server/http_port.h"
#include "cmd/perenniald/server/listeners.h"
#include "cmd/perenniald/server/server_loop.h"
#include "cmd/perenniald/server/settings_reload.h"
#include "cmd/perenniald/server/startup.h"
#include "cmd/perenniald/server/tls_reload.h"
#include "cmd/perenniald/server/turn.h"
#include "cmd/perenniald/server/watchdogs.h"
#include "store/commit/log.h"

namespace perennial::perenniald {

// The process while it runs: it joins the parts, and decides only when the process begins to serve
// and when it ends. turn.h says what a turn of the loop does.
//
// Its phases come in this order, and some may be left out. The store is opened and loaded on a
// thread of its own, while HTTP says how far the server is. The engine catches up with what became
// due while the server was down. Clients are served. When the server is asked to stop, accepted
// work is committed and answered, and then the store is closed.
//
// Checkpoints are made meanwhile: checkpoints.h.
class Server final : private ServerLoop::Owner,
                     private Connections::Owner,
                     private HttpPort::Host,
                     private Turn::Parts {
 public:
  // `users`: null if everybody may do everything. `read_settings`: reads the flags and the file
  // again.
  Server(const Config& config, std::vector<BoundSocket> sockets, TlsListeners tls,
         std::shared_ptr<const access::Users> users, const Descriptors& descriptors,
         std::function<Invocation()> read_settings);

  // `told` is called when clients can connect.
  void on_serving(std::function<void()> told) { told_ = std::move(told); }
  // Serves until a signal ends it. Returns the exit code.
  int run();

 private:
  enum class Phase : uint8_t { Loading, CatchingUp, Serving, Stopping, Ended };

  core::Options make_core_options();

  // -- Clients.
  // Whether clients of the queue are this node's own. Before that those that are accepted are
  // passed on to the leader.
  bool serves_queue() const { return phase_ != Phase::Loading && phase_ != Phase::CatchingUp; }
  // Whether it is one of the two connections by which this node passes a client on to the leader.
  bool is_passed_on(const AcceptedSocket& socket) const {
    return socket.to_leader || (socket.role == ListenerRole::Queue && !serves_queue());
  }
  bool has_slot(const BoundSocket& listener);
  Status take_in(AcceptedSocket socket);
  TlsListener* tls_of(std::optional<size_t> listener) const;
  // -- Connections::Owner
  std::unique_ptr<Stream> make_stream(const AcceptedSocket& socket) override;
  core::Session& open_session(ConnId conn, const AcceptedSocket& socket,
                              const PeerIdentity* peer) override;
  bool has_waiting_sessions() override { return core_.has_runnable(); }
  void on_first_read(ConnId conn) override;
  void on_bytes() override;
  void on_slot_free() override { acceptor_.on_slot_free(); }
  bool may_use_thread(const AcceptedSocket& socket) override { return !is_passed_on(socket); }

  // Called on the threads that move bytes, before they send.
  void before_threads_send();
  void let_threads_ask(bool for_lease);

  // -- Start and end: server_phases.cc.
  bool reads_hangup() const;
  bool listen(const Acceptor::Choice& is_chosen);
  // Returns false if the server is part of a cluster and its settings are wrong.
  bool join_cluster();
  void on_node_news();
  void begin_serving();
  // Ends this process as the leader: a standby takes over.
  void hand_over_if_asked();
  void begin_stop(std::string_view why);
  bool all_answered() const;
  void end();
  int close_store();
  int close_store_of_node();

  // -- ServerLoop::Owner
  void before_poll() override;
  bool serve_http();
  void on_log_news() override;
  void on_loaded() override;
  void on_phase_time() override;
  void on_second() override;
  void on_signal(int number) override;
  void end_turn(bool at_once);

  // -- HttpPort::Host
  bool has_jobs() const override { return phase_ == Phase::Serving || phase_ == Phase::Stopping; }
  bool is_draining() const override { return turn_ ? core_.is_draining() : drain_; }
  bool is_stopping() const override { return phase_ == Phase::Stopping; }
  store::Store* store() const override { return store_.get(); }
  ProcessFacts process_facts() override;
  StoreFacts store_facts() const override;
  Nanos commit_age() override;
  size_t connections_max() const override { return descriptors_.connections; }
  Recovery recovery() const override { return recovery_; }

  // -- Turn::Parts
  size_t serve(std::span<const ConnId> conns) override;
  void read_body(const core::BodyRead& read) override { bodies_.reads().start(*store_, read); }
  void read_notes(const core::NoteRead& read) override { bodies_.notes().start(*store_, read); }
  void read_ended(core::EndedRead&& read) override {
    bodies_.ended().start(*store_, std::move(read));
  }
  void before_append(const store::Batch& batch) override;
  void order_checkpoint() override { checkpoints_.order_checkpoint(*log_); }
  void on_checkpoint_created(const store::CheckpointCreated& created) override {
    checkpoints_.on_checkpoint_created(created);
  }
  store::DiskLeft disk_left() override { return store_->disk_left(); }
  void arm_timer(Nanos left) override { timer_.arm(left); }
  void on_body(const core::BodyRead& read, Result<Body> body);
  // Logs, once a minute at most, that ended jobs go before their time.
  void tell_of_ended_jobs();
  // Says when there is a schedule whose put is refused, and when there is none any more.
  void tell_of_refused_schedules();

  Config config_;  // After a reload it has the new settings of how a cluster's etcd is reached.
  TurnClock clock_;
  TurnBudget budget_{clock_};
  ServerLoop loop_{*this};
  FineTimer timer_;  // For core's next deadline.

  Phase phase_ = Phase::Loading;
  std::atomic<bool> is_written_ = false;  // The store is. A failure of it is none of an open then.
  bool drain_ = false;                    // A drain was asked for. It begins when core is there.
  bool waits_in_sockets_ = false;         // The loop blocks in connections_, and not in libuv.
  std::function<void()> told_ = [] {};    // Of on_serving().
  bool waits_for_clients_ = true;         // Stopping: wait for clients to take their answers.
  int exit_code_ = 0;
  Recovery recovery_;

  ProcessFacts process_facts_;
  const Descriptors descriptors_;
  core::Core core_;
  TlsReload tls_;
  // Before http_, which asks it what to answer other nodes, so that it is destroyed after it.
  ClusterNode node_{loop_.loop(), clock_, connections_, config_};
  SettingsReload settings_;
  HttpPort http_;
  Nanos appended_at_ = 0;    // When the last batch was given to the log.
  uint64_t ended_told_ = 0;  // Of the ended jobs that went before their time.
  Nanos ended_told_at_ = 0;
  // Whether threads that move bytes ask for the lease before they send. The lock is held while one
  // asks, so that none does after a stop has given the lease up.
  bool asks_for_lease_ = false;
  std::mutex asks_for_lease_mutex_;
  bool told_refused_schedules_ = false;  // That there are some.
  Nanos refused_schedules_told_at_ = 0;
  Connections connections_;
  Acceptor acceptor_;
  Bodies bodies_;
  Checkpoints checkpoints_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<store::Log> log_;
  std::optional<Turn> turn_;  // Set when the store is loaded.
  Watchdogs watchdogs_{config_, clock_};
  std::optional<Startup> startup_;
};

}  // namespace perennial::perenniald
