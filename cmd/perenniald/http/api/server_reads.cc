#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "cmd/perenniald/http/api/answers.h"
#include "cmd/perenniald/http/api/api.h"
#include "cmd/perenniald/http/api/fields.h"
#include "cmd/perenniald/http/api/json.h"
#include "cmd/perenniald/http/api/row_text.h"

// What the API says of the server as a whole.
namespace perennial::http {
namespace {

using access::Verb;

// 0: there is no such limit.
Json limit_json(uint64_t limit) {
  return limit == 0 ? Json(nullptr) : Json(limit);
}

// Null: it is part of no cluster.
Json cluster_json(const ClusterHealth& health) {
  if (!health.is_node) return nullptr;
  return {{"node", health.node},
          {"leads", health.leads},
          {"lag", health.lag},
          {"append_failure",
           health.append_failure.empty() ? Json(nullptr) : Json(health.append_failure)}};
}

double mean_seconds(const LatencyHistogram& times) {
  if (times.count() == 0) return 0;
  return times.view().sum * nanos_to_seconds / static_cast<double>(times.count());
}

// What the leader of a cluster knows of it. Null: it is part of no cluster.
Json cluster_details(const ClusterHealth& health, const std::optional<ClusterFacts>& facts) {
  if (!health.is_node || !facts) return nullptr;
  return {{"name", health.name},
          {"node", health.node},
          {"leads", health.leads},
          {"epoch", facts->epoch},
          {"newest", facts->newest},
          {"applied", facts->applied},
          {"flushed", facts->flushed},
          {"append_mean_seconds", mean_seconds(facts->appends)},
          {"append_failure",
           health.append_failure.empty() ? Json(nullptr) : Json(health.append_failure)},
          {"standbys", facts->standbys},
          {"standby_lag", facts->standby_lag},
          {"clock_ahead_seconds", in_seconds(facts->clock_ahead)},
          {"etcd_alarms_no_space", facts->alarms_no_space},
          {"etcd_alarms_corrupt", facts->alarms_corrupt},
          {"settings_differ", facts->settings_differ}};
}

// The counts of the buckets, and of what lies beyond the last one.
Json counts_of(const HistogramView& view) {
  Json counts = Json::array();
  for (const uint64_t count : view.counts) counts.push_back(count);
  return {{"counts", counts}, {"sum_seconds", view.sum * nanos_to_seconds}};
}

}  // namespace

Json Api::server_json() const {
  const EngineStats stats = sources_.engine().statistics();
  const ProcessFacts process = sources_.process();
  const StoreFacts store = sources_.store();
  const ServerLimits limits = sources_.limits();
  return {
      {"version", process.version},
      {"instance", process.instance_id},
      {"hostname", process.hostname},
      {"uptime_seconds", in_seconds(process.uptime)},
      {"jobs", counts_json(stats.jobs)},
      {"parked", stats.jobs_parked},
      {"oldest_ready_seconds", in_seconds(history_.oldest_ready(sources_.now()))},
      {"totals",
       {{"puts", stats.puts},
        {"deletes", stats.job_ends.deleted},
        {"reserves", stats.job_ends.reserved},
        {"timeouts", stats.job_timeouts},
        {"damaged", stats.jobs_damaged},
        {"duplicates", stats.jobs_duplicate},
        {"dead", stats.jobs_dead},
        {"expired", stats.jobs_expired}}},
      {"connections",
       {{"all", stats.connections},
        {"producers", stats.producers},
        {"workers", stats.workers},
        {"waiting", stats.waiting}}},
      {"tubes", stats.tubes},
      {"schedules", {{"all", stats.schedules.schedules}, {"refused", stats.schedules.refused}}},
      {"draining", stats.draining},
      {"store",
       {{"state", store.state},
        {"damaged_blocks", store.damaged_blocks},
        {"jobs_without_body", store.jobs_without_body},
        {"accepts_puts", sources_.accepts_puts()},
        {"durability", store.durability},
        {"sync_p99_seconds", static_cast<double>(store.sync_us_p99) / 1e6},
        {"transitions", store.records_written},
        {"checkpoint_age_seconds", process.checkpoint_age_s}}},
      {"limits",
       {{"connections_max", limit_json(limits.connections_max)},
        {"jobs_max", limit_json(limits.jobs_max)},
        {"tubes_max", limit_json(limits.tubes_max)},
        {"keys_max", limit_json(limits.keys_max)},
        {"memory_bytes_max", limit_json(limits.memory_bytes_max)},
        {"disk_low_water_bytes", limit_json(limits.disk_low_water_bytes)},
        {"disk_free_bytes", store.disk_free_bytes}}},
      {"cluster", cluster_json(sources_.cluster_health())},
      {"loop_lag_seconds", static_cast<double>(process.loop_lag_us) / 1e6},
      {"memory_bytes", sources_.memory_bytes()},
      {"cpu_seconds", in_seconds(process.user_time + process.system_time)},
      {"job_bytes_max", process.job_bytes_max},
  };
}

Json Api::server_json(const Caller& caller) const {
  Json value = server_json();
  value["may"] = may_json(caller);
  value["user"] = user_json(caller);
  return value;
}

// What this server is while it has no jobs to show, and whom to ask instead.
Api::Made Api::node(const Ask& ask) {
  const ClusterHealth health = sources_.cluster_health();
  const bool is_standby = health.is_node && !health.is_elected;
  Json value = {{"state", sources_.is_loaded() ? "serving"
                          : is_standby         ? "standby"
                                               : "loading"},
                {"cluster", nullptr}};
  if (!health.is_node) return answer_with(value);
  Json leader = nullptr;
  if (!health.leader.empty()) {
    leader = {{"node", health.leader},
              {"client_address", health.leader_address},
              {"url", health.leader_url.empty() ? Json(nullptr) : Json(health.leader_url)}};
  }
  Json log = nullptr;
  if (ask.caller.may(Verb::Monitor)) {
    const ClusterFacts facts = sources_.cluster_facts().value_or(ClusterFacts());
    log = {{"epoch", facts.epoch},
           {"read", facts.newest},
           {"applied", facts.applied},
           {"flushed", facts.flushed},
           {"forwarded_connections", facts.forwarded}};
  }
  value["cluster"] = {{"name", health.name},
                      {"node", health.node},
                      {"leader", leader},
                      {"forwards", health.forwards},
                      {"log", log}};
  return answer_with(value);
}

Api::Made Api::server(const Ask& ask) {
  return answer_with(server_json(ask.caller));
}

namespace {

// A page of connections, some rows in each step.
class ConnectionsAnswer final : public Answer {
 public:
  // `ids`: those of the page.
  ConnectionsAnswer(ApiSources& sources, std::vector<ConnId> ids, bool is_last)
      : sources_(sources), ids_(std::move(ids)), is_last_(is_last) {}

