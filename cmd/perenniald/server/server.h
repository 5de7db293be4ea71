#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <uv.h>

#include "cmd/perenniald/checkpoints/checkpoints.h"
#include "cmd/perenniald/cluster/member.h"
#include "cmd/perenniald/config/config.h"
#include "cmd/perenniald/config/flags.h"
#include "cmd/perenniald/core/core.h"
#include "cmd/perenniald/http/api/api.h"
#include "cmd/perenniald/http/forwarded.h"
#include "cmd/perenniald/http/http.h"
#include "cmd/perenniald/http/queue_client.h"
#include "cmd/perenniald/http/routes/routes.h"
#include "cmd/perenniald/http/sign_in.h"
#include "cmd/perenniald/loop/clock.h"
#include "cmd/perenniald/loop/fine_timer.h"
#include "cmd/perenniald/loop/turn_budget.h"
#include "cmd/perenniald/net/acceptor.h"
#include "cmd/perenniald/net/connections.h"
#include "cmd/perenniald/net/sockets.h"
#include "cmd/perenniald/process/descriptors.h"
#include "cmd/perenniald/process/watchdog.h"
#include "cmd/perenniald/server/body_damage.h"
#include "cmd/perenniald/server/body_reads.h"
#include "cmd/perenniald/server/body_search.h"
#include "cmd/perenniald/server/listeners.h"
#include "cmd/perenniald/server/startup.h"
#include "cmd/perenniald/server/tls_reload.h"
#include "cmd/perenniald/server/turn.h"
#include "cmd/perenniald/snapshot/peer_checkpoints.h"
#include "cmd/perenniald/standby/standby.h"
#include "store/commit/log.h"

namespace perennial::perenniald {

// The loop of the process, and the parts that it joins. This class decides only when the process
// begins to serve and when it ends; turn.h says what a turn does.
//
// Its phases come in this order, and some may be left out. The store is opened and loaded on a
// thread of its own, while HTTP says how far the server is. The engine catches up with what became
// due while the server was down. Clients are served. When the server is asked to stop, accepted
// work is committed and answered, and then the store is closed.
//
// Checkpoints are made meanwhile: checkpoints.h.
//
// A turn ends in on_prepare, just before the loop blocks, or by blocking there: end_turn(). It does
// not end in a uv_check handle, because timer callbacks run after that one, and their work would
// wait until the next poll is over.
class Server {
 public:
  // `users`: null if everybody may do everything. `read_settings`: reads the flags and the file
  // again.
  Server(const Config& config, std::vector<BoundSocket> sockets, TlsListeners tls,
         std::shared_ptr<const access::Users> users, const Descriptors& descriptors,
         std::function<Invocation()> read_settings);

  // Serves until a signal ends it. Returns the exit code.
  int run();

 private:
  enum class Phase : uint8_t { Loading, CatchingUp, Serving, Stopping, Ended };
  struct Loop : uv_loop_t {
    Loop();
    ~Loop();
  };

  // -- Start and end.
  core::Options make_core_options();
  http::MetricSources make_metric_sources();
  http::ApiSources make_api_sources();
  ProcessFacts process_facts();
  http::ServerFacts server_facts();
  http::ClusterFacts cluster_facts() const;
  Nanos commit_age();
  http::HealthFacts health_facts();
  BodyDamage::Hooks damage_hooks();
  StoreFacts store_facts() const;
  Status take_in(AcceptedSocket socket);
  std::unique_ptr<Stream> make_stream(const AcceptedSocket& socket);
  core::Session& open_session(ConnId conn, const AcceptedSocket& socket, const PeerIdentity* peer);
  // Whether the jobs are loaded, and what was due before the start is done.
  bool has_jobs() const { return phase_ == Phase::Serving || phase_ == Phase::Stopping; }
  // Whether clients of the queue are this node's own. Before that those that are accepted are
  // passed on to the leader.
  bool serves_queue() const { return phase_ != Phase::Loading && phase_ != Phase::CatchingUp; }
  bool has_slot(const BoundSocket& listener);
  TlsListener* tls_of(std::optional<size_t> listener) const;
  bool reads_hangup() const;
  std::vector<http::FileRead> reload();
  // Of a cluster's node. Why the settings could not be used. Empty: they are.
  std::string reload_settings();
  void tell_shared_settings();
  // Why the file could not be used. Empty: it is in use.
  std::string reload_users();
  void audit(const access::AuditEvent& event);
  void start_handles();
  bool listen(const Acceptor::Choice& is_chosen);
  bool become_member();
  void on_loaded();
  void start_watchdog();
  void watch_loop();
  void watch_closing();
  void begin_serving();
  void begin_stop(std::string_view why);
  bool all_answered() const;
  void end();
  int close_store();
  int close_member();

