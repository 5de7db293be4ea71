#include "cmd/perenniald/server/http_port.h"

#include <algorithm>
#include <utility>

#include "cmd/perenniald/loop/thread_time.h"
#include "cmd/perenniald/net/address_shares.h"
#include "cmd/perenniald/process/descriptors.h"
#include "cmd/perenniald/process/process.h"
#include "cmd/perenniald/server/access_control.h"
#include "cmd/perenniald/server/options.h"
#include "store/types/database_figures.h"

namespace perennial::perenniald {
namespace {

double in_seconds(Nanos time) {
  const Nanos ms = time / nanos_per_ms;
  return static_cast<double>(ms) / 1000;
}

void add_figures(http::ServerFacts& facts, const store::DatabaseFigures& figures) {
  using Figures = store::DatabaseFigures;
  for (size_t i = 0; i < figures.tickers.size(); ++i) {
    facts.tickers.emplace_back(Figures::ticker_names[i], figures.tickers[i]);
  }
  for (size_t i = 0; i < figures.properties.size(); ++i) {
    facts.properties.push_back(
        {.name = Figures::property_names[i], .value = figures.properties[i]});
  }
  for (size_t family = 0; family < store::family_count; ++family) {
    for (size_t i = 0; i < Figures::family_property_names.size(); ++i) {
      facts.properties.push_back({.name = Figures::family_property_names[i],
                                  .family = store::family_names[family],
                                  .value = figures.of_families[family][i]});
    }
    const bool is_bodies = static_cast<store::Family>(family) == store::Family::Bodies;
    (is_bodies ? facts.body_bytes : facts.state_bytes) +=
        figures.table_bytes(static_cast<store::Family>(family));
  }
  facts.log_bytes = figures.log_bytes;
}

void add_store(http::ServerFacts& facts, const store::Store& store) {
  facts.disk_free_bytes = store.disk_free_bytes();
  facts.disk_free_files = store.disk_free_files();
  facts.disk_low_water_bytes = store.options().low_water_bytes;
  add_figures(facts, store.figures());
  const store::ScrubFigures scrub = store.scrub_figures();
  facts.damaged_rows = store.damaged_rows().size();
  facts.scrub_bytes = scrub.bytes;
  facts.scrub_passes = scrub.passes;
}

// Called on the thread of the loop.
void add_threads(http::ServerFacts& facts, const Connections& connections,
                 const AnswerWorker& answer_worker) {
  facts.threads.push_back({.name = "loop",
                           .cpu_time = thread_cpu_time(::pthread_self()),
                           .connections = connections.count_on_loop()});
  if (const std::optional<Nanos> cpu_time = answer_worker.cpu_time()) {
    facts.threads.push_back({.name = "http", .cpu_time = *cpu_time});
  }
  if (connections.threads() == nullptr) return;
  for (const auto& thread : connections.threads()->all()) {
    const std::string& name = thread->name();
    facts.threads.push_back({.name = name.substr(name.find('-') + 1),
                             .cpu_time = thread->cpu_time(),
                             .connections = thread->sockets()});
  }
}

void free_text(AnswerWorker& worker, std::string text) {
  const auto kept = std::make_shared<std::string>(std::move(text));
  const auto free = [kept] {
    std::string().swap(*kept);
    return true;
  };
  worker.run({.step = free, .is_for_monitor = true});  // As it is short.
}

http::Limits limits_of(const Config& config, const Connections& connections, AnswerWorker& worker) {
  return {.message = {.body_bytes_max_of = &http::Api::body_bytes_max_of},
          .connections_max = config.http_connections_max,
          .per_address_max = config.http_connections_per_address_max,
          .must_stay =
              [&connections](ConnId conn) {
                return connections.is_unread(conn) || connections.takes_output(conn);
              },
          .output_bytes_max = config.output_total_bytes_max,
          .free_elsewhere = [&worker](std::string text) { free_text(worker, std::move(text)); },
          .hsts_seconds = config.http_hsts_seconds};
}

size_t kept_places(const BoundSocket& listener) {
  return listener.is_local() ? HttpPort::places_of_this_machine : 0;
}

}  // namespace

HttpPort::HttpPort(Host& host, const Parts& parts)
    : host_(host),
      parts_(parts),
      proxies_(proxies_of(parts.config)),
      queue_clients_(
          {.open = [this](ConnId conn, const access::ClientRights& rights) -> core::Session& {
             return parts_.core.open(conn, now(), rights);
           },
           .now = [this] { return now(); }}),
      sign_ins_(parts.core.gate(), [this] { return now(); }),
      answer_worker_(parts.loop),
      history_file_(parts.loop, parts.config.data_dir),
      api_(*this),
      routes_(*this, api_, http_hosts(parts.config)),
      http_(limits_of(parts.config, parts.connections, answer_worker_),
            [this](const http::Request& request, const access::ClientRights& rights) {
              return handle(request, rights);
            }) {}

bool HttpPort::has_slot(const BoundSocket& listener) const {
  return http_.has_slot(kept_places(listener));
}

size_t HttpPort::own_places(const BoundSocket& listener) const {
  return kept_places(listener) * (http_.has_idle() ? 2 : 1);
}

core::Session& HttpPort::open(ConnId conn, const AcceptedSocket& socket, const PeerIdentity* peer) {
  access::ClientRights rights = client_rights(parts_.config, socket, peer);
  rights.is_proxy = is_proxy(proxies_, socket);
  const std::string share = rights.is_proxy ? std::string() : share_of(socket);
  return http_.open(conn, now(), std::move(rights), share);
}

http::Http::Handled HttpPort::handle(const http::Request& request,
                                     const access::ClientRights& rights) {
  if (!rights.is_proxy) return routes_.handle(request, rights);
  const http::Forwarded client = http::forwarded_of(request, proxies_);
  return routes_.handle(request, forwarded_rights(parts_.config, client, rights));
}

// Requests come last in a turn, so that no worker waits for them, and a long one goes on in the
// next turn.
bool HttpPort::serve() {
  TurnClock& clock = parts_.clock;
  Nanos until = clock.turn_so_far() + TurnBudget::requests_max;
  while (http_.has_runnable() && clock.turn_so_far() < until) http_.run_next(clock.now());
  if (!http_.has_changed()) return !http_.has_runnable();
  http_.on_answers_ready(clock.actual());
  until = clock.turn_so_far() + TurnBudget::requests_max;
  do {
    http_.take_changed(changed_);
    for (const ConnId conn : changed_) parts_.connections.service(conn);
  } while (http_.has_changed() && clock.turn_so_far() < until);
  return !http_.has_runnable() && !http_.has_changed();
}

void HttpPort::on_second(bool has_engine) {
  http_.on_time(now());
  if (!has_engine) return;
  parts_.core.on_timer(now());  // What is read is as old as the engine's last input.
  if (!std::exchange(has_history_, true)) {
    if (const auto saved = history_file_.read()) api_.restore_history(*saved);
  }
  api_.on_time();
  if (history_file_.is_due(now())) history_file_.save(api_.saved_history());
}

void HttpPort::save_history() {
  if (has_history_) history_file_.save_now(api_.saved_history());
}

void HttpPort::audit(const access::AuditEvent& event) {
  log_audit(event);
  audit_lines_.add(event, now());
}

void HttpPort::refused(const access::AuditEvent& event, std::optional<access::Verb> missing) {
  parts_.core.gate().on_refused(event, missing, now());
}

ProcessFacts HttpPort::process() {
  ProcessFacts facts = host_.process_facts();
  facts.connections_refused = parts_.core.connections_refused();
  return facts;
}

http::Times HttpPort::times() {
  return {.commands = parts_.core.command_times(),
          .turns = parts_.clock.turns(),
          .requests = http_.request_times()};
}

http::TubeChoice HttpPort::tubes() {
  return metrics_tubes(parts_.config);
}

http::ServerFacts HttpPort::server() {
  core::Core& core = parts_.core;
  const HandshakeCounts& handshakes = parts_.connections.handshake_counts();
  const Nanos started_at = now() - parts_.clock.uptime();
  const Host::Recovery recovery = host_.recovery();
  http::ServerFacts facts = {
      .rocksdb_version = store::rocksdb_version(),
      .openssl_version = openssl_version(),
      .start_time = in_seconds(started_at),
      .recovery_took = recovery.took,
      .recovered_jobs = recovery.jobs,
      .resident_bytes = resident_bytes(),
      .descriptors_open = descriptors_open(),
      .descriptors_max = descriptors_max(),
      .ended_removed_early = core.ended_removed_early(),
      .access = core.gate().counts(),
      .answers = core.answer_counts(),
      .body_cache_bytes = core.body_cache_bytes(),
      .bytes_in = parts_.connections.queue_bytes().in,
      .bytes_out = parts_.connections.queue_bytes().out,
      .held = core.held_connections(),
      .commit_pending_bytes = core.pending_bytes(),
      .commit_oldest = host_.commit_age(),
      .handshakes_full = handshakes.full,
      .handshakes_resumed = handshakes.resumed,
      .handshakes_failed = handshakes.failed,
      .reload_success = parts_.settings.is_current(),
      .reload_time = in_seconds(std::max(started_at, parts_.settings.reloaded_at()))};
  if (const store::Store* const store = host_.store()) add_store(facts, *store);
  add_threads(facts, parts_.connections, answer_worker_);
  for (auto& [listener, expires_at] : parts_.tls.certificate_ends()) {
    facts.certificates.push_back({std::move(listener), expires_at});
  }
  return facts;
}

http::ServerLimits HttpPort::limits() {
  const Config& config = parts_.config;
  const store::Store* const store = host_.store();
  return {.connections_max = host_.connections_max(),
          .jobs_max = config.jobs_max,
          .tubes_max = config.tubes_max,
          .keys_max = config.keys_max,
          .memory_bytes_max = config.memory_bytes_max,
          .disk_low_water_bytes = store == nullptr ? 0 : store->options().low_water_bytes};
}

void HttpPort::find_in_bodies(std::vector<JobId> jobs, BodySearch::Test is_wanted,
                              BodySearch::Done done) {
  parts_.bodies.search().start(*host_.store(), std::move(jobs), std::move(is_wanted),
                               std::move(done));
}

// Core gives the read to the pool when the reads of the next turn begin.
void HttpPort::list_ended(EndedGroupsQuery query, std::function<void(EndedGroupsPage)> done) {
  has_asked_ = true;
  parts_.core.list_ended_groups(std::move(query), std::move(done));
}

bool HttpPort::take_has_spoken() {
  const bool has_asked = std::exchange(has_asked_, false);
  return queue_clients_.take_has_spoken() || has_asked;
}

http::HealthFacts HttpPort::health() {
  const store::Store* const store = host_.store();
  return {.commit_age = host_.commit_age(),
          .is_recovered = host_.has_jobs(),
          .is_draining = host_.is_draining(),
          .is_stopping = host_.is_stopping(),
          .accepts_puts = parts_.core.disk_accepts_puts(),
          .jobs_without_body = parts_.bodies.damage().lost_count(),
          .damaged_rows = store == nullptr ? 0 : store->damaged_rows().size(),
          .is_table_damaged = parts_.checkpoints.is_damaged()};
}

http::ClusterHealth HttpPort::cluster_health() {
  return parts_.node.health(host_.has_jobs(), host_.is_stopping());
}

std::optional<http::Http::Handled> HttpPort::answer_node(const http::Request& request) {
  return parts_.node.answer(request);
}

}  // namespace perennial::perenniald
