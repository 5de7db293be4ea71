#include "cmd/perenniald/http/metrics.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "wire/stats.h"

namespace perennial::http {
namespace {

constexpr size_t tubes_per_step = 500;
// No tube has braces in its name.
constexpr std::string_view other_tubes = "{other}";

enum class Type : uint8_t { Counter, Gauge, Info };

// Writes families in one of the two formats. All samples of a family come behind its head.
class Writer {
 public:
  explicit Writer(bool open_metrics) : open_(open_metrics) {}

  // `name` is without "_total". `unit` is its last word, or empty.
  void family(std::string_view name, Type type, std::string_view unit, std::string_view help) {
    name_ = name;
    suffix_ = type == Type::Counter ? "_total" : type == Type::Info ? "_info" : "";
    constexpr std::string_view names[] = {"counter", "gauge", "info"};
    // In the old format a family has the name of its samples, and there is no type for info.
    const std::string family = open_ ? name_ : fmt::format("{}{}", name_, suffix_);
    const std::string_view type_name =
        type == Type::Info && !open_ ? "gauge" : names[static_cast<size_t>(type)];
    out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", family, help, family, type_name);
    if (open_ && !unit.empty()) out_ += fmt::format("# UNIT {} {}\n", family, unit);
  }
  // `labels`: pairs of names and values.
  template <typename Value>
  void sample(Value value,
              std::initializer_list<std::pair<std::string_view, std::string_view>> labels = {}) {
    out_ += name_;
    out_ += suffix_;
    char before = '{';
    for (const auto& [name, text] : labels) {
      out_ += before;
      out_ += name;
      out_ += "=\"";
      add_escaped(text);
      out_ += '"';
      before = ',';
    }
    if (labels.size() > 0) out_ += '}';
    fmt::format_to(std::back_inserter(out_), " {}\n", value);
  }
  template <typename Value>
  void single(std::string_view name, Type type, std::string_view unit, std::string_view help,
              Value value) {
    family(name, type, unit, help);
    sample(value);
  }
  std::string take() {
    if (open_) out_ += "# EOF\n";
    return std::move(out_);
  }

 private:
  void add_escaped(std::string_view text) {
    for (const char c : text) {
      if (c == '\n') {
        out_ += "\\n";
      } else {
        if (c == '"' || c == '\\') out_ += '\\';
        out_ += c;
      }
    }
  }

  const bool open_;
  std::string name_;
  std::string_view suffix_;
  std::string out_;
};

double seconds(Nanos time) {
  return static_cast<double>(time) / static_cast<double>(nanos_per_second);
}

// All tubes, each in a step of bounded size. By name, so that a tube that ended and came back
// during the steps is there once.
class TubeCollector {
 public:
  explicit TubeCollector(size_t tubes_max) : tubes_max_(tubes_max) {}

  // Returns whether all tubes were looked at.
  bool step(const engine::Engine& engine) {
    for (size_t looked_at = 0; looked_at < tubes_per_step; ++looked_at, ++next_) {
      if (next_ >= engine.tube_numbers()) return true;
      if (std::optional<TubeStats> tube = engine.tube_statistics(next_)) add(std::move(*tube));
    }
    return false;
  }

  const std::map<std::string, TubeStats>& tubes() const { return tubes_; }
  uint64_t unlisted() const { return unlisted_; }

 private:
  void add(TubeStats&& tube) {
    const bool is_listed =
        tubes_.contains(tube.name) || tubes_.size() - (unlisted_ > 0) < tubes_max_;
    if (is_listed) {
      std::string name = tube.name;
      tubes_.insert_or_assign(std::move(name), std::move(tube));
      return;
    }
    ++unlisted_;
    TubeStats& sum = tubes_[std::string(other_tubes)];
    sum.name = other_tubes;
    sum.jobs.ready += tube.jobs.ready;
    sum.jobs.reserved += tube.jobs.reserved;
    sum.jobs.delayed += tube.jobs.delayed;
    sum.jobs.buried += tube.jobs.buried;
    sum.total_jobs += tube.total_jobs;
    sum.watching_count += tube.watching_count;
    sum.waiting_count += tube.waiting_count;
    sum.cmd_delete += tube.cmd_delete;
    sum.next_ready_age = std::max(sum.next_ready_age, tube.next_ready_age);
    sum.pause_time_left = std::max(sum.pause_time_left, tube.pause_time_left);
  }

