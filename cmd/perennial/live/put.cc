#include "cmd/perennial/live/put.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "cmd/perennial/output/readable.h"

namespace perennial::tool {
namespace {

// Puts ahead of their replies, whose lines are short.
constexpr size_t in_flight_max = 1000;
constexpr size_t queued_bytes_max = size_t{1} << 20;

bool from_stdin(const PutOptions& options) {
  return options.file.empty() && (options.body.empty() || options.body.front() == "-");
}

Status check(const PutOptions& options) {
  if (options.body.size() > 1)
    return {StatusCode::InvalidArgument, "more than one body: one with spaces needs quotes"};
  if (!options.body.empty() && !options.file.empty())
    return {StatusCode::InvalidArgument, "a body and --file exclude each other"};
  if (options.body.empty() && options.file.empty() && ::isatty(STDIN_FILENO) == 1) {
    return {StatusCode::InvalidArgument,
            "no body: give it as an argument, with --file, or on standard input"};
  }
  return check_tube_name(options.tube);
}

class Putter {
 public:
  Putter(ServerConnection& server, const PutOptions& options)
      : server_(server), options_(options) {}

  Status add(std::string_view body) {
    if (body.size() > u32_max)
      return {StatusCode::InvalidArgument, "a body has more than 4 GiB, and no server takes it"};
    server_.add(Put{.priority = options_.priority,
                    .delay_s = options_.delay_s,
                    .ttr_s = options_.ttr_s,
                    .body_bytes = static_cast<uint32_t>(body.size())},
                body);
    ++in_flight_;
    const bool full = in_flight_ >= in_flight_max || server_.queued_bytes() >= queued_bytes_max;
    return full ? settle() : Status();
  }

  // Reads all the replies that are due. Fails when no further put would do better.
  Status settle() {
    for (; in_flight_ > 0; --in_flight_) {
      ++answered_;
      Result<wire::ClientReply> reply = server_.receive();
      if (!reply.ok()) {
        return std::move(reply.take_status())
            .with(fmt::format("{} jobs were put, {} more may have been", done(), in_flight_));
      }
      take(*reply);
    }
    std::fflush(stdout);
    return ended_;
  }

  uint64_t failures() const { return failures_; }
  uint64_t answered() const { return answered_; }

 private:
  uint64_t done() const { return answered_ - failures_; }

  void take(const wire::ClientReply& reply) {
    if (reply.kind == wire::ClientReply::Kind::Inserted) {
      fmt::print("{}\n", reply.id);
      return;
    }
    ++failures_;
    const std::string message = refusal(reply);
    if (options_.lines) complain("put", fmt::format("line {}: {}", answered_, message));
    const bool final = reply.is(Word::Draining) || reply.is(Word::OutOfMemory);
    if (final || !options_.lines) ended_ = Status(StatusCode::Io, message);
  }

  static std::string refusal(const wire::ClientReply& reply) {
    if (reply.kind == wire::ClientReply::Kind::InsertedBuried)
      return fmt::format("BURIED {}: the server was out of memory and has buried it", reply.id);
    if (reply.is(Word::JobTooBig))
      return "JOB_TOO_BIG: the body has more bytes than the server's max-job-size";
    if (reply.is(Word::Draining)) return "DRAINING: the server takes no more jobs";
    if (reply.is(Word::OutOfMemory))
      return "OUT_OF_MEMORY: the server is at a limit, or its disk is nearly full; see 'perennial "
             "stats'";
    return "the server answered " + describe(reply);
  }

  ServerConnection& server_;
  const PutOptions& options_;
  size_t in_flight_ = 0;
  uint64_t answered_ = 0;
  uint64_t failures_ = 0;
  Status ended_;
};

// Before it waits for more input it settles what there is: a line that somebody types, or a log
// that grows, is a job at once.
Status put_lines(Putter& putter, std::istream& input) {
  for (std::string line; std::getline(input, line);) {
    Status added = putter.add(line);
    if (added.ok() && input.rdbuf()->in_avail() <= 0) added = putter.settle();
    if (!added.ok()) return added;
  }
  if (Status settled = putter.settle(); !settled.ok()) return settled;
  if (putter.failures() == 0) return {};
  return {StatusCode::Io,
          fmt::format("{} of {} lines were not put", putter.failures(), putter.answered())};
}

Status put_whole(Putter& putter, std::istream& input) {
  const std::string body{std::istreambuf_iterator<char>(input), std::istreambuf_iterator<char>()};
  if (Status added = putter.add(body); !added.ok()) return added;
  return putter.settle();
}

Status put_input(Putter& putter, const PutOptions& options, std::istream& input) {
  Status done = options.lines ? put_lines(putter, input) : put_whole(putter, input);
  if (done.ok() && input.bad()) return {StatusCode::Io, "the input could not be read to its end"};
  return done;
}

Status put_argument(Putter& putter, const PutOptions& options) {
  if (!options.lines) {
    if (Status added = putter.add(options.body.front()); !added.ok()) return added;
    return putter.settle();
  }
  std::istringstream input(options.body.front());
  return put_lines(putter, input);
}

}  // namespace

Status put(const PutOptions& options) {
  if (Status checked = check(options); !checked.ok()) return checked;
  std::ifstream file;
  if (!options.file.empty()) {
    file.open(options.file, std::ios::binary);
    // A directory opens, and only reading it fails.
    if (!file || (file.peek() == EOF && file.bad()))
      return {StatusCode::Io, fmt::format("{}: {}", options.file, std::strerror(errno))};
    file.clear();
  }
  Result<ServerConnection> server = open_server(options.server);
  if (!server.ok()) return server.take_status();
  if (Status used = use_tube(*server, options.tube); !used.ok()) return used;
  Putter putter(*server, options);
  if (!options.file.empty()) return put_input(putter, options, file);
  if (!from_stdin(options)) return put_argument(putter, options);
  std::ios::sync_with_stdio(false);
  return put_input(putter, options, std::cin);
}

Subcommand put_command(PutOptions& options) {
  return {
      .name = "put",
      .summary = "Put a job, or one for each line of the input",
      .about =
          "The body is the argument, a file, or standard input, all its bytes as they are. The id "
          "of the job is printed.\n\n"
          "With --lines each line is a job, without its line feed, empty lines too; the ids come "
          "in the order of the lines. A line that the server refuses is reported, and the rest "
          "goes on; when the server takes no job at all any more, it ends there.",
      .examples =
          "  perennial put 'hello'\n"
          "  perennial put --tube mail --delay 60 --file message.json\n"
          "  generate | perennial put --tube mail --lines\n"
          "  # A body that begins with '-':\n"
          "  perennial put -- -v\n",
      .flags =
          {
              {"BODY", "TEXT", "The body; '-' or nothing: standard input", &options.body},
              server_flag(options.server),
              {"--file", "FILE", "The body is in this file", &options.file},
              tube_flag(options.tube),
              {"--pri", "N", "The priority; 0 is the most urgent", &options.priority},
              {"--delay", "S", "Seconds before it becomes ready", &options.delay_s},
              {"--ttr", "S", "Seconds that a worker has for it", &options.ttr_s},
              {"--lines", "", "Each line of the body is a job", &options.lines},
          },
      .run = [&options] { return put(options); },
  };
}

}  // namespace perennial::tool
