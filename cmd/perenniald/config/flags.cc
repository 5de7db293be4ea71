#include "cmd/perenniald/config/flags.h"

#include <algorithm>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cmd/common/exit_codes.h"
#include "cmd/common/units.h"

// The only file that knows CLI11, which takes seconds to compile. Its exceptions stop here.
namespace perennial::perenniald {
namespace {

constexpr std::string_view program = "perenniald";
constexpr std::string_view about =
    "A work queue that speaks beanstalkd's protocol and keeps every job on disk.\n"
    "It answers after the disk has the job, so what a client has seen is never lost.";
constexpr std::string_view footer =
    "Short flags cluster: -Vb DIR, -f0, -VVV. Sizes take units: -z 1MiB.\n"
    "Every setting, with its default and its meaning: perenniald --print-config";

// The command line as it came, before anything has been checked.
struct Raw {
  std::string data_dir, port, user, job_bytes_max, sync_ms, log_file_bytes, config, recover;
  std::vector<std::string> listen;
  bool never = false, compact = false, no_compact = false;
  bool version = false, print_config = false, check_config = false;
  int verbosity = 0;
};

// One setting from a flag, or a problem under the name of the flag.
void set(Config& config, Problems& problems, std::string_view flag, std::string_view key,
         std::string_view text) {
  const Status status = set_config(config, config_field(key), text);
  if (!status.ok()) problems.push_back(fmt::format("{}: {}", flag, status.message()));
}

// CLI11 would take --verbose=3 as well, and throws what is no exception of its own when the number
// is too long.
template <typename Target>
CLI::Option* add_flag(CLI::App& app, const char* names, Target& target, const char* help) {
  return app.add_flag(names, target, help)->check([](const std::string& value) {
    return value == "true" ? std::string() : "takes no value";
  });
}

void define_settings(CLI::App& app, Raw& raw) {
  const auto last = CLI::MultiOptionPolicy::TakeLast;
  const auto text = [&](const char* names, std::string& value, const char* type, const char* help) {
    return app.add_option(names, value, help)->type_name(type)->multi_option_policy(last);
  };
  text("-b,--data-dir", raw.data_dir, "DIR",
       "Data directory (default perennial-data); made when missing");
  app.add_option("-l,--listen", raw.listen,
                 "Listen address, repeatable: HOST, HOST:PORT, [IPV6]:PORT or unix:PATH (default "
                 "every interface)")
      ->type_name("ADDR")
      ->allow_extra_args(false);
  text("-p,--port", raw.port, "PORT",
       "Port, or service name, where ADDR names none (default 11300)");
  text("-u,--user", raw.user, "USER",
       "Become this user and its groups once the addresses are bound");
  text("-z,--job-bytes-max", raw.job_bytes_max, "BYTES",
       "Largest job (default 65535, at most 1GiB)");
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
  add_flag(app, "-V,--verbose", raw.verbosity, "Log more; repeatable");
  add_flag(app, "--print-config", raw.print_config,
           "Print all settings as they would be used, and stop");
  add_flag(app, "--check-config", raw.check_config, "Check file and flags, and stop");
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

// Of -f and -F the one that comes last counts, as in beanstalkd.
void apply_durability(const CLI::App& app, const Raw& raw, Config& config, Problems& problems) {
  std::string_view last;
  for (const CLI::Option* option : app.parse_order()) {
    if (option->check_name("-f") || option->check_name("-F")) {
      last = option->check_name("-f") ? "-f" : "-F";
    }
  }
  if (last == "-F") config.durability = store::Durability::Never;
  if (last != "-f") return;
  const Result<uint64_t> ms = common::parse_count(raw.sync_ms);
  const uint64_t highest = config_field("sync_interval_ms").highest;
  if (!ms.ok() || *ms > highest) {
    problems.push_back(
        fmt::format("-f: '{}' is not a number of milliseconds from 0 to {}", raw.sync_ms, highest));
    return;
  }
  config.durability = *ms == 0 ? store::Durability::Commit : store::Durability::Interval;
  if (*ms != 0) config.sync_interval_ms = *ms;
}

// beanstalkd clamps a size that is too large and goes on; so must a drop-in.
void apply_job_bytes(std::string_view text, Config& config, Problems& problems,
                     std::vector<std::string>& warnings) {
  const ConfigField& field = config_field("job_bytes_max");
  const Result<uint64_t> bytes = common::parse_bytes(text);
  if (!bytes.ok() || *bytes <= field.highest) {
    return set(config, problems, "-z", field.key, text);
  }
  config.job_bytes_max = field.highest;
  warnings.push_back(fmt::format("-z {} is over the limit: using {} bytes", text, field.highest));
}

void apply(const CLI::App& app, const Raw& raw, Invocation& out, Problems& problems) {
  Config& config = out.config;
  const auto given = [&](const char* name) { return app.count(name) > 0; };
  if (given("-b")) set(config, problems, "-b", "data_dir", raw.data_dir);
  if (given("-p")) set(config, problems, "-p", "port", raw.port);
  if (given("-u")) set(config, problems, "-u", "user", raw.user);
  if (given("-z")) apply_job_bytes(raw.job_bytes_max, config, problems, out.warnings);
  if (given("--recover")) config.recover = store::Recover::PointInTime;
  if (given("-l")) config.listen.clear();
  for (const std::string& address : raw.listen) set(config, problems, "-l", "listen", address);
  apply_durability(app, raw, config, problems);
  if (given("-V")) {
    const uint64_t highest = config_field("verbosity").highest;
    config.verbosity = std::min<uint64_t>(static_cast<uint64_t>(raw.verbosity), highest);
  }
  if (given("-s") && !common::parse_bytes(raw.log_file_bytes).ok()) {
    problems.push_back(fmt::format("-s: '{}' is not a number of bytes", raw.log_file_bytes));
  }
  if (raw.compact) out.warnings.emplace_back("-c has no effect: the disk is always compacted");
  if (raw.no_compact) out.warnings.emplace_back("-n has no effect: the disk is always compacted");
}

Invocation usage_error(const Problems& problems) {
  Invocation out;
  out.exit_code = common::exit_usage;
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
  Problems problems;
  if (!raw.config.empty()) problems = read_config_file(out.config, raw.config);
  apply(app, raw, out, problems);
  if (!problems.empty()) return usage_error(problems);
  if (raw.print_config) return say(print_config(out.config));
  if (raw.check_config) return say("The configuration is good.\n");
  out.action = Invocation::Action::Serve;
  return out;
}

}  // namespace perennial::perenniald