  const size_t tubes_max_;
  TubeId next_ = 0;
  std::map<std::string, TubeStats> tubes_;
  uint64_t unlisted_ = 0;
};

void add_states(Writer& out, const StateCounts& jobs, const std::string* tube) {
  const std::pair<std::string_view, uint64_t> states[] = {{"ready", jobs.ready},
                                                          {"reserved", jobs.reserved},
                                                          {"delayed", jobs.delayed},
                                                          {"buried", jobs.buried}};
  for (const auto& [state, count] : states) {
    if (tube == nullptr) {
      out.sample(count, {{"state", state}});
    } else {
      out.sample(count, {{"tube", *tube}, {"state", state}});
    }
  }
}

// The families of single values.
void add_server(Writer& out, const MetricSources& sources) {
  const EngineStats stats = sources.engine.statistics();
  const ProcessFacts process = sources.process();
  const StoreFacts store = sources.store();
  out.family("perennial_build", Type::Info, "", "The version of the server.");
  out.sample(1, {{"version", process.version}});
  out.single("perennial_uptime_seconds", Type::Gauge, "seconds", "The time since the start.",
             seconds(process.uptime));
  out.single("perennial_process_cpu_seconds", Type::Counter, "seconds", "Processor time.",
             seconds(process.user_time + process.system_time));
  out.family("perennial_jobs", Type::Gauge, "", "Jobs by state.");
  add_states(out, stats.jobs, nullptr);
  out.single("perennial_urgent_jobs", Type::Gauge, "", "Ready jobs whose priority is below 1024.",
             stats.jobs.urgent);
  out.single("perennial_jobs_put", Type::Counter, "", "Jobs that were put since the start.",
             stats.total_jobs);
  out.single("perennial_jobs_timeouts", Type::Counter, "", "Reservations whose time was over.",
             stats.job_timeouts);
  out.single("perennial_jobs_damaged", Type::Counter, "",
             "Jobs that were buried because their body on disk is damaged.", stats.jobs_damaged);
  out.single("perennial_jobs_duplicate", Type::Counter, "",
             "Puts that were answered with the job that has their key.", stats.jobs_duplicate);
  out.single("perennial_jobs_dead", Type::Counter, "", "Jobs whose attempts were used up.",
             stats.jobs_dead);
  out.single("perennial_jobs_expired", Type::Counter, "", "Jobs that nobody reserved in time.",
             stats.jobs_expired);
  out.single("perennial_jobs_parked", Type::Gauge, "",
             "Ready jobs that wait for their concurrency key.", stats.jobs_parked);
  out.family("perennial_commands", Type::Counter, "", "Commands that were run.");
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
  out.single("perennial_tubes", Type::Gauge, "", "Tubes.", stats.tubes);
  out.family("perennial_connections", Type::Gauge, "",
             "Connections: all, and those that have put, reserved, or wait for a job.");
  out.sample(stats.connections, {{"role", "all"}});
  out.sample(stats.producers, {{"role", "producer"}});
  out.sample(stats.workers, {{"role", "worker"}});
  out.sample(stats.waiting, {{"role", "waiting"}});
  out.single("perennial_connections_accepted", Type::Counter, "", "Connections since the start.",
             stats.total_connections);
  out.single("perennial_connections_refused", Type::Counter, "",
             "Connections that were closed because they spoke another protocol.",
             process.connections_refused);
  out.single("perennial_draining", Type::Gauge, "", "1 while puts are refused by drain.",
             stats.draining ? 1 : 0);
  out.family("perennial_store_state", Type::Gauge, "",
             "1 for the state that the store has, ok or one word for what is wrong.");
  out.sample(1, {{"state", store.state}});
  out.single("perennial_puts_accepted", Type::Gauge, "", "1 while the disk has space for jobs.",
             sources.accepts_puts() ? 1 : 0);
  out.single("perennial_transitions_committed", Type::Counter, "",
             "Transitions on disk since the start.", store.records_written);
  out.single("perennial_sync_p99_seconds", Type::Gauge, "seconds",
             "The 99th percentile of recent syncs.", static_cast<double>(store.sync_us_p99) / 1e6);
  out.single("perennial_batch_jobs_mean", Type::Gauge, "", "Jobs in a batch, on average.",
             store.batch_jobs_mean);
  out.single("perennial_loop_lag_seconds", Type::Gauge, "seconds",
             "The longest of the recent turns of the loop.",
             static_cast<double>(process.loop_lag_us) / 1e6);
  out.single("perennial_memory_bytes", Type::Gauge, "bytes",
             "Memory of jobs, bodies and connections.", sources.memory_bytes());
  out.single("perennial_output_bytes", Type::Gauge, "bytes", "Answers that have not left.",
             sources.output_bytes());
  out.single("perennial_checkpoint_age_seconds", Type::Gauge, "seconds",
             "The age of the newest complete checkpoint; -1: there is none.",
             process.checkpoint_age_s);
  out.family("perennial_http_requests", Type::Counter, "", "Requests to this port.");
  for (const auto& [request, count] : sources.requests()) {
    out.sample(count, {{"route", request.first}, {"code", fmt::format("{}", request.second)}});
  }
}

struct TubeFamily {
  std::string_view name;
  Type type;
  std::string_view unit;
  std::string_view help;
  double (*value)(const TubeStats&);
};
constexpr TubeFamily tube_families[] = {
    {"perennial_tube_oldest_ready_seconds", Type::Gauge, "seconds",
     "The age of the job that is next.",
     [](const TubeStats& t) { return seconds(t.next_ready_age); }},
    {"perennial_tube_puts", Type::Counter, "", "Jobs that came into the tube.",
     [](const TubeStats& t) { return static_cast<double>(t.total_jobs); }},
    {"perennial_tube_deletes", Type::Counter, "", "Jobs that were deleted from the tube.",
     [](const TubeStats& t) { return static_cast<double>(t.cmd_delete); }},
    {"perennial_tube_watching", Type::Gauge, "", "Connections that watch the tube.",
     [](const TubeStats& t) { return static_cast<double>(t.watching_count); }},
    {"perennial_tube_waiting", Type::Gauge, "", "Connections that wait for a job of the tube.",
     [](const TubeStats& t) { return static_cast<double>(t.waiting_count); }},
    {"perennial_tube_pause_seconds", Type::Gauge, "seconds", "What is left of a pause.",
     [](const TubeStats& t) { return seconds(t.pause_time_left); }},
};

// Steps: the tubes, the families of the server, and then each family of tubes.
class Metrics final : public Answer {
 public:
  Metrics(const MetricSources& sources, const MetricsRequest& request)
      : sources_(sources),
        open_metrics_(request.open_metrics),
        out_(request.open_metrics),
        tubes_(request.tubes_max) {}

