#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cmd/common/exit_codes.h"
#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/arguments/body.h"
#include "cmd/perennial/arguments/protocol_option.h"
#include "cmd/perennial/jobs/commands.h"
#include "cmd/perennial/jobs/put_request.h"
#include "cmd/perennial/jobs/putter.h"

namespace perennial::tool {
namespace {

// Reads all replies before it waits for more input, so that a typed line, or a line that is
// appended to a log, becomes a job at once.
Status put_lines(Putter& putter, std::istream& input) {
  for (std::string line; std::getline(input, line);) {
    Status added = putter.add(line);
    if (added.ok() && input.rdbuf()->in_avail() <= 0) added = putter.flush_batch();
    if (!added.ok()) return added;
  }
  if (Status flushed = putter.flush_batch(); !flushed.ok()) return flushed;
  if (putter.failures() == 0) return {};
  return {StatusCode::Io,
          fmt::format("{} of {} lines were not put", putter.failures(), putter.answered())};
}

Status put_whole(Putter& putter, std::istream& input) {
  const std::string body{std::istreambuf_iterator<char>(input), std::istreambuf_iterator<char>()};
  if (Status added = putter.add(body); !added.ok()) return added;
  return putter.flush_batch();
}

Status put_input(Putter& putter, const PutOptions& options, std::istream& input) {
  Status done = options.lines ? put_lines(putter, input) : put_whole(putter, input);
  if (done.ok() && input.bad()) return {StatusCode::Io, "the input could not be read to its end"};
  return done;
}

Status put_argument(Putter& putter, const PutOptions& options) {
  if (!options.lines) {
    if (Status added = putter.add(options.body.argument.front()); !added.ok()) return added;
    return putter.flush_batch();
  }
  std::istringstream input(options.body.argument.front());
  return put_lines(putter, input);
}

Status put_body(Putter& putter, const PutOptions& options, std::istream& file) {
  if (!options.body.file.empty()) return put_input(putter, options, file);
  if (!options.body.is_standard_input()) return put_argument(putter, options);
  std::ios::sync_with_stdio(false);
  return put_input(putter, options, std::cin);
}

// perennial put: puts a job, or one job for each line. Prints the ids. Returns the exit status:
// exit_duplicate if another job has the key.
Result<int> put(const PutOptions& options) {
  if (Status checked = check_body(options.body); !checked.ok()) return checked;
  if (Status checked = check_tube_name(options.tube); !checked.ok()) return checked;
  Result<PutRequest> request = read_put(options);
  if (!request.ok()) return request.take_status();
  std::ifstream file;
  if (!options.body.file.empty()) {
    Result<std::ifstream> opened = open_body_file(options.body.file);
    if (!opened.ok()) return opened.take_status();
    file = opened.take();
  }
  Result<ServerConnection> server = open_server(options.server);
  if (!server.ok()) return server.take_status();
  // The body of a put with options that the server does not know would be run as commands.
  if (Status known = require_extensions(*server, request->needed); !known.ok()) return known;
  if (Status used = use_tube(*server, options.tube); !used.ok()) return used;
  Putter putter(*server, options.tube, std::move(request->put),
                {.has_lines = options.lines, .json = options.json});
  Status done = put_body(putter, options, file);
  if (options.json) putter.report();
  if (!done.ok()) return done;
  return putter.is_duplicate() ? common::exit_duplicate : common::exit_clean;
}

}  // namespace

Subcommand put_command() {
  const auto options = std::make_shared<PutOptions>();
  return {
      .name = "put",
      .summary = "Put a job, or one for each line of the input",
      .about =
          "The body is the argument, a file, or standard input, all its bytes as they are. The id "
          "of the job is printed.\n\n"
          "With --lines each line is a job, without its line feed, empty lines too; the ids come "
          "in the order of the lines. A line that the server refuses is reported, and the rest "
          "goes on; when the server takes no job at all any more, it ends there.\n\n"
          "A time is written as '90s', '15m', '1h30m', '2d' or '250ms'; a number alone is seconds. "
          "Milliseconds, and the options from --idp on, need a server that has these extensions; a "
          "beanstalkd "
          "has not.\n\n"
          "With --idp the job is put only if no other job of the tube has this key, so that a put "
          "whose answer was lost can be repeated. If another job has it, the id of that job is "
          "printed, and its state on standard error, and the exit code is 3. The key is taken as "
          "long as the job exists, and DURATION more. --until reserved gives it up at the first "
          "reservation, and --until ttl DURATION after the put.\n\n"
          "With --con at most JOBS jobs of the tube that have this key are reserved at once, 1 if "
          "it "
          "is left out. While they are, the other ready jobs with the key are parked: no worker "
          "gets "
          "them, and 'perennial tubes' and 'perennial list' say so.",
      .examples =
          "  perennial put 'hello'\n"
          "  perennial put --tube mail --delay 1m --file message.json\n"
          "  generate | perennial put --tube mail --lines\n"
          "  # A body that begins with '-':\n"
          "  perennial put -- -v\n"
          "  # Only once, with five tries, and dropped if nobody takes it within an hour:\n"
          "  perennial put --tube mail --idp welcome-42:1h --tries 5 --backoff 10s:10m \\\n"
          "    --expire 1h 'hello'\n"
          "  # Two jobs of this customer are worked on at once:\n"
          "  perennial put --tube reports --con customer-42:2 'report'\n",
      .flags = with_server_flags(
          options->server,
          {
              {"BODY", "TEXT", "The body; '-' or nothing: standard input", &options->body.argument},
              server_flag(options->server),
              {"--file", "FILE", "The body is in this file", &options->body.file},
              tube_flag(options->tube),
              {"--pri", "N", "The priority; 0 is the most urgent", &options->priority},
              option_flag("delay", "How long before it becomes ready", options->delay),
              option_flag("ttr", "How long a worker may hold it", options->ttr),
              {"--lines", "", "Each line of the body is a job", &options->lines},
              {"--json", "", "Report as JSON, when all is put", &options->json},
              option_flag("idp", "Put it only if no job of the tube has this key", options->idp),
              until_flag(options->until),
              option_flag("tries", "It is dead after so many failed attempts", options->tries),
              option_flag("backoff", "Its delay after each failed attempt, doubled up to CAP",
                          options->backoff),
              option_flag("dead", "It moves to this tube when it is dead; without, it is buried",
                          options->dead),
              option_flag("expire", "It expires if nobody has taken it after so long",
                          options->expire),
              option_flag("con", "At most so many jobs of the tube with this key are reserved; 1",
                          options->concurrency),
          }),
      .run_to_exit_status = [options] { return put(*options); },
      .exit_statuses = {{common::exit_duplicate, "when another job has the key of --idp"}},
  };
}

}  // namespace perennial::tool