  // -- While this node does not lead.
  void become_standby();
  bool is_forwarded(const BoundSocket& socket) const;
  void on_member_news();
  // Ends this process as the leader: a standby takes over.
  void hand_over_if_asked();
  http::ClusterHealth cluster_health();
  std::optional<http::Http::Handled> answer_node(const http::Request& request);

  // -- Each turn.
  void on_prepare();
  // Goes on with requests of HTTP for at most a millisecond. Returns whether none has more to do.
  bool serve_http();
  void block_unless(bool at_once);
  void end_turn(bool at_once);
  void start_second_timer();
  void on_second_timer();
  Turn::Hooks turn_hooks();
  void on_body(const core::BodyRead& read, Result<Body> body);
  void on_phase_timer();
  void on_signal(int number);

  Config config_;  // After a reload it has the new settings of how a cluster's etcd is reached.
  const std::function<Invocation()> read_settings_;
  const http::Proxies proxies_;
  bool users_are_current_ = true;  // The file of users was good when it was read last.
  Nanos users_reloaded_at_ = 0;    // When it was good and was read again; 0: never yet.
  // Files of TLS were read again, perhaps with other revocation lists. The next turn looks, because
  // a request of HTTP may have asked for that.
  bool looks_for_revoked_ = false;
  TurnClock clock_;
  TurnBudget budget_{clock_};
  Loop loop_;
  uv_prepare_t prepare_;
  uv_idle_t at_once_;  // While it is active the loop does not block.
  FineTimer timer_;    // For core's next deadline.
  // Loading: reports progress to the service manager. Stopping: ends the wait for clients.
  uv_timer_t phase_timer_;
  uv_async_t committed_;
  uv_async_t loaded_;
  uv_async_t peer_;            // For peer_checkpoints_.
  uv_work_t first_work_ = {};  // Makes the threads of libuv's pool.
  uv_signal_t signals_[4];

  Phase phase_ = Phase::Loading;
  std::atomic<bool> serving_ = false;  // Which exit code a failure of the store has.
  bool drain_ = false;                 // A drain was asked for. It begins when core is there.
  bool waits_in_sockets_ = false;      // The loop blocks in connections_, and not in libuv.
  bool waits_for_clients_ = true;      // Stopping: wait for clients to take their answers.
  int exit_code_ = 0;
  Nanos recovery_took_ = 0;
  uint64_t recovered_jobs_ = 0;

  http::AuditLines audit_lines_;
  ProcessFacts process_facts_;
  const Descriptors descriptors_;
  core::Core core_;
  // The HTTP port, each part behind what it uses.
  http::QueueClients queue_clients_;
  http::SignIns sign_ins_;
  const http::MetricSources metric_sources_;
  const http::ApiSources api_sources_;
  http::Api api_;
  std::unique_ptr<PeerCheckpoints> peer_checkpoints_;  // Of a cluster's node.
  http::Routes routes_;
  http::Http http_;
  uv_timer_t second_timer_;  // Once a second.
  std::vector<ConnId> http_changed_;
  Nanos appended_at_ = 0;  // When the last batch was given to the log.
  TlsReload tls_;
  Connections connections_;
  Acceptor acceptor_;
  BodyReads body_reads_;
  BodySearch body_search_;
  BodyDamage body_damage_;
  Checkpoints checkpoints_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Member> member_;  // Null: the server is no part of a cluster.
  bool is_standby_ = false;         // It has followed another leader.
  std::optional<Standby> standby_;  // From the start of a node on. Later it has nothing to do.
  std::unique_ptr<store::Log> log_;
  std::optional<Turn> turn_;            // Set when the store is loaded.
  std::unique_ptr<Watchdog> watchdog_;  // Of the log, and later of the store's close.
  std::unique_ptr<Watchdog> loop_watchdog_;
  std::optional<Startup> startup_;
};

}  // namespace perennial::perenniald