  Step step() override {
    if (!has_tubes_) {
      has_tubes_ = tubes_.step(sources_.engine);
      return Step::Again;
    }
    if (next_ == 0) {
      add_server(out_, sources_);
      out_.single("perennial_tubes_unlisted", Type::Gauge, "",
                  "Tubes that are summed up as {other}.", tubes_.unlisted());
    } else if (next_ == 1) {
      out_.family("perennial_tube_jobs", Type::Gauge, "", "Jobs of a tube by state.");
      for (const auto& [name, tube] : tubes_.tubes()) add_states(out_, tube.jobs, &name);
    } else {
      const TubeFamily& family = tube_families[next_ - 2];
      out_.family(family.name, family.type, family.unit, family.help);
      for (const auto& [name, tube] : tubes_.tubes()) {
        out_.sample(family.value(tube), {{"tube", name}});
      }
    }
    return ++next_ == 2 + std::size(tube_families) ? Step::Whole : Step::Again;
  }
  Response take() override {
    return {.content_type = open_metrics_
                                ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                : "text/plain; version=0.0.4; charset=utf-8",
            .body = out_.take()};
  }

 private:
  const MetricSources& sources_;
  const bool open_metrics_;
  Writer out_;
  TubeCollector tubes_;
  bool has_tubes_ = false;
  size_t next_ = 0;
};

// The lines "key: value" of a document whose values are numbers.
std::vector<std::pair<std::string, double>> numbers_of(std::string_view yaml) {
  std::vector<std::pair<std::string, double>> out;
  while (!yaml.empty()) {
    const size_t end = std::min(yaml.find('\n'), yaml.size());
    const std::string_view line = yaml.substr(0, end);
    yaml.remove_prefix(std::min(end + 1, yaml.size()));
    const size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    const std::string_view text = line.substr(colon + 2);
    double value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) continue;
    std::string key(line.substr(0, colon));
    std::ranges::replace(key, '-', '_');
    out.emplace_back(std::move(key), value);
  }
  return out;
}

void add_old_head(std::string& out, std::string_view name, std::string_view command) {
  fmt::format_to(std::back_inserter(out), "# HELP {} As {} says.\n# TYPE {} gauge\n", name, command,
                 name);
}

// The names of messagebird's exporter of beanstalkd: every key, "-" as "_", all of them gauges, and
// "tube_" before those of tubes. Prometheus adds the instance.
class OldMetrics final : public Answer {
 public:
  OldMetrics(const MetricSources& sources, const MetricsRequest& request)
      : sources_(sources), tubes_(request.tubes_max) {}

