#include "cmd/perennial-bench/servers/contenders.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "cmd/common/tool/requests.h"

namespace perennial::bench {
namespace {

Status refuse(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

Result<Contender> read_contender(const std::string& word, const Launch& base) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == word.size())
    return refuse(fmt::format("--against {}: write it as NAME=COMMAND", word));
  Contender contender = {
      .name = word.substr(0, equals), .is_started = true, .address = {}, .launch = base};
  contender.launch.command = word.substr(equals + 1);
  if (contender.launch.command.find("{port}") == std::string::npos)
    return refuse(fmt::format(
        "--against {}: its command does not say {{port}}, where the server is to listen", word));
  return contender;
}

// Makes the path absolute, because the loader searches relative names in the library path.
Result<std::string> preload_path(const BenchOptions& options) {
  if (options.preload.empty()) return std::string();
  std::error_code failed;
  const std::filesystem::path path = std::filesystem::canonical(options.preload, failed);
  if (failed) return refuse(fmt::format("--preload {}: {}", options.preload, failed.message()));
  return path.string();
}

Status check_combination(const BenchOptions& options) {
  const bool fresh = !options.against.empty();
  if (fresh && !options.server.empty())
    return refuse("--server is for a running server and --against for some to start: choose one");
  if (!fresh && !options.preload.empty())
    return refuse("--preload is for servers that --against starts");
  if (options.preload.empty() && options.preload_us > 0)
    return refuse("--preload-us is for what --preload names");
  return {};
}

Result<std::vector<Contender>> running_server(const BenchOptions& options) {
  tool::ServerAddress server;
  if (!options.server.empty()) server.address = options.server;
  server.tls = options.tls;
  const Result<common::Address> address = tool::parse_server(server);
  if (!address.ok()) return address.status();
  return std::vector<Contender>{
      {.name = options.tls.is_on ? common::to_text(*address) : server.address,
       .is_started = false,
       .address = *address,
       .launch = {}}};
}

}  // namespace

Result<std::vector<Contender>> contenders_of(const BenchOptions& options) {
  if (Status s = check_combination(options); !s.ok()) return s;
  if (options.against.empty()) return running_server(options);
  const Result<std::string> preload = preload_path(options);
  if (!preload.ok()) return preload.status();
  const Launch base = {.command = {},
                       .parent_dir = options.dir.empty() ? default_parent_dir() : options.dir,
                       .preload = *preload,
                       .preload_us = options.preload_us};
  std::vector<Contender> contenders;
  for (const std::string& word : options.against) {
    Result<Contender> contender = read_contender(word, base);
    if (!contender.ok()) return contender.take_status();
    const bool is_known = std::ranges::any_of(
        contenders, [&](const Contender& other) { return other.name == contender->name; });
    if (is_known) return refuse(fmt::format("--against {}: the name is taken", contender->name));
    contenders.push_back(contender.take());
  }
  return contenders;
}

}  // namespace perennial::bench