  Step step() override {
    const size_t end = std::min(next_ + RowText::rows_per_step, ids_.size());
    for (; next_ < end; ++next_) {
      const auto stats = sources_.engine().connection_statistics(ids_[next_]);
      if (stats) text_.add(row(*stats));
    }
    return next_ == ids_.size() ? Step::Whole : Step::Again;
  }
  Response take() override {
    return text_.response(
        "connections", {{"next", is_last_ ? Json(nullptr) : Json(fmt::format("{}", ids_.back()))}});
  }

 private:
  Json row(const ConnStats& stats) const {
    const std::string_view user = sources_.user_of(stats.id);
    return {{"id", fmt::format("{}", stats.id)},
            {"address", sources_.address_of(stats.id)},
            {"user", user.empty() ? Json(nullptr) : Json(user)},
            {"used", stats.used},
            {"watched", stats.watched},
            {"watched_count", stats.watched_count},
            {"held", stats.held},
            {"producer", stats.is_producer},
            {"worker", stats.is_worker},
            {"waiting", stats.is_waiting},
            {"output_bytes", sources_.output_bytes_of(stats.id)}};
  }

  ApiSources& sources_;
  const std::vector<ConnId> ids_;
  const bool is_last_;
  size_t next_ = 0;
  RowText text_;
};

}  // namespace

Api::Made Api::connections(const Ask& ask) {
  Query query(ask.request.query);
  const uint64_t limit = query.number("limit", page_default, 1, page_max);
  const uint64_t after = query.number("after", 0, 0, UINT64_MAX);
  if (!query.problem().empty()) return refuse(Status::BadRequest, query.problem());
  std::vector<ConnId> ids = sources_.engine().connections();
  std::erase_if(ids, [&](ConnId id) { return id <= after; });
  const size_t shown = std::min<size_t>(limit, ids.size());
  std::ranges::partial_sort(ids, ids.begin() + static_cast<ptrdiff_t>(shown));
  const bool is_last = shown == ids.size();
  ids.resize(shown);
  return std::make_unique<ConnectionsAnswer>(sources_, std::move(ids), is_last);
}

Api::Made Api::configuration(const Ask& /*ask*/) {
  return answer_with({{"yaml", sources_.configuration()}});
}

// What is too dear to be told every second.
Api::Made Api::server_details(const Ask& /*ask*/) {
  const StoreFacts store = sources_.store();
  const ServerFacts facts = sources_.server();
  const Nanos now = sources_.now();
  Json certificates = Json::array();
  for (const ServerFacts::Certificate& each : facts.certificates) {
    certificates.push_back(
        {{"listener", each.listener},
         {"left_seconds", static_cast<double>(each.expires_at) - in_seconds(now)}});
  }
  return answer_with(
      {{"rocksdb_version", facts.rocksdb_version},
       {"openssl_version", facts.openssl_version},
       {"resident_bytes", facts.resident_bytes},
       {"descriptors_open", facts.descriptors_open ? Json(*facts.descriptors_open) : Json(nullptr)},
       {"descriptors_max", facts.descriptors_max},
       {"disk_free_bytes", facts.disk_free_bytes},
       {"disk_free_files", facts.disk_free_files ? Json(*facts.disk_free_files) : Json(nullptr)},
       {"store",
        {{"log_files", store.log_current_index - store.log_oldest_index + 1},
         {"log_bytes_max", store.log_bytes_max},
         {"batches", store.batches.jobs.count()},
         {"batch_bytes", store.batches.bytes.view().sum},
         {"batch_jobs_mean", store.batch_jobs_mean}}},
       {"cluster", cluster_details(sources_.cluster_health(), sources_.cluster_facts())},
       {"certificates", certificates},
       {"files_in_use", facts.reload_success}});
}

Api::Made Api::audit(const Ask& /*ask*/) {
  return answer_with({{"lines", sources_.audit_lines().to_json(sources_.now())}});
}

// The buckets are those of /metrics. Percentiles are for the reader to make: those of several
// servers cannot be added up.
Api::Made Api::work_times(const Ask& /*ask*/) {
  const WorkTimes& times = sources_.engine().work_times();
  Json bounds = Json::array();
  for (const uint64_t bound : times.wait.view().bounds) {
    bounds.push_back(in_seconds(static_cast<Nanos>(bound)));
  }
  Json run = Json::object();
  for (size_t i = 0; i < times.run.size(); ++i) {
    run[std::string(run_end_names[i])] = counts_of(times.run[i].view());
  }
  return answer_with(
      {{"bounds_seconds", bounds}, {"wait", counts_of(times.wait.view())}, {"run", run}});
}

}  // namespace perennial::http
