#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/strings/escaping.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/jobs/commands.h"
#include "cmd/perennial/jobs/notes.h"
#include "cmd/perennial/output/output.h"
#include "cmd/perennial/output/readable.h"
#include "cmd/perennial/output/text.h"
#include "cmd/perennial/stats/stats_table.h"

namespace perennial::tool {
namespace {

struct PeekOptions {
  ServerAddress server = {};
  std::optional<uint64_t> id;
  // The next job of the tube in this state. Exactly one of the four is given.
  bool ready = false;
  bool delayed = false;
  bool buried = false;
  bool reserved = false;
  std::optional<uint64_t> ended;  // A job that has ended.
  std::string tube = "default";
  bool body = false;
  bool json = false;
};

struct JobNotes {
  std::vector<wire::ToldNote> told;
  std::vector<uint32_t> missing;  // The numbers of those that the job counts, and the disk lacks.
};

Status check(const PeekOptions& options) {
  const int given = options.id.has_value() + options.ended.has_value() + options.ready +
                    options.delayed + options.buried + options.reserved;
  if (given != 1) {
    return {StatusCode::InvalidArgument,
            "say which job: an ID, or one of --ready, --delayed, --buried, --reserved and --ended"};
  }
  if (options.body && options.json)
    return {StatusCode::InvalidArgument, "--body and --json exclude each other"};
  return check_tube_name(options.tube);
}

// All facts that there are, but what is left of the state that it had.
PeekEnded ended_question(JobId id) {
  PeekEnded question{.id = id};
  for (const JobFactRow& row : job_fact_rows)
    if (row.fact != JobFact::Left) question.with.add(row.fact);
  return question;
}

Command question(const PeekOptions& options) {
  if (options.ended) return ended_question(*options.ended);
  if (options.id) return Peek{*options.id};
  if (options.ready) return PeekReady{};
  if (options.delayed) return PeekDelayed{};
  if (options.reserved) return PeekReserved{};
  return PeekBuried{};
}

Status not_there(const PeekOptions& options) {
  if (options.ended) {
    return {StatusCode::NotFound,
            fmt::format("there is no ended job {}, or it is kept no longer", *options.ended)};
  }
  if (options.id) {
    return {StatusCode::NotFound,
            fmt::format("there is no job {0}; if it has ended, and its tube keeps such jobs, "
                        "'perennial peek --ended {0}' shows it",
                        *options.id)};
  }
  const char* const state = options.ready      ? "ready"
                            : options.delayed  ? "delayed"
                            : options.reserved ? "reserved"
                                               : "buried";
  return {StatusCode::NotFound, fmt::format("tube '{}' has no {} job", options.tube, state)};
}

void print_json(const StatsReply& stats, const std::string& body,
                const std::vector<wire::ToldNote>& notes) {
  nlohmann::ordered_json out = nlohmann::ordered_json::parse(to_json(stats));
  if (is_utf8(body)) {
    out["body"] = body;
  } else {
    out["body_base64"] = absl::Base64Escape(body);
  }
  // "notes" is how many there were.
  if (!notes.empty()) out["last_notes"] = notes_json(notes);
  std::puts(out.dump(2).c_str());
}

void print_text(const StatsReply& stats, const std::string& body, const JobNotes& notes) {
  fmt::print("{}  {:<22}  {} bytes\n\n{}", job_table(stats), "body", with_commas(body.size()),
             printable(body));
  if (!body.ends_with('\n')) fmt::print("\n");
  const std::string text = notes_text(notes.told, notes.missing);
  if (!text.empty()) fmt::print("\n{}", text);
}

// A job that has no notes any more may be deleted: then nothing is damaged.
Result<JobNotes> notes_of(ServerConnection& server, JobId id, uint64_t had) {
  JobNotes out;
  if (had == 0) return out;
  auto told = ask_notes(server, id);
  if (!told.ok()) return told.take_status();
  if (!*told) return out;
  out.told = *std::move(*told);
  out.missing = missing_notes(out.told, had);
  if (out.missing.empty()) return out;
  const Result<StatsReply> again = ask_stats(server, StatsJob{id});
  if (!again.ok() && again.status().code() != StatusCode::NotFound) return again.status();
  if (!again.ok()) out.missing.clear();
  return out;
}

// "tube:mail pri:5" as the document that tells the same.
Result<StatsReply> stats_of_facts(const wire::ClientReply& found) {
  std::string document = fmt::format("---\nid: {}\nstate: ended\n", found.number);
  std::string_view rest = found.facts;
  while (!rest.empty()) {
    const std::string_view fact = rest.substr(0, rest.find(' '));
    const size_t colon = fact.find(':');
    document += fmt::format("{}: {}\n", fact.substr(0, colon), fact.substr(colon + 1));
    rest.remove_prefix(std::min(rest.size(), fact.size() + 1));
  }
  return StatsReply::parse(document);
}

// perennial peek: prints the fields and the body of a job without reserving it.
Status peek(const PeekOptions& options) {
  if (Status checked = check(options); !checked.ok()) return checked;
  Result<ServerConnection> server = open_server(options.server);
  if (!server.ok()) return server.take_status();
  ExtensionSet needed;
  if (options.reserved) needed = needed.with(Extension::PeekReserved);
  if (options.ended) needed = needed.with(Extension::Ended).with(Extension::With);
  if (Status known = require_extensions(*server, needed); !known.ok()) return known;
  if (!options.id && !options.ended)
    if (Status used = use_tube(*server, options.tube); !used.ok()) return used;
  const Result<wire::ClientReply> found = server->ask(question(options));
  if (!found.ok()) return found.status();
  if (found->is(Word::NotFound)) return not_there(options);
  if (!found->is(Word::Found)) return unexpected(*found, "peek");
  if (options.body) {
    Output out(STDOUT_FILENO);
    out.add(found->text);
    return out.finish();
  }
  const Result<StatsReply> stats =
      options.ended ? stats_of_facts(*found) : ask_stats(*server, StatsJob{found->number});
  if (!stats.ok() && stats.status().code() == StatusCode::NotFound)
    return {StatusCode::NotFound, fmt::format("job {} was deleted meanwhile", found->number)};
  if (!stats.ok()) return stats.status();
  const Result<JobNotes> notes = notes_of(*server, found->number, stats->count("notes"));
  if (!notes.ok()) return notes.status();
  options.json ? print_json(*stats, found->text, notes->told)
               : print_text(*stats, found->text, *notes);
  return {};
}

}  // namespace

Subcommand peek_command() {
  const auto options = std::make_shared<PeekOptions>();
  return {
      .name = "peek",
      .summary = "Look at a job and its body, without taking it",
      .about =
          "A job by its id, or the next one of a tube in one of its states: the ready job that a "
          "worker would get, the delayed one that is due first, the buried one that a kick would "
          "take, the reserved one with the lowest id, whoever has it. A beanstalkd does not tell "
          "of reserved jobs.\n\n"
          "Bytes of the body that a terminal might obey are shown as '\\x1b'; --body writes the "
          "bytes as they are. In JSON a body that is no UTF-8 is 'body_base64'. The last notes "
          "follow, which say why attempts have failed; one that is damaged on the server's disk is "
          "named as missing.",
      .examples =
          "  perennial peek 4711\n"
          "  perennial peek --buried --tube mail\n"
          "  perennial peek 4711 --body > body.bin\n",
      .flags = with_server_flags(
          options->server,
          {
              {"ID", "ID", "The number of the job", &options->id},
              server_flag(options->server),
              {"--ready", "", "The next ready job of the tube", &options->ready},
              {"--delayed", "", "The delayed job that is due first", &options->delayed},
              {"--buried", "", "The job that was buried first", &options->buried},
              {"--reserved", "", "The reserved job with the lowest id", &options->reserved},
              {"--ended", "ID", "A job that has ended and that its tube keeps", &options->ended},
              tube_flag(options->tube),
              {"--body", "", "The body and nothing else, byte by byte", &options->body},
              {"--json", "", "As JSON", &options->json},
          }),
      .run = [options] { return peek(*options); },
  };
}

}  // namespace perennial::tool