  Step step() override {
    if (!has_tubes_) {
      has_tubes_ = tubes_.step(sources_.engine);
      return Step::Again;
    }
    if (next_tube_ == Rows()) {
      const EngineStats stats = sources_.engine.statistics();
      for (const auto& [key, value] :
           numbers_of(wire::server_yaml(stats, sources_.process(), sources_.store()))) {
        add_old_head(server_, key, "stats");
        server_ += fmt::format("{} {}\n", key, value);
      }
      next_tube_ = tubes_.tubes().begin();
    }
    for (size_t count = 0; count < tubes_per_step && *next_tube_ != tubes_.tubes().end(); ++count) {
      const auto& [name, tube] = **next_tube_;
      for (const auto& [key, value] : numbers_of(wire::tube_yaml(tube))) {
        families_["tube_" + key] += fmt::format("tube_{}{{tube=\"{}\"}} {}\n", key, name, value);
      }
      ++*next_tube_;
    }
    return *next_tube_ == tubes_.tubes().end() ? Step::Whole : Step::Again;
  }
  Response take() override {
    Response out = {.content_type = "text/plain; version=0.0.4; charset=utf-8",
                    .body = std::move(server_)};
    for (const auto& [key, lines] : families_) {
      add_old_head(out.body, key, "stats-tube");
      out.body += lines;
    }
    return out;
  }

 private:
  using Rows = std::optional<std::map<std::string, TubeStats>::const_iterator>;

  const MetricSources& sources_;
  TubeCollector tubes_;
  bool has_tubes_ = false;
  Rows next_tube_;  // Without a value: the server's own keys come first.
  std::string server_;
  std::map<std::string, std::string> families_;
};

}  // namespace

std::unique_ptr<Answer> make_metrics(const MetricSources& sources, const MetricsRequest& request) {
  if (request.names_of_beanstalkd) return std::make_unique<OldMetrics>(sources, request);
  return std::make_unique<Metrics>(sources, request);
}

}  // namespace perennial::http
