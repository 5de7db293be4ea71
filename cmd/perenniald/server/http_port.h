#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/perenniald/checkpoints/checkpoints.h"
#include "cmd/perenniald/config/config.h"
#include "cmd/perenniald/core/core.h"
#include "cmd/perenniald/http/api/api.h"
#include "cmd/perenniald/http/forwarded.h"
#include "cmd/perenniald/http/http.h"
#include "cmd/perenniald/http/queue_client.h"
#include "cmd/perenniald/http/routes/routes.h"
#include "cmd/perenniald/http/sign_in.h"
#include "cmd/perenniald/loop/clock.h"
#include "cmd/perenniald/net/connections.h"
#include "cmd/perenniald/net/sockets.h"
#include "cmd/perenniald/server/answer_worker.h"
#include "cmd/perenniald/server/bodies/bodies.h"
#include "cmd/perenniald/server/cluster_node.h"
#include "cmd/perenniald/server/history_file.h"
#include "cmd/perenniald/server/settings_reload.h"
#include "cmd/perenniald/server/tls_reload.h"
#include "store/store.h"

namespace perennial::perenniald {

// The HTTP port of the running server: its connections, routes, API and sign-ins, the clients of
// the queue by which it changes something, and what it tells of the other parts. It is there from
// the start, so that health and metrics can be asked for while the directory is read.
class HttpPort final : private http::RouteSources {
 public:
  // What it asks of the server.
  class Host {
   public:
    virtual ~Host() = default;
    // Whether the jobs are loaded, and what was due before the start is done.
    virtual bool has_jobs() const = 0;
    virtual bool is_draining() const = 0;  // Or will be, as soon as there are jobs.
    virtual bool is_stopping() const = 0;
    // Null: another thread has it.
    virtual store::Store* store() const = 0;
    virtual ProcessFacts process_facts() = 0;
    // REQUIRES: has_jobs().
    virtual StoreFacts store_facts() const = 0;
    // For how long the log has had the batch that it writes. 0: it writes none.
    virtual Nanos commit_age() = 0;
    virtual size_t connections_max() const = 0;
    struct Recovery {
      Nanos took = 0;
      uint64_t jobs = 0;
    };
    virtual Recovery recovery() const = 0;
  };
  // What it reads of the other parts, which outlive it.
  struct Parts {
    const Config& config;
    core::Core& core;
    TurnClock& clock;
    Connections& connections;
    const TlsReload& tls;
    SettingsReload& settings;
    const Checkpoints& checkpoints;
    Bodies& bodies;
    ClusterNode& node;
    uv_loop_t& loop;
  };
  // Places at addresses that only this machine reaches, so that the server's state can be asked for
  // whatever comes from outside. They are a part of the descriptors for files.
  static constexpr size_t places_of_this_machine = 16;

  // The parts need not be there yet.
  HttpPort(Host& host, const Parts& parts);

  // ---- Connections.
  // Whether one more client of this socket, which is one of HTTP, has a place.
  bool has_slot(const BoundSocket& listener) const;
  // Connections of this socket that may exist beyond those of all clients. Where clients of the
  // queue have all places, those of this machine are full of connections that ask for nothing, and
  // one of them gives way: make_place().
  size_t own_places(const BoundSocket& listener) const;
  // A connection gives way on which nothing is asked, if there is one.
  void make_place() { http_.make_place(); }
  core::Session& open(ConnId conn, const AcceptedSocket& socket, const PeerIdentity* peer);
  void on_first_read(ConnId conn) { http_.on_first_read(conn); }

  // ---- Each turn.
  bool has_runnable() const { return http_.has_runnable(); }
  // Goes on with requests for at most TurnBudget::requests_max, and with what they send for as
  // long again. Returns whether none has more to do.
  bool serve();
  // Whether its clients of the queue, or the API itself, have given core work since the last call.
  bool take_has_spoken();
  // REQUIRES: http::QueueClients::owns(conn). Core has output for it, or has finished it.
  void on_changed(ConnId conn) { queue_clients_.on_changed(conn); }
  // Time limits; and, where the engine belongs to the loop, frames of events and history.
  void on_second(bool has_engine);
  // The server stops: what the next one shows of the time before is saved.
  void save_history();
  // Makes the thread of its long texts.
  void start() { answer_worker_.start(); }
  // REQUIRES: its connections are closed. This is the last call.
  void close() { answer_worker_.close(); }

