#include "tests/cmd/perennial/command_lines.h"

#include <filesystem>
#include <fstream>

#include "engine/types/check.h"
#include "tests/cmd/perennial/tool_process.h"

namespace perennial::tool {

const std::vector<CommandLine>& command_lines() {
  static const std::vector<CommandLine> all = {
      {"stats", "stats --server SERVER"},
      {"tubes", "tubes --server SERVER"},
      {"top", "top --once --interval 0.1 --server SERVER"},
      {"clients", "clients --server SERVER"},
      {"put", "put hello --server SERVER"},
      {"peek", "peek 1 --body --server SERVER"},
      {"kick", "kick --tube default --count 1 --server SERVER"},
      {"bury", "bury 2 --server SERVER"},
      {"delete", "delete 3 --server SERVER"},
      {"note", "note 2 'no such host' --server SERVER"},
      {"pause", "pause default 1 --server SERVER"},
      {"drain", "drain --yes --server SERVER"},
      {"undrain", "undrain --server SERVER"},
      {"list", "list default --server SERVER"},
      {"set job", "set job 4 --pri 7 --server SERVER"},
      {"flush", "flush default --yes --server SERVER"},
      {"restore-job", "restore-job 3 --server SERVER"},
      {"restore-tube", "restore-tube default --yes --server SERVER"},
      {"move", "move default other --yes --server SERVER"},
      {"set tube", "set tube default --tries 5 --server SERVER"},
      {"work", "work --tube default --dry-run --server SERVER -- cat"},
      {"dump", "dump --data-dir DATA", Needs::DataDir},
      {"load", "load --data-dir DIR/new --from DIR/dump", Needs::DataDir},
      {"check", "check --data-dir DATA", Needs::DataDir},
      {"health", "health --server SERVER"},
      {"repair", "repair --yes --data-dir DATA", Needs::DataDir},
      {"checkpoint create", "checkpoint create --server SERVER"},
      {"checkpoint list", "checkpoint list --data-dir DATA", Needs::DataDir},
      {"checkpoint verify", "checkpoint verify DATA/checkpoints/*Z", Needs::DataDir},
      {"checkpoint prune", "checkpoint prune --keep 9 --data-dir DATA", Needs::DataDir},
      {"restore", "restore --from $(ls -d DATA/checkpoints/*Z | tail -n 1) --to DIR/back",
       Needs::DataDir},
      {"migrate", "migrate --data-dir DATA", Needs::DataDir},
      {"token new", "token new --user mailer", Needs::Nothing},
      {"schedule set", "schedule set nightly body --cron '0 3 * * *' --server SERVER"},
      {"schedule list", "schedule list --server SERVER"},
      {"schedule show", "schedule show nightly --server SERVER"},
      {"schedule pause", "schedule pause --all --server SERVER"},
      {"schedule run", "schedule run nightly --server SERVER"},
      {"schedule apply",
       "schedule apply $(echo '{schedules: [{name: nightly, every: 1h, body: x}]}' >DIR/s.yaml; "
       "echo "
       "DIR/s.yaml) --yes --server SERVER"},
      {"schedule export", "schedule export --server SERVER"},
      {"schedule delete", "schedule delete nightly --server SERVER"},
      {"schedule next", "schedule next '@daily' --zone Europe/Berlin", Needs::Nothing},
      {"users check", "users check --config DIR/empty.yaml", Needs::DataDir},
      {"import-binlog", "import-binlog --dry-run --from DIR/binlog", Needs::DataDir},
      {"copy", "copy --dry-run --from SERVER --to OTHER"},
      {"export-beanstalkd", "export-beanstalkd --dry-run --to OTHER --server SERVER"},
      {"cluster status", "", Needs::Nothing},  // These need a cluster.
      {"cluster handover", "", Needs::Nothing},
      {"cluster init", "", Needs::Nothing},
      {"cluster recover", "", Needs::Nothing},
      {"cluster verify", "", Needs::Nothing},
      {"cluster resign", "", Needs::Nothing},
      {"cluster pause", "", Needs::Nothing},
      {"cluster resume", "", Needs::Nothing},
      {"cluster repair", "", Needs::Nothing},
      {"bench", "bench --list", Needs::Nothing},
      {"manual", "manual", Needs::Nothing},
      {"completions", "completions bash", Needs::Nothing},
  };
  return all;
}

std::string filled_in(std::string line, const Places& places) {
  const std::pair<std::string, std::string> words[] = {{"SERVER", places.server},
                                                       {"OTHER", places.other},
                                                       {"DATA", places.data_dir},
                                                       {"DIR", places.dir}};
  for (const auto& [word, value] : words) {
    for (size_t at = line.find(word); at != std::string::npos; at = line.find(word))
      line.replace(at, word.size(), value);
  }
  return line;
}

void prepare_data_dir(const std::string& data_dir, const std::string& dir) {
  const support::ToolRun dumped = support::run_tool({"dump", "--data-dir", data_dir});
  CHECK(dumped.code == 0);
  std::ofstream(dir + "/dump") << dumped.out;
  std::ofstream(dir + "/empty.yaml") << "{}\n";
  std::filesystem::create_directory(dir + "/binlog");
  std::ofstream(dir + "/binlog/binlog.1", std::ios::binary) << std::string("\x07\0\0\0", 4);
}

}  // namespace perennial::tool
