#include "cmd/perennial-bench/servers/prepare.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include <fmt/format.h>
#include <sys/resource.h>

#include "cmd/common/tool/requests.h"
#include "cmd/perennial-bench/servers/stopping.h"

namespace perennial::bench {
namespace {

constexpr uint64_t tubes_per_round = 100;
// Descriptors that this process and a server use besides connections.
constexpr uint64_t other_files = 128;
constexpr uint32_t ttr_seconds = 1'000'000;

Put a_put(const std::string& body) {
  return {.priority = 1024,
          .delay_s = 0,
          .ttr_s = ttr_seconds,
          .body_bytes = static_cast<uint32_t>(body.size())};
}

// Reads the reply to the last request, which must begin with this word.
Result<wire::ClientReply> receive(tool::ServerConnection& server, Word word, const char* doing) {
  Result<wire::ClientReply> reply = server.receive();
  if (reply.ok() && !reply->is(word)) return tool::unexpected(*reply, doing);
  return reply;
}

}  // namespace

Status fill_tubes(const Target& target, uint64_t tubes, uint32_t body_bytes,
                  tool::StopSignals& signals) {
  Result<tool::ServerConnection> server = tool::open_server(server_address(target));
  if (!server.ok()) return server.take_status();
  const std::string body(body_bytes, 'x');
  for (uint64_t first = 0; first < tubes; first += tubes_per_round) {
    const uint64_t end = std::min(tubes, first + tubes_per_round);
    for (uint64_t tube = first; tube < end; ++tube) {
      server->add(Use{fmt::format("bench-{}", tube)});
      server->add(a_put(body), body);
    }
    for (uint64_t tube = first; tube < end; ++tube) {
      const Result<wire::ClientReply> used = receive(*server, Word::Using, "use");
      if (!used.ok()) return used.status();
      const Result<wire::ClientReply> put = receive(*server, Word::Inserted, "put");
      if (!put.ok()) return put.status();
    }
    if (Status s = check_stop(signals); !s.ok()) return s;
  }
  return {};
}

Status bury_one_job(const Target& target, uint32_t body_bytes) {
  constexpr uint32_t patience_s = 10;
  Result<tool::ServerConnection> server = tool::open_server(server_address(target));
  if (!server.ok()) return server.take_status();
  const std::string body(body_bytes, 'x');
  server->add(Use{"bench-buried"});
  server->add(Watch{"bench-buried"});
  server->add(a_put(body), body);
  server->add(ReserveWithTimeout{patience_s});
  for (const auto& [word, doing] :
       {std::pair(Word::Using, "use"), {Word::Watching, "watch"}, {Word::Inserted, "put"}}) {
    const Result<wire::ClientReply> reply = receive(*server, word, doing);
    if (!reply.ok()) return reply.status();
  }
  const Result<wire::ClientReply> reserved = receive(*server, Word::Reserved, "reserve");
  if (!reserved.ok()) return reserved.status();
  server->add(Bury{.id = reserved->number, .priority = 1024});
  const Result<wire::ClientReply> buried = server->receive();
  if (!buried.ok()) return buried.status();
  return buried->is(Word::Buried) ? Status() : tool::unexpected(*buried, "bury");
}

Result<std::vector<common::ClientStream>> open_idle(const Target& server, uint64_t count,
                                                    tool::StopSignals& signals) {
  std::vector<common::ClientStream> idle;
  for (uint64_t i = 0; i < count; ++i) {
    Result<common::ClientStream> stream = open_stream(server);
    if (!stream.ok())
      return stream.take_status().with(fmt::format("idle connection {} of {}", i + 1, count));
    idle.push_back(stream.take());
    if (Status s = check_stop(signals); !s.ok()) return s;
  }
  return idle;
}

Status allow_connections(uint64_t count) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  if (count + other_files <= files.rlim_max) return {};
  return {StatusCode::Io,
          fmt::format("{} connections need {} open files, here and in the server, and the hard "
                      "limit is {}: raise it (ulimit -Hn as root, or LimitNOFILE of systemd)",
                      count, count + other_files, files.rlim_max)};
}

}  // namespace perennial::bench