  // Core has other users.
  void on_users() { sign_ins_.on_users(); }
  // Writes a line of the audit, and keeps it for the console.
  void audit(const access::AuditEvent& event) override;

 private:
  http::Http::Handled handle(const http::Request& request, const access::ClientRights& rights);

  // -- http::MetricSources
  engine::EngineView engine() override { return parts_.core.engine().view(); }
  ProcessFacts process() override;
  StoreFacts store() override { return host_.store_facts(); }
  http::ServerFacts server() override;
  http::ServerLimits limits() override;
  http::Times times() override;
  size_t memory_bytes() override { return parts_.core.memory_bytes(); }
  size_t output_bytes() override { return parts_.core.output_bytes(); }
  bool accepts_puts() override { return parts_.core.disk_accepts_puts(); }
  const http::Http::Counts& requests() override { return http_.counts(); }
  http::TubeChoice tubes() override;
  size_t event_streams() override { return api_.event_streams(); }
  http::LeaseCounts leases() override { return api_.leases_count(); }
  std::optional<http::ClusterFacts> cluster_facts() override { return parts_.node.facts(); }
  // -- http::ApiSources
  http::QueueClients& queue() override { return queue_clients_; }
  http::SignIns& sign_ins() override { return sign_ins_; }
  Nanos now() override { return parts_.clock.now(); }
  bool is_loaded() override { return host_.has_jobs(); }
  http::ClusterHealth cluster_health() override;
  std::string ask_handover() override { return parts_.node.ask_handover(); }
  size_t waiters_max() override { return parts_.config.http_connections_max * 3 / 4; }
  std::string address_of(ConnId conn) override { return parts_.connections.peer_of(conn); }
  std::string_view user_of(ConnId conn) override { return parts_.core.user_of(conn); }
  size_t output_bytes_of(ConnId conn) override { return parts_.core.output_bytes(conn); }
  std::optional<uint64_t> operation_progress(ConnId conn) override {
    return parts_.core.operation_progress(conn);
  }
  const Body* schedule_body(const std::string& name) override {
    return parts_.core.schedule_body(name);
  }
  const Calendar* calendar() override { return parts_.core.calendar(); }
  Nanos wall() override { return parts_.clock.wall_now(); }
  bool close_connection(ConnId conn) override { return parts_.core.close_connection(conn); }
  void find_in_bodies(std::vector<JobId> jobs, BodySearch::Test is_wanted,
                      BodySearch::Done done) override;
  void list_ended(EndedGroupsQuery query, std::function<void(EndedGroupsPage)> done) override;
  std::string configuration() override { return print_config(parts_.config); }
  const http::AuditLines& audit_lines() override { return audit_lines_; }
  void refused(const access::AuditEvent& event, std::optional<access::Verb> missing) override;
  std::vector<http::FileRead> reload() override { return parts_.settings.reload(); }
  // -- http::RouteSources
  http::HealthFacts health() override;
  http::Workers* workers() override { return &answer_worker_; }
  std::optional<http::Http::Handled> answer_node(const http::Request& request) override;

  Host& host_;
  const Parts parts_;
  const http::Proxies proxies_;
  http::AuditLines audit_lines_;
  // Each behind what it uses.
  http::QueueClients queue_clients_;
  http::SignIns sign_ins_;
  AnswerWorker answer_worker_;
  HistoryFile history_file_;
  bool has_history_ = false;  // That of an earlier run was read.
  http::Api api_;
  http::Routes routes_;
  http::Http http_;
  std::vector<ConnId> changed_;
  bool has_asked_ = false;  // For a list of ended jobs.
};

}  // namespace perennial::perenniald
