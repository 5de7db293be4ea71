#include "cmd/perennial/checkpoints/checkpoint_create.h"

#include <cstdio>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cmd/common/tool/quiet.h"
#include "cmd/common/tool/server_connection.h"
#include "cmd/common/tool/tls_flags.h"
#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/checkpoints/commands.h"
#include "wire/client.h"

namespace perennial::tool {
namespace {

// Shows a line on standard error while the object exists, if that is a terminal.
class WaitingLine {
 public:
  WaitingLine() {
    if (shown_) fmt::print(stderr, "waiting for the checkpoint");
  }
  ~WaitingLine() {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
  }
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

 private:
  const bool shown_ = !is_quiet() && isatty(STDERR_FILENO) == 1;
};

Status error(const std::string& server, std::string message) {
  return {StatusCode::Io, fmt::format("{}: {}", server, message)};
}

// The Status for an answer that is no checkpoint.
Status refusal(const std::string& server, bool temporary, const wire::ClientReply& reply) {
  if (reply.is(Word::UnknownCommand)) {
    return error(server,
                 "the server does not take `checkpoint` from this address, or is not perennial: it "
                 "takes it from its own machine, by a loopback address or a unix socket, unless it "
                 "runs with checkpoint_from: any");
  }
  if (temporary && reply.is(Word::BadFormat)) {
    return error(server,
                 "the server is of an older version, which makes no temporary checkpoints: have it "
                 "make one (perennial checkpoint create), and use that with --data-dir");
  }
  if (reply.is(Word::Failed)) {
    const std::optional<CheckpointFailed> failed = wire::parse_checkpoint_failure(reply.text);
    return error(server, "no checkpoint was made: " + (failed ? failed->reason : reply.text));
  }
  return error(server, "the server answered " + describe(reply));
}

Result<CheckpointMade> request(ServerConnection& connection, bool temporary) {
  const std::string& server = connection.address();
  Result<wire::ClientReply> reply = [&] {
    const WaitingLine waiting;
    return connection.ask(Checkpoint{.temporary = temporary});
  }();
  if (!reply.ok()) return reply.take_status();
  if (!reply->is(Word::Ok)) return refusal(server, temporary, *reply);
  std::optional<CheckpointMade> made = wire::parse_checkpoint(reply->text);
  if (!made) return error(server, "the server's answer is not understood: " + reply->text);
  return std::move(*made);
}

}  // namespace

Result<CheckpointMade> request_checkpoint(const ServerAddress& server) {
  Result<ServerConnection> connection = ServerConnection::open(server);
  if (!connection.ok()) return connection.take_status();
  return request(*connection, false);
}

Result<CheckpointMade> request_temporary_checkpoint(ServerConnection& connection) {
  return request(connection, true);
}

Status checkpoint_create(const CheckpointCreateOptions& options) {
  const Result<CheckpointMade> made = request_checkpoint(options.server);
  if (!made.ok()) return made.status();
  if (!options.json) {
    std::puts(made->path.c_str());
    return {};
  }
  // A path may contain bytes that are not UTF-8, but JSON may not.
  const nlohmann::ordered_json out = {{"name", made->name},
                                      {"path", made->path},
                                      {"commit", made->commit},
                                      {"jobs", made->jobs},
                                      {"bytes", made->bytes.value_or(0)},
                                      {"took_ms", made->took_ms}};
  std::puts(out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  return {};
}

Subcommand checkpoint_create_command() {
  const auto options = std::make_shared<CheckpointCreateOptions>();
  return {
      .name = "checkpoint create",
      .summary = "Make a checkpoint of a running server",
      .about =
          "Asks the server for a copy of everything that it holds at this moment, waits until the "
          "copy is complete and verified, and prints its path. Clients are held up for some "
          "milliseconds, while the copy is cut; how long it then takes to verify depends on how "
          "much there is to read.\n\n"
          "The checkpoint is in the server's checkpoint_dir, on the server's machine. It shares "
          "tables with the database, and so takes little room at first, but it is on the same "
          "disk: copy it to another machine to be safe from the loss of this one. perennial "
          "restore makes a data directory of it, and every command that takes --data-dir reads it "
          "as it is.\n\n"
          "The server takes this from its own machine alone, unless its configuration says "
          "checkpoint_from: any. It can also make checkpoints by itself: checkpoint_every_s and "
          "checkpoint_keep. Those that are made by this command count among the ones that "
          "checkpoint_keep keeps; without a schedule, perennial checkpoint prune removes old "
          "ones.",
      .examples =
          "  perennial checkpoint create\n"
          "  # A backup on another machine.\n"
          "  path=$(perennial checkpoint create --server unix:/run/perennial.sock)\n"
          "  rsync -a \"$path\" backup.example:/srv/perennial/\n",
      .flags = with_server_flags(
          options->server,
          {
              server_flag(options->server),
              {"--json", "", "Print name, path, commit, jobs, bytes and took_ms as JSON",
               &options->json},
          }),
      .run = [options] { return checkpoint_create(*options); },
  };
}

}  // namespace perennial::tool
