#include "wire/stats.h"

#include <string_view>

#include <fmt/format.h>

#include "wire/stats_rows.h"

namespace perennial::wire {
namespace {

// Writes one YAML document, one key after the other.
class Document {
 public:
  explicit Document(StatsStyle style) : style_(style) {}

  template <typename Facts>
  Document& add(std::span<const StatsRow<Facts>> rows, const Facts& facts) {
    for (const StatsRow<Facts>& row : rows) {
      text_ += row.key;
      text_ += ": ";
      add_value(row.form, row.value(facts));
      text_ += '\n';
    }
    return *this;
  }
  // Adds the counters of beanstalkd's commands, or those of this server's own commands.
  Document& add(const CommandCounts& counts, bool ours) {
    size_t index = 0;
    for_each_command([&](const auto& row) {
      const bool is_listed = row.flags.ours == ours && !row.stats_key.empty();
      if (is_listed) append("{}: {}\n", row.stats_key, counts.at(index));
      ++index;
    });
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  void add_value(Form form, const StatsValue& value) {
    switch (form) {
      case Form::Plain:
        return std::visit([this](const auto& plain) { append("{}", plain); }, value);
      case Form::Name:
        if (!style_.quotes_names) return add_value(Form::Plain, value);
        [[fallthrough]];
      case Form::Quoted:
        if (const auto* const text = std::get_if<std::string>(&value)) {
          return append("\"{}\"", *text);
        }
        return append("\"{}\"", std::get<std::string_view>(value));
      case Form::Seconds:
        return append("{}", std::get<Nanos>(value) / nanos_per_second);
      case Form::ProcessorTime: {
        const Nanos time = std::get<Nanos>(value);
        return append("{}.{:06}", time / nanos_per_second, time % nanos_per_second / 1000);
      }
      case Form::Hundredths:
        return append("{:.2f}", std::get<double>(value));
    }
  }

  template <typename... Args>
  void append(fmt::format_string<const Args&...> format, const Args&... args) {
    fmt::format_to(std::back_inserter(text_), format, args...);
  }

  const StatsStyle style_;
  std::string text_ = "---\n";
};

}  // namespace

std::string job_yaml(const JobStats& job, StatsStyle style) {
  Document document(style);
  document.add(job_rows(), job);
  if (job.more && style.has_own_keys) document.add(job_more_rows(), job);
  return document.take();
}

std::string tube_yaml(const TubeStats& tube, StatsStyle style) {
  Document document(style);
  document.add(tube_rows(), tube);
  if (!style.has_own_keys) return document.take();
  document.add(tube_own_rows(), tube);
  if (tube.more) document.add(tube_more_rows(), tube);
  return document.take();
}

std::string server_yaml(const EngineStats& engine, const ProcessFacts& process,
                        const StoreFacts& store, StatsStyle style) {
  const StatsSources facts{engine, process, store};
  Document out(style);
  out.add(server_state_rows(), facts).add(engine.commands, false).add(server_rows(), facts);
  if (!style.has_own_keys) return out.take();
  out.add(server_own_rows(), facts).add(engine.commands, true);
  if (process.cluster) out.add(cluster_rows(), *process.cluster);
  return out.take();
}

}  // namespace perennial::wire
