#include "cmd/perenniald/config/flags.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <string_view>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cmd/common/exit_codes.h"
#include "cmd/common/units.h"
#include "engine/types/check.h"

// The only file that includes CLI11, which takes seconds to compile. Its exceptions are caught
// here.
namespace perennial::perenniald {
namespace {

constexpr std::string_view program = "perenniald";
constexpr std::string_view about =
    "A work queue that speaks beanstalkd's protocol and keeps every job on disk.\n"
    "It answers after the disk has the job, so what a client has seen is never lost.";
constexpr std::string_view footer =
    "Short flags cluster: -Vb DIR, -f0, -VVV. Sizes take units: -z 1MiB.\n"
    "Every setting, with its default and its meaning: perenniald --print-config";

// The command line as given, before anything was checked.
struct Raw {
  // Values of the settings that have a flag, by key.
  std::map<std::string_view, std::vector<std::string>> settings;
  std::string sync_ms, log_file_bytes, config, recover;
  bool never = false, compact = false, no_compact = false;
  bool version = false, print_config = false, check_config = false, print_access = false;
  bool json = false;
  bool accept_clock = false, ephemeral = false, exit_with_stdin = false;
  int verbosity = 0;
};

// Adds a flag without a value. With CLI11's own counter, --verbose=3 would be accepted, and a
// number that is too long would throw an exception that is none of CLI11's.
template <typename Target>
CLI::Option* add_flag(CLI::App& app, const char* names, Target& target, const char* help) {
  return app.add_flag(names, target, help)->check([](const std::string& value) {
    return value == "true" ? std::string() : "takes no value";
  });
}

// Returns "-b" for "-b,--data-dir".
std::string_view short_name(const ConfigFlag& flag) {
  return flag.names.substr(0, flag.names.find(','));
}

bool is_list(const ConfigField& field) {
  return field.type().shape == Shape::List;
}

// Adds the flags of all settings that have one.
void define_rows(CLI::App& app, Raw& raw) {
  const Config defaults = default_config();
  for (const ConfigField& field : config_fields()) {
    if (field.flag.names.empty()) continue;
    const std::string help =
        fmt::format(fmt::runtime(field.flag.help), config_text(defaults, field),
                    field.is_bounded() ? highest_text(field) : std::string());
    CLI::Option* const option =
        app.add_option(std::string(field.flag.names), raw.settings[field.key], help)
            ->type_name(std::string(field.flag.type))
            ->allow_extra_args(false);
    if (!is_list(field)) {
      option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
  }
}

void define_settings(CLI::App& app, Raw& raw) {
  define_rows(app, raw);
  const auto last = CLI::MultiOptionPolicy::TakeLast;
  const auto text = [&](const char* names, std::string& value, const char* type, const char* help) {
    return app.add_option(names, value, help)->type_name(type)->multi_option_policy(last);
  };
  text(
      "-f", raw.sync_ms, "MS",
      "Answer before the sync, and sync at most MS milliseconds later; -f0 answers after it, which "
      "is the default");
  add_flag(app, "-F", raw.never, "Answer before the sync, and leave the sync to the kernel");
  text("--config", raw.config, "FILE", "Settings in YAML; flags win over it");
}

void define_actions(CLI::App& app, Raw& raw) {
  app.add_option(
         "--recover", raw.recover,
         "With point-in-time: cut a damaged log at its damage, and lose what is behind. Copy "
         "the directory first")
      ->type_name("HOW")
      ->check(CLI::IsMember({"point-in-time"}));
  add_flag(app, "--accept-clock", raw.accept_clock,
           "Start although the clock is further ahead than clock_ahead_days_max");
  add_flag(app, "--ephemeral", raw.ephemeral,
           "For tests: a directory that goes at the end, no sync, a free port of 127.0.0.1, and "
           "where it serves as JSON in the first line of standard output");
  add_flag(app, "--exit-with-stdin", raw.exit_with_stdin,
           "Stop when standard input ends, which it does with the program that holds it");
  add_flag(app, "-V,--verbose", raw.verbosity, "Log more; repeatable");
  add_flag(app, "--print-config", raw.print_config,
           "Print all settings as they would be used, and stop");
  add_flag(app, "--check-config", raw.check_config, "Check file and flags, and stop");
  add_flag(app, "--print-access", raw.print_access,
           "Print who gets in where, as whom, and may do what, and stop");
  add_flag(app, "--json", raw.json, "With --print-access: as one object of JSON");
  add_flag(app, "-v,--version", raw.version, "Print the version, and stop");
  app.set_help_flag("-h,--help", "Print this, and stop");
  const char* const group = "Accepted for beanstalkd's sake, without effect";
  app.add_option("-s", raw.log_file_bytes, "Size of a log file; see log_bytes_max")
      ->type_name("BYTES")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->group(group);
  add_flag(app, "-c", raw.compact, "Compact the log: always done")->group(group);
  add_flag(app, "-n", raw.no_compact, "Do not compact the log: not possible")->group(group);
}

// "-z 524280" as one word, as the array of a Dockerfile may have it: getopt hands on the space, and
// strtoul() passes over it.
std::string_view without_leading_spaces(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

// The last of -f and -F counts, as in beanstalkd.
void apply_durability(const CLI::App& app, const Raw& raw, Config& config, Problems& problems) {
  std::string_view last;
  for (const CLI::Option* option : app.parse_order()) {
    if (option->check_name("-f") || option->check_name("-F")) {
      last = option->check_name("-f") ? "-f" : "-F";
    }
  }
  if (last == "-F") config.durability = store::Durability::Never;
  if (last != "-f") return;
  const Result<uint64_t> ms = common::parse_count(without_leading_spaces(raw.sync_ms));
  const uint64_t highest = config_field("sync_interval_ms").highest;
  if (!ms.ok() || *ms > highest) {
    problems.push_back(
        fmt::format("-f: '{}' is not a number of milliseconds from 0 to {}", raw.sync_ms, highest));
    return;
  }
  config.durability = *ms == 0 ? store::Durability::Commit : store::Durability::Interval;
  if (*ms != 0) config.sync_interval_ms = *ms;
}

// beanstalkd lowers a size that is too large and goes on, so a replacement must do the same.
bool is_to_clamp(const ConfigField& field, std::string_view text) {
  if (!field.flag.clamps) return false;
  const Result<uint64_t> value = common::parse_bytes(text);
  return value.ok() && *value > field.highest;
}

// Sets one setting from its flag, or adds a problem that names the flag.
void apply_setting(const ConfigField& field, std::string_view text, Invocation& out,
                   Problems& problems) {
  const std::string_view flag = short_name(field.flag);
  if (field.type().is_number) text = without_leading_spaces(text);
  if (is_to_clamp(field, text)) {
    CHECK(set_value(field, &out.config, fmt::format("{}", field.highest)).ok());
    out.warnings.push_back(
        fmt::format("{} {} is over the limit: using {} bytes", flag, text, field.highest));
    return;
  }
  const Status status = set_value(field, &out.config, text);
  if (!status.ok()) problems.push_back(fmt::format("{}: {}", flag, status.message()));
}

// Sets the addresses last: an address without a port gets the port of the setting.
void apply_settings(const Raw& raw, Invocation& out, Problems& problems) {
  for (const bool addresses : {false, true}) {
    for (const ConfigField& field : config_fields()) {
      const auto given = raw.settings.find(field.key);
      if (is_list(field) != addresses) continue;
      if (given == raw.settings.end() || given->second.empty()) continue;
      if (addresses) out.config.listen.clear();
      for (const std::string& text : given->second) apply_setting(field, text, out, problems);
    }
  }
}

void apply(const CLI::App& app, const Raw& raw, Invocation& out, Problems& problems) {
  Config& config = out.config;
  const auto given = [&](const char* name) { return app.count(name) > 0; };
  apply_settings(raw, out, problems);
  if (given("--recover")) config.recover = store::Recover::PointInTime;
  if (raw.accept_clock) config.accept_clock = true;
  apply_durability(app, raw, config, problems);
  if (given("-V")) {
    const uint64_t highest = config_field("verbosity").highest;
    config.verbosity = std::min<uint64_t>(static_cast<uint64_t>(raw.verbosity), highest);
  }
  if (given("-s") && !common::parse_bytes(without_leading_spaces(raw.log_file_bytes)).ok()) {
    problems.push_back(fmt::format("-s: '{}' is not a number of bytes", raw.log_file_bytes));
  }
  if (raw.compact) out.warnings.emplace_back("-c has no effect: the disk is always compacted");
  if (raw.no_compact) out.warnings.emplace_back("-n has no effect: the disk is always compacted");
}

// What a server has that leaves nothing behind, unless the file or a flag says otherwise. Empty is
// a data directory that nobody has named.
void set_ephemeral_defaults(Config& config) {
  config.is_ephemeral = true;
  config.data_dir.clear();
  config.port = 0;
  config.durability = store::Durability::Never;
  config.scrub_bytes_per_second = 0;
}

// Absolute, because whoever reads it in the first line may be in another directory.
std::string ephemeral_dir() {
  const char* const folder = std::getenv("TMPDIR");
  const bool is_set = folder != nullptr && *folder != 0;
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(is_set ? folder : "/tmp", error);
  return (path / "perennial-ephemeral-XXXXXX").lexically_normal().string();
}

// What it would break without a word is refused: whoever says where jobs are to be kept wants them
// kept.
Problems check_ephemeral(const Config& config) {
  const struct {
    bool is_asked_for;
    const char* what;
  } rows[] = {
      {!config.data_dir.empty(),
       "has a data directory of its own: leave out --data-dir (data_dir)"},
      {!config.checkpoint_dir.empty(), "keeps no checkpoint: leave out checkpoint_dir"},
      {config.durability != store::Durability::Never,
       "never syncs, so answers promise nothing: leave out -f (durability)"},
      {config.cluster.is_set(), "keeps no job, so it is no node of a cluster: leave out cluster"},
      {config.recover != store::Recover::Strict, "has nothing to recover: leave out --recover"},
      {config.ballast_bytes != 0, "has no ballast: leave out ballast_bytes"},
      {config.data_group_access != GroupAccess::None,
       "has a directory that nobody else reads: leave out data_group_access"},
  };
  Problems problems;
  for (const auto& row : rows)
    if (row.is_asked_for) problems.push_back(fmt::format("--ephemeral {}", row.what));
  return problems;
}

// Only this machine reaches it, unless other addresses are asked for.
void finish_ephemeral(Config& config) {
  config.data_dir = ephemeral_dir();
  if (config.listen.empty() && config.listeners.empty()) config.listen = {"127.0.0.1"};
}

Invocation usage_error(const Problems& problems) {
  Invocation out;
  out.exit_code = common::exit_usage;
  out.problems = problems;
  for (const std::string& problem : problems) out.err += fmt::format("{}: {}\n", program, problem);
  out.err += fmt::format("{}: for help: {} -h\n", program, program);
  return out;
}

Invocation say(std::string text) {
  Invocation out;
  out.out = std::move(text);
  return out;
}

}  // namespace

Invocation parse_command_line(int argc, const char* const* argv) {
  CLI::App app{std::string(about), std::string(program)};
  app.footer(std::string(footer));
  app.get_formatter()->column_width(28);
  Raw raw;
  define_settings(app, raw);
  define_actions(app, raw);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return say(app.help());
  } catch (const CLI::ParseError& error) {
    return usage_error({error.what()});
  }
  if (raw.version) return say(fmt::format("{} {}\n", program, PERENNIAL_VERSION));

  Invocation out;
  out.config = default_config();
  if (raw.ephemeral) set_ephemeral_defaults(out.config);
  Problems problems;
  if (!raw.config.empty()) problems = read_config_file(out.config, raw.config);
  apply(app, raw, out, problems);
  if (raw.json && !raw.print_access) problems.emplace_back("--json belongs to --print-access");
  std::ranges::move(raw.ephemeral ? check_ephemeral(out.config) : check_cluster_limits(out.config),
                    std::back_inserter(problems));
  if (!problems.empty()) return usage_error(problems);
  if (raw.ephemeral) finish_ephemeral(out.config);
  out.exits_with_stdin = raw.exit_with_stdin;
  out.action = Invocation::Action::Serve;
  if (raw.print_access) {
    out.action = Invocation::Action::Access;
    out.json = raw.json;
  } else if (raw.print_config || raw.check_config) {
    out.action = Invocation::Action::Check;
    out.out = raw.print_config ? print_config(out.config) : "The configuration is good.\n";
  }
  return out;
}

}  // namespace perennial::perenniald
