#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cmd/common/tool/quiet.h"
#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/jobs/commands.h"

namespace perennial::tool {
namespace {

struct NoteOptions {
  ServerAddress server = {};
  std::optional<uint64_t> id;
  std::string text;  // "-": from standard input.
  bool json = false;
};

Result<std::string> read_text(const NoteOptions& options) {
  if (options.text != "-") return options.text;
  std::string text;
  char bytes[note_bytes_max];
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (count < 0) return Status(StatusCode::Io, "standard input cannot be read");
    if (count == 0) return text;
    text.append(bytes, static_cast<size_t>(count));
    // The server says how much is too much; the rest is not needed for that.
    if (text.size() > note_bytes_max) return text;
  }
}

Status explain(const wire::ClientReply& reply, JobId id) {
  if (reply.is(Word::NotFound))
    return {StatusCode::NotFound, fmt::format("there is no job {}", id)};
  if (reply.is(Word::JobTooBig)) {
    return {StatusCode::InvalidArgument,
            fmt::format("a note has at most {} bytes", note_bytes_max)};
  }
  return unexpected(reply, "note");
}

// perennial note: says something about a job.
Status note(const NoteOptions& options) {
  Result<std::string> text = read_text(options);
  if (!text.ok()) return text.take_status();
  if (text->empty()) return {StatusCode::InvalidArgument, "a note has a text"};
  Result<ServerConnection> server = open_server(options.server);
  if (!server.ok()) return server.take_status();
  Status known = require_extensions(*server, ExtensionSet().with(Extension::Notes));
  if (!known.ok()) return known;
  const JobId id = *options.id;
  const auto bytes = static_cast<uint32_t>(text->size());
  const Result<wire::ClientReply> reply =
      server->ask(NoteJob{.id = id, .bytes = bytes, .text = text.take()});
  if (!reply.ok()) return reply.status();
  if (!reply->is(Word::Noted)) return explain(*reply, id);
  if (options.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"noted", id}}.dump());
  } else if (!is_quiet()) {
    fmt::print("noted {}\n", id);
  }
  return {};
}

}  // namespace

Subcommand note_command() {
  const auto options = std::make_shared<NoteOptions>();
  return {
      .name = "note",
      .summary = "Say something about a job: why it failed, what was done about it",
      .about =
          "A job keeps its last three notes, each with its time, the number of the attempt and the "
          "user who wrote it; 'perennial peek ID' shows them, and 'perennial list TUBE --wide' the "
          "first and the last line of the newest. 'perennial work' writes one for each command "
          "that fails. A note has at most 4,096 bytes. It goes with the job to other tubes and "
          "into dumps, and is gone with the job. A beanstalkd has no such command.",
      .examples =
          "  perennial note 4711 'the address was wrong, asked sales'\n"
          "  tail -n 20 import.log | perennial note 4711 -\n",
      .flags = with_server_flags(
          options->server,
          {
              {"ID", "ID", "The number of the job", &options->id, true},
              {"TEXT", "TEXT", "The text; '-': from standard input", &options->text, true},
              server_flag(options->server),
              {"--json", "", "Report as JSON", &options->json},
          }),
      .run = [options] { return note(*options); },
  };
}

}  // namespace perennial::tool
