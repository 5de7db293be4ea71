#include "cmd/perenniald/http/server_metrics.h"

#include <tuple>

namespace perennial::http {
namespace {

void add_process(MetricsWriter& out, const ProcessFacts& process, const ServerFacts& server) {
  out.family("perennial_build", MetricType::Info, "",
             "The versions of the server and of its libraries.");
  out.sample(1, {{"version", process.version},
                 {"rocksdb", server.rocksdb_version},
                 {"openssl", server.openssl_version}});
  out.single("perennial_uptime_seconds", MetricType::Gauge, "seconds", "The time since the start.",
             in_seconds(process.uptime));
  out.single("perennial_process_cpu_seconds", MetricType::Counter, "seconds", "Processor time.",
             in_seconds(process.user_time + process.system_time));
  out.single("perennial_process_start_time_seconds", MetricType::Gauge, "seconds",
             "When the process started, since the epoch.", server.start_time);
  out.single("perennial_process_resident_memory_bytes", MetricType::Gauge, "bytes",
             "Memory of the process that is in RAM.", server.resident_bytes);
  if (server.descriptors_open) {
    out.single("perennial_process_open_fds", MetricType::Gauge, "", "Open file descriptors.",
               *server.descriptors_open);
  }
  out.single("perennial_process_max_fds", MetricType::Gauge, "", "The limit of file descriptors.",
             server.descriptors_max);
}

void add_jobs(MetricsWriter& out, const EngineStats& stats, const TubeCollector& tubes) {
  out.family("perennial_jobs", MetricType::Gauge, "", "Jobs by state.");
  add_states(out, stats.jobs, nullptr);
  out.single("perennial_urgent_jobs", MetricType::Gauge, "",
             "Ready jobs whose priority is below 1024.", stats.jobs.urgent);
  out.single("perennial_jobs_bytes", MetricType::Gauge, "bytes", "The bodies of all jobs.",
             stats.body_bytes);
  out.single("perennial_jobs_put", MetricType::Counter, "", "Jobs that were put since the start.",
             stats.puts);
  out.single("perennial_jobs_timeouts", MetricType::Counter, "",
             "Reservations whose time was over.", stats.job_timeouts);
  out.single("perennial_jobs_damaged", MetricType::Counter, "",
             "Jobs that were buried because their body on disk is damaged.", stats.jobs_damaged);
  out.single("perennial_jobs_duplicate", MetricType::Counter, "",
             "Puts that were answered with the job that has their key.", stats.jobs_duplicate);
  out.single("perennial_jobs_dead", MetricType::Counter, "", "Jobs whose attempts were used up.",
             stats.jobs_dead);
  out.single("perennial_jobs_expired", MetricType::Counter, "",
             "Jobs that nobody reserved in time.", stats.jobs_expired);
  out.single("perennial_keys", MetricType::Gauge, "",
             "Keys of jobs that keep another job with the same key from being put.", stats.keys);
  out.single("perennial_jobs_parked", MetricType::Gauge, "",
             "Ready jobs that wait for their concurrency key.", stats.jobs_parked);
  out.single("perennial_jobs_reserved", MetricType::Counter, "", "Reservations of jobs.",
             stats.job_ends.reserved);
  out.single("perennial_jobs_deleted", MetricType::Counter, "",
             "Jobs that clients deleted, by delete, delete-batch or flush-tube.",
             stats.job_ends.deleted);
  out.single("perennial_jobs_released", MetricType::Counter, "", "Jobs that workers released.",
             stats.job_ends.released);
  out.single("perennial_jobs_buried", MetricType::Counter, "",
             "Jobs that were buried: by a worker, after their last attempt, or as damaged.",
             stats.job_ends.buried);
  out.single("perennial_jobs_kicked", MetricType::Counter, "", "Jobs that were kicked.",
             stats.job_ends.kicked);
  out.single("perennial_oldest_ready_seconds", MetricType::Gauge, "seconds",
             "The longest of all tubes. " + std::string(oldest_ready_meaning),
             in_seconds(tubes.oldest_ready()));
  out.single("perennial_oldest_buried_seconds", MetricType::Gauge, "seconds",
             "The time since the put of the job that was buried first in its tube, the longest of "
             "all tubes.",
             in_seconds(tubes.oldest_buried()));
}

void add_schedules(MetricsWriter& out, const ScheduleCounts& schedules) {
  out.single("perennial_schedules", MetricType::Gauge, "", "Schedules that are set.",
             schedules.schedules);
  out.single("perennial_schedules_refused", MetricType::Gauge, "",
             "Schedules whose put is being refused and tried again.", schedules.refused);
  out.single("perennial_schedules_fired", MetricType::Counter, "", "Jobs that schedules have put.",
             schedules.fired);
  out.single("perennial_schedules_skipped", MetricType::Counter, "",
             "Planned times without a job, because the last one was still there or the key was "
             "taken.",
             schedules.skipped);
  out.single("perennial_schedules_missed", MetricType::Counter, "",
             "Planned times without a job, because they were missed.", schedules.missed);
}

void add_work(MetricsWriter& out, const WorkTimes& times) {
  out.family(
      "perennial_job_wait_seconds", MetricType::Histogram, "seconds",
      "From the time when a job became ready to its reservation. A job that was reserved at a "
      "restart became ready by it.");
  out.histogram(times.wait.view(), nanos_to_seconds);
  out.family("perennial_job_run_seconds", MetricType::Histogram, "seconds",
             "From the reservation of a job to its end, by what ended it.");
  for (size_t i = 0; i < times.run.size(); ++i) {
    out.histogram(times.run[i].view(), nanos_to_seconds, {{"outcome", run_end_names[i]}});
  }
}

void add_commands(MetricsWriter& out, const EngineStats& stats, const Times& times) {
  out.family("perennial_commands", MetricType::Counter, "", "Commands that were run.");
  size_t row = 0;
  std::apply(
      [&](const auto&... rows) {
        const auto add = [&](const auto& each) {
          if (!each.stats_key.empty()) {
            out.sample(stats.commands.at(row), {{"command", each.word()}});
          }
          ++row;
        };
        (add(rows), ...);
      },
      command_rows);
  out.family("perennial_command_seconds", MetricType::Histogram, "seconds",
             "From the turn that runs a command to the time when its answer may leave. A reserve "
             "that waits for a job counts from the time when the job is there.");
  for (size_t i = 0; i < times.commands.size(); ++i) {
    out.histogram(times.commands[i].view(), nanos_to_seconds,
                  {{"command", core::command_kind_names[i]}});
  }
}

void add_refusals(MetricsWriter& out, const EngineStats& stats, const core::AnswerCounts& answers) {
  out.family("perennial_command_errors", MetricType::Counter, "",
             "Commands that were answered with an error, by its word.");
  for (const Word word : core::error_words) {
    out.sample(answers.errors(word), {{"reply", row_of(word).text}});
  }
  const auto refused = [&](PutRefusal why) { return stats.puts_refused[static_cast<size_t>(why)]; };
  const std::pair<std::string_view, uint64_t> reasons[] = {
      {"disk", answers.puts_refused.disk},
      {"memory", answers.puts_refused.memory},
      {"jobs", refused(PutRefusal::Jobs)},
      {"keys", refused(PutRefusal::Keys)},
      {"tubes", refused(PutRefusal::Tubes)},
      {"draining", refused(PutRefusal::Draining)},
      {"size", refused(PutRefusal::Size)},
      {"crlf", refused(PutRefusal::Crlf)},
      {"forbidden", answers.puts_refused.forbidden},
      {"unauthorized", answers.puts_refused.unauthorized}};
  out.family("perennial_puts_refused", MetricType::Counter, "",
             "Puts that made no job, by what is in their way. A put-batch counts once.");
  for (const auto& [reason, count] : reasons) out.sample(count, {{"reason", reason}});
}

void add_clients(MetricsWriter& out, const EngineStats& stats, const ProcessFacts& process,
                 const ServerFacts& server) {
  out.single("perennial_tubes", MetricType::Gauge, "", "Tubes.", stats.tubes);
  out.family("perennial_connections", MetricType::Gauge, "",
             "Connections: all, and those that have put, reserved, or wait for a job.");
  out.sample(stats.connections, {{"role", "all"}});
  out.sample(stats.producers, {{"role", "producer"}});
  out.sample(stats.workers, {{"role", "worker"}});
  out.sample(stats.waiting, {{"role", "waiting"}});
  out.single("perennial_connections_accepted", MetricType::Counter, "",
             "Connections since the start.", stats.total_connections);
  out.family("perennial_connections_refused", MetricType::Counter, "",
             "Connections that the server has closed: they spoke another protocol, or did not show "
             "who they are.");
  out.sample(process.connections_refused, {{"reason", "protocol"}});
  for (size_t i = 0; i < access::sign_in_refusal_names.size(); ++i) {
    out.sample(server.access.refused[i], {{"reason", access::sign_in_refusal_names[i]}});
  }
  out.family("perennial_connections_held", MetricType::Gauge, "",
             "Connections that are not read: their answers have not left, or their put waits for "
             "the log.");
  out.sample(server.held.output, {{"reason", "output"}});
  out.sample(server.held.pending, {{"reason", "pending"}});
  out.family("perennial_bytes", MetricType::Counter, "bytes",
             "Bytes that clients of the queue have sent, and that have left to them, without TLS.");
  out.sample(server.bytes_in, {{"direction", "in"}});
  out.sample(server.bytes_out, {{"direction", "out"}});
  out.single("perennial_draining", MetricType::Gauge, "", "1 while puts are refused by drain.",
             stats.draining ? 1 : 0);
}

// Each beside its use, so that the share is a division.
void add_limits(MetricsWriter& out, const ServerLimits& limits) {
  out.single("perennial_connections_max", MetricType::Gauge, "",
             "The limit of perennial_connections; 0: none.", limits.connections_max);
  out.single("perennial_jobs_max", MetricType::Gauge, "",
             "The limit of all jobs of perennial_jobs together; 0: none.", limits.jobs_max);
  out.single("perennial_tubes_max", MetricType::Gauge, "", "The limit of perennial_tubes; 0: none.",
             limits.tubes_max);
  out.single("perennial_keys_max", MetricType::Gauge, "", "The limit of perennial_keys; 0: none.",
             limits.keys_max);
  out.single("perennial_memory_max_bytes", MetricType::Gauge, "bytes",
             "The limit of perennial_memory_bytes; 0: none.", limits.memory_bytes_max);
}

void add_security(MetricsWriter& out, const ServerFacts& server) {
  out.family("perennial_auth", MetricType::Counter, "",
             "Clients that showed who they are, wrong tokens, and what an address with too many of "
             "them was not asked. Requests of HTTP count each.");
  for (size_t i = 0; i < access::sign_in_method_names.size(); ++i) {
    const std::string_view method = access::sign_in_method_names[i];
    const access::SignInCounts& counts = server.access.sign_ins[i];
    out.sample(counts.ok, {{"method", method}, {"result", "ok"}});
    if (!access::has_secret(static_cast<access::SignInMethod>(i))) continue;
    out.sample(counts.failed, {{"method", method}, {"result", "failed"}});
    out.sample(counts.limited, {{"method", method}, {"result", "limited"}});
  }
  out.family("perennial_forbidden", MetricType::Counter, "",
             "Commands that no grant allows, by the verb that would have allowed them.");
  for (size_t i = 0; i < access::verb_rows.size(); ++i) {
    out.sample(server.access.forbidden[i], {{"verb", access::verb_rows[i].name}});
  }
  out.family("perennial_tls_handshakes", MetricType::Counter, "",
             "Handshakes of TLS. A client that leaves without a word is not counted.");
  out.sample(server.handshakes_full, {{"result", "full"}});
  out.sample(server.handshakes_resumed, {{"result", "resumed"}});
  out.sample(server.handshakes_failed, {{"result", "failed"}});
  if (!server.certificates.empty()) {
    out.family("perennial_tls_certificate_expiry_seconds", MetricType::Gauge, "seconds",
               "When the certificate of a listener expires, since the epoch.");
  }
  for (const ServerFacts::Certificate& each : server.certificates) {
    out.sample(each.expires_at, {{"listener", each.listener}});
  }
  out.single("perennial_config_reload_success", MetricType::Gauge, "",
             "1 if the files of users and of TLS could be used when they were read last.",
             server.reload_success ? 1 : 0);
  out.single("perennial_config_reload_time_seconds", MetricType::Gauge, "seconds",
             "When these files could be used last, since the epoch.", server.reload_time);
}

void add_store(MetricsWriter& out, const StoreFacts& store, const ServerFacts& server,
               bool accepts_puts) {
  out.family("perennial_store_state", MetricType::Gauge, "",
             "1 for the state that the store has, and 0 for each other one.");
  for (const std::string_view state : store_states) {
    out.sample(state == store.state ? 1 : 0, {{"state", state}});
  }
  out.single("perennial_damaged_blocks", MetricType::Gauge, "",
             "Blocks of bodies, notes and ended jobs on disk that were found damaged.",
             store.damaged_blocks);
  out.single("perennial_damaged_rows", MetricType::Gauge, "",
             "Blocks with rows of jobs, tubes or keys that were found damaged on disk. They are "
             "whole in memory, and the next start is refused.",
             server.damaged_rows);
  out.single("perennial_scrub_bytes", MetricType::Counter, "bytes",
             "Tables that were read again to find damage.", server.scrub_bytes);
  out.single("perennial_scrub_passes", MetricType::Counter, "",
             "How often all tables were read again.", server.scrub_passes);
  out.single("perennial_jobs_without_body", MetricType::Gauge, "",
             "Jobs whose bodies were in damaged blocks, and that are buried.",
             store.jobs_without_body);
  out.single("perennial_puts_accepted", MetricType::Gauge, "",
             "1 while the disk has space for jobs.", accepts_puts ? 1 : 0);
  out.single("perennial_transitions_committed", MetricType::Counter, "",
             "Transitions on disk since the start.", store.records_written);
  out.single("perennial_commit_pending_bytes", MetricType::Gauge, "bytes",
             "The batches that are not committed.", server.commit_pending_bytes);
  out.single("perennial_commit_oldest_seconds", MetricType::Gauge, "seconds",
             "How long the log has been writing its batch; 0: it writes none.",
             in_seconds(server.commit_oldest));
  out.single("perennial_sync_p99_seconds", MetricType::Gauge, "seconds",
             "The 99th percentile of recent syncs.", static_cast<double>(store.sync_us_p99) / 1e6);
  out.single("perennial_batch_jobs_mean", MetricType::Gauge, "", "Jobs in a batch, on average.",
             store.batch_jobs_mean);
  out.family("perennial_sync_seconds", MetricType::Histogram, "seconds",
             "How long a batch took to be written and synced, or a sync alone.");
  out.histogram(store.batches.syncs.view(), nanos_to_seconds);
  out.family("perennial_batch_jobs", MetricType::Histogram, "", "Jobs that a batch changed.");
  out.histogram(store.batches.jobs.view(), 1);
  out.family("perennial_batch_bytes", MetricType::Histogram, "bytes", "The size of a batch.");
  out.histogram(store.batches.bytes.view(), 1);
  out.single("perennial_recovery_seconds", MetricType::Gauge, "seconds",
             "How long the start took to read the data directory.",
             in_seconds(server.recovery_took));
  out.single("perennial_recovered_jobs", MetricType::Gauge, "", "The jobs that it found.",
             server.recovered_jobs);
  out.single("perennial_disk_free_bytes", MetricType::Gauge, "bytes",
             "Free space of the disk of the data directory.", server.disk_free_bytes);
  out.single("perennial_disk_low_water_bytes", MetricType::Gauge, "bytes",
             "Puts are refused when less space than this is free. 0: never.",
             server.disk_low_water_bytes);
  out.single(
      "perennial_ended_jobs_removed_early", MetricType::Counter, "",
      "Ended jobs that went before their time, or were not kept at all, because the disk was "
      "short of space.",
      server.ended_removed_early);
  if (!server.disk_free_files) return;
  out.single("perennial_disk_free_files", MetricType::Gauge, "",
             "How many more files the disk of the data directory can hold: its free inodes.",
             *server.disk_free_files);
}

void add_database(MetricsWriter& out, const ServerFacts& server) {
  out.family("perennial_data_bytes", MetricType::Gauge, "bytes",
             "The size of the data directory on disk: the log, and the tables of bodies and of "
             "what else is known of jobs.");
  out.sample(server.log_bytes, {{"kind", "log"}});
  out.sample(server.body_bytes, {{"kind", "bodies"}});
  out.sample(server.state_bytes, {{"kind", "state"}});
  out.family("perennial_rocksdb_ticker", MetricType::Counter, "", "What RocksDB counts.");
  for (const auto& [name, value] : server.tickers) out.sample(value, {{"name", name}});
  out.family("perennial_rocksdb_property", MetricType::Gauge, "",
             "What RocksDB says of itself, and of its families.");
  for (const ServerFacts::Property& each : server.properties) {
    if (each.family.empty()) {
      out.sample(each.value, {{"name", each.name}});
    } else {
      out.sample(each.value, {{"name", each.name}, {"family", each.family}});
    }
  }
}

void add_body_cache(MetricsWriter& out, const ServerFacts& server) {
  out.single("perennial_body_cache_bytes", MetricType::Gauge, "bytes", "Bodies in memory.",
             server.body_cache_bytes);
  out.single("perennial_body_cache_hits", MetricType::Counter, "",
             "Answers with a body that was in memory.", server.answers.bodies_found);
  out.single("perennial_body_cache_misses", MetricType::Counter, "",
             "Answers with a body that was not there.", server.answers.bodies_missed);
}

void add_loop(MetricsWriter& out, MetricSources& sources, const ProcessFacts& process,
              const ServerFacts& server, const Times& times) {
  out.single("perennial_loop_lag_seconds", MetricType::Gauge, "seconds",
             "The longest of the recent turns of the loop.",
             static_cast<double>(process.loop_lag_us) / 1e6);
  out.single("perennial_memory_bytes", MetricType::Gauge, "bytes",
             "Memory of jobs, bodies and connections.", sources.memory_bytes());
  out.single("perennial_output_bytes", MetricType::Gauge, "bytes", "Answers that have not left.",
             sources.output_bytes());
  out.single("perennial_checkpoint_age_seconds", MetricType::Gauge, "seconds",
             "The age of the newest complete checkpoint; -1: there is none.",
             process.checkpoint_age_s);
  out.family(
      "perennial_thread_cpu_seconds", MetricType::Counter, "seconds",
      "Processor time of the thread of the loop, of those that move bytes, and of that which "
      "makes long texts.");
  for (const ServerFacts::Thread& each : server.threads) {
    out.sample(nanos_to_seconds * static_cast<double>(each.cpu_time), {{"thread", each.name}});
  }
  out.family("perennial_thread_connections", MetricType::Gauge, "",
             "Connections whose bytes the thread moves.");
  for (const ServerFacts::Thread& each : server.threads) {
    out.sample(each.connections, {{"thread", each.name}});
  }
  out.family("perennial_loop_turn_seconds", MetricType::Histogram, "seconds",
             "How long a turn of the loop worked before it blocked again.");
  out.histogram(times.turns.view(), nanos_to_seconds);
}

void add_http(MetricsWriter& out, MetricSources& sources, const Times& times) {
  out.family("perennial_http_requests", MetricType::Counter, "", "Requests to this port.");
  for (const auto& [request, count] : sources.requests()) {
    out.sample(count, {{"route", request.first}, {"code", fmt::format("{}", request.second)}});
  }
  out.single("perennial_http_events", MetricType::Gauge, "", "Streams of events that are open.",
             sources.event_streams());
  out.single("perennial_leases", MetricType::Gauge, "", "Jobs that are reserved over this port.",
             sources.leases().given);
  out.single("perennial_leases_max", MetricType::Gauge, "",
             "How many leases there may be, with those that are waited for.", sources.leases().max);
  out.family("perennial_http_request_seconds", MetricType::Histogram, "seconds",
             "From the turn that reads a request to the end of its answer.");
  out.histogram(times.requests.view(), nanos_to_seconds);
}

}  // namespace

void add_server_metrics(MetricsWriter& out, MetricSources& sources, const TubeCollector& tubes) {
  const EngineStats stats = sources.engine().statistics();
  const ProcessFacts process = sources.process();
  const StoreFacts store = sources.store();
  const ServerFacts server = sources.server();
  const Times times = sources.times();
  add_process(out, process, server);
  add_jobs(out, stats, tubes);
  add_schedules(out, stats.schedules);
  add_work(out, sources.engine().work_times());
  add_commands(out, stats, times);
  add_refusals(out, stats, server.answers);
  add_clients(out, stats, process, server);
  add_limits(out, sources.limits());
  add_security(out, server);
  add_store(out, store, server, sources.accepts_puts());
  add_database(out, server);
  add_body_cache(out, server);
  add_loop(out, sources, process, server, times);
  add_http(out, sources, times);
  if (const auto cluster = sources.cluster_facts()) add_cluster(out, *cluster);
  out.single("perennial_tubes_unlisted", MetricType::Gauge, "",
             "Tubes that are summed up as {other}.", tubes.unlisted());
}

void add_standby_metrics(MetricsWriter& out, MetricSources& sources) {
  const ServerFacts server = sources.server();
  add_process(out, sources.process(), server);
  add_security(out, server);
  add_http(out, sources, sources.times());
  if (const auto cluster = sources.cluster_facts()) add_cluster(out, *cluster);
}

}  // namespace perennial::http
