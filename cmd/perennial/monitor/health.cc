#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cmd/common/duration.h"
#include "cmd/common/exit_codes.h"
#include "cmd/common/tls/tls_protocol.h"
#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/monitor/commands.h"
#include "cmd/perennial/monitor/http_request.h"
#include "cmd/perennial/monitor/time_limit.h"
#include "cmd/perennial/output/json.h"

namespace perennial::tool {
namespace {

constexpr uint64_t timeout_ms_max = 3'600'000;

struct HealthOptions {
  ServerAddress server;
  std::optional<std::string> http = {};
  bool is_live = false;
  bool json = false;
  std::chrono::milliseconds timeout = std::chrono::seconds(3);
};

// What was asked, and what is to be said of a server that is well.
struct Health {
  std::string asked;
  std::string answer = "it answers";
};

// The lines of /readyz?verbose with this beginning, without it and in one line.
std::string lines_of(std::string_view body, std::string_view beginning) {
  std::string lines;
  while (!body.empty()) {
    const size_t end = std::min(body.find('\n'), body.size());
    const std::string_view line = body.substr(0, end);
    body.remove_prefix(std::min(end + 1, body.size()));
    if (!line.starts_with(beginning)) continue;
    if (!lines.empty()) lines += "; ";
    lines += line.substr(beginning.size());
  }
  return lines;
}

// "disk ok, degraded: puts are refused ...": of a server that is ready all the same.
std::string degradations(std::string_view body) {
  std::string found;
  constexpr std::string_view word = "degraded: ";
  for (size_t at = body.find(word); at != std::string_view::npos; at = body.find(word, at + 1)) {
    found += found.empty() ? "ok, but degraded: " : "; ";
    const std::string_view rest = body.substr(at + word.size());
    found += rest.substr(0, rest.find('\n'));
  }
  return found.empty() ? "ok" : found;
}

Status ask_http(const HealthOptions& options, Health& health) {
  Result<HttpPlace> place = parse_http_place(*options.http);
  if (!place.ok()) return place.take_status().with("--http");
  const bool is_ours = place->path.empty() || place->path == "/";
  if (is_ours) place->path = options.is_live ? "/livez?verbose" : "/readyz?verbose";
  common::TlsClientSettings settings = options.server.tls;
  settings.is_on |= place->is_tls;
  place->is_tls = settings.is_on;
  health.asked = place->text();
  const Result<std::optional<common::TlsClient>> tls = common::TlsClient::load_if_on(settings);
  if (!tls.ok()) return tls.status();
  if (*tls) common::set_tls_protocol(**tls, "http/1.1");
  Result<HttpAnswer> answer = http_get(*place, *tls ? &**tls : nullptr, options.timeout);
  if (!answer.ok()) return answer.take_status();
  // Another program may answer anything at this port with 200.
  if (answer->status == 200 && is_ours && !answer->body.ends_with(" check passed\n"))
    return {StatusCode::Io, "what answers there is no perennial: its answer is no check of health"};
  if (answer->status == 200) {
    health.answer = degradations(answer->body);
    return {};
  }
  const std::string why = lines_of(answer->body, "[-]");
  return {StatusCode::Io,
          fmt::format("status {}{}{}", answer->status, why.empty() ? "" : ": ", why)};
}

// Whoever has not signed in is told so, and that is an answer.
Status ask_queue(const HealthOptions& options, Health& health) {
  ServerAddress address = options.server;
  address.timeout = options.timeout;
  address.gets_token = false;
  health.asked = address.address;
  Result<ServerConnection> server = ServerConnection::open(address);
  if (!server.ok()) return server.take_status();
  health.asked = server->address();
  const Result<wire::ClientReply> reply = server->ask(ListTubeUsed{});
  if (!reply.ok()) return reply.status();
  if (reply->is(Word::Using) || reply->is(Word::Unauthorized)) return {};
  return unexpected(*reply, "list-tube-used");
}

Status check_usage(const HealthOptions& options) {
  if (!options.is_live || options.http) return {};
  return {StatusCode::InvalidArgument,
          "--live is for --http: the port of the queue does not tell the two apart"};
}

nlohmann::ordered_json to_json(const std::string& asked, bool is_healthy,
                               const std::string& answer) {
  return {{"healthy", is_healthy}, {"asked", asked}, {"answer", answer}};
}

void limit_all(const HealthOptions& options) {
  const std::string asked = options.http.value_or(options.server.address);
  const std::string why =
      fmt::format("the server does not answer within {}", common::format_duration(options.timeout));
  const std::string json = to_json(asked, false, why).dump(2) + "\n";
  end_after(options.timeout,
            {.fd = options.json ? STDOUT_FILENO : STDERR_FILENO,
             .text = options.json ? json : fmt::format("perennial health: {}: {}\n", asked, why),
             .exit_code = common::exit_failed});
}

Result<int> run_health(const HealthOptions& options) {
  if (Status usage = check_usage(options); !usage.ok()) return usage;
  limit_all(options);
  Health health;
  Status asked = options.http ? ask_http(options, health) : ask_queue(options, health);
  in_time();
  const bool is_usage = asked.code() == StatusCode::InvalidArgument;
  if (!asked.ok() && (is_usage || !options.json)) {
    const bool is_named = is_usage || asked.message().starts_with(health.asked);
    return is_named ? asked : std::move(asked).with(health.asked);
  }
  const std::string& answer = asked.ok() ? health.answer : asked.message();
  if (options.json) {
    print_result(to_json(health.asked, asked.ok(), answer));
  } else {
    fmt::print("healthy: {}: {}\n", health.asked, answer);
  }
  return asked.ok() ? common::exit_clean : common::exit_failed;
}

}  // namespace

Subcommand health_command() {
  const auto options = std::make_shared<HealthOptions>();
  return {
      .name = "health",
      .summary = "Whether a server is healthy, for a probe: exit code 0 or 1",
      .about =
          "Asks one question and prints one line. It needs no shell, no curl and no token, so an "
          "image without them can be probed from inside.\n\n"
          "With --http it asks /readyz: whether clients should be sent to this server. The answer "
          "is no while it reads its directory, drains or stops. A server whose disk is full, or "
          "that has lost bodies, is healthy, and the line says what is degraded. In a cluster the "
          "leader is healthy, and so is a standby that passes clients on; a standby that refuses "
          "clients, and a node while nobody leads, are not. With --live it asks /livez instead: "
          "whether a restart would help. That is the question for a probe that restarts.\n\n"
          "Without --http it asks the port of the queue for an answer, whatever it is: that the "
          "client has not shown who it is counts, too. It then knows nothing of a drain, and a "
          "standby that passes clients on answers what its leader does.\n\n"
          "A certificate that is not good is not healthy, nor is an answer that takes longer than "
          "--timeout in all. Exit code 2, for a wrong command line, is not healthy to a "
          "container's engine either.",
      .examples =
          "  perennial health\n"
          "  perennial health --server unix:/run/perennial/queue.sock\n"
          "  perennial health --http 127.0.0.1:11380\n"
          "  perennial health --live --http https://queue.example.com:11380 --ca ca.pem\n",
      .flags = with_tls_flags(
          options->server.tls,
          {server_flag(options->server),
           {"--http", "ADDR",
            "Ask this address of HTTP, and not --server: HOST:PORT, a URL, or unix:PATH",
            &options->http},
           {"--live", "", "With --http: ask /livez, whether a restart would help",
            &options->is_live},
           {"--json", "", "Report as JSON", &options->json},
           {.name = "--timeout",
            .value = "DURATION",
            .help = "Not healthy if the answer takes longer",
            .target = &options->timeout,
            .lowest = 1,
            .highest = timeout_ms_max}}),
      .run_to_exit_status = [options] { return run_health(*options); },
  };
}

}  // namespace perennial::tool
