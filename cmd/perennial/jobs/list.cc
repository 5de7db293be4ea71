#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cmd/common/tool/colours.h"
#include "cmd/common/tool/quiet.h"
#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/arguments/protocol_option.h"
#include "cmd/perennial/jobs/commands.h"
#include "cmd/perennial/jobs/job_list.h"
#include "cmd/perennial/jobs/job_pages.h"
#include "cmd/perennial/jobs/notes.h"
#include "cmd/perennial/output/readable.h"

namespace perennial::tool {
namespace {

struct ListOptions {
  ServerAddress server = {};
  std::string tube;  // "*": all tubes.
  std::optional<std::string> states = {};
  std::optional<std::string> match = {};
  std::optional<std::string> key = {};
  uint64_t after = 0;
  uint64_t limit = 100;  // 0: none.
  bool wide = false;
  bool json = false;
};

constexpr std::string_view all_tubes = "*";

// What the command asks for, apart from the cursor and the count.
Result<ListJobs> read_list(const ListOptions& options, ExtensionSet& needed) {
  ListJobs command;
  const bool all = options.tube == all_tubes;
  if (all && options.key)
    return Status(StatusCode::InvalidArgument, "--idp is a key of one tube, and not of all");
  if (!all) {
    if (Status checked = check_tube_name(options.tube); !checked.ok()) return checked;
    command.tube = options.tube;
  }
  command.after = options.after;
  Status read =
      read_options<ListJobs>({{"state", options.states}, {"idp", options.key}}, command, needed);
  if (!read.ok()) return read;
  if (command.states.are_ended) {
    needed = needed.with(Extension::Ended);
    if (all || options.key || options.match) {
      return Status(StatusCode::InvalidArgument,
                    "--state ended is of one tube, and goes neither with --idp nor with --match");
    }
  }
  return command;
}

// The ranges, in the words of flush.
Result<JobMatch> read_match(const ListOptions& options) {
  FlushTube flush;
  ExtensionSet of_flush;
  Status read = read_options<FlushTube>({{"match", options.match}}, flush, of_flush);
  if (!read.ok()) return read;
  return flush.match;
}

// Asks for a page, and leaves out what does not fit and what is behind the last job that is wanted.
Result<Listing> ask_fitting(ServerConnection& server, ListJobs& command, const JobMatch& match,
                            uint64_t left) {
  // Without ranges each job of a page is shown.
  command.count.value = match.is_set() ? list_count_max : std::min<uint64_t>(left, list_count_max);
  Result<Listing> page = ask_page(server, command);
  if (!page.ok()) return page;
  if (Status kept = keep_matching(server, match, page->rows); !kept.ok()) return kept;
  if (page->rows.size() > left) {
    page->rows.resize(left);
    page->cursor = page->rows.back().count("id");
  }
  return page;
}

// The text of the newest note. Empty: the job has none.
Result<std::string> newest_note(ServerConnection& server, const StatsReply& job) {
  if (job.count("notes") == 0) return std::string();
  const auto notes = ask_notes(server, job.count("id"));
  if (!notes.ok()) return notes.status();
  return *notes && !(*notes)->empty() ? (*notes)->back().text : std::string();
}

// Prints jobs as they come, because there may be millions.
class Printer {
 public:
  Printer(bool json, JobListColumns columns) : json_(json), columns_(columns) {}

  void begin() const {
    const std::string heading = with_bold_heading(job_list_heading(columns_), STDOUT_FILENO);
    std::fputs(json_ ? "{\"jobs\": [" : heading.c_str(), stdout);
  }
  // `note`: the text of the newest one, of a wide list.
  void add(const StatsReply& job, const std::string& note) {
    if (json_) std::fputs(printed_ == 0 ? "\n" : ",\n", stdout);
    const std::string line =
        json_ ? json_of(job, note) : job_list_line(job, columns_, note_line(note));
    std::fputs(line.c_str(), stdout);
    ++printed_;
  }
  // `cursor` is 0 if these were all.
  void end(JobId cursor) const {
    if (json_) {
      fmt::print("{}], \"cursor\": {}}}\n", printed_ == 0 ? "" : "\n", cursor);
    } else if (cursor != 0 && !is_quiet()) {
      complain("list", fmt::format("there may be more: --after {}", cursor));
    }
  }

 private:
  std::string json_of(const StatsReply& job, const std::string& note) const {
    if (!columns_.note) return to_json(job);
    nlohmann::ordered_json out = nlohmann::ordered_json::parse(to_json(job));
    out["last_note"] = note;
    return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  const bool json_;
  const JobListColumns columns_;
  uint64_t printed_ = 0;
};

// perennial list: prints a line for each job of a tube.
Status list(const ListOptions& options) {
  ExtensionSet needed = ExtensionSet().with(Extension::ListJobs);
  Result<ListJobs> command = read_list(options, needed);
  if (!command.ok()) return command.take_status();
  const Result<JobMatch> match = read_match(options);
  if (!match.ok()) return match.status();
  Result<ServerConnection> server = open_server(options.server);
  if (!server.ok()) return server.take_status();
  if (Status known = require_extensions(*server, needed); !known.ok()) return known;
  Printer printer(options.json, {.tube = options.tube == all_tubes,
                                 .note = options.wide,
                                 .ended = command->states.are_ended});
  uint64_t left = options.limit == 0 ? UINT64_MAX : options.limit;
  bool begun = false;
  do {
    const Result<Listing> page = ask_fitting(*server, *command, *match, left);
    // A tube that ends between two pages has no more jobs.
    const bool is_missing = !page.ok() && page.status().code() == StatusCode::NotFound;
    if (!page.ok() && !(begun && is_missing)) return page.status();
    if (!std::exchange(begun, true)) printer.begin();
    command->after = page.ok() ? page->cursor : 0;
    if (!page.ok()) break;
    for (const StatsReply& job : page->rows) {
      const Result<std::string> note = options.wide ? newest_note(*server, job) : std::string();
      if (!note.ok()) return note.status();
      printer.add(job, *note);
    }
    left -= page->rows.size();
  } while (left > 0 && command->after != 0);
  printer.end(command->after);
  return {};
}

}  // namespace

Subcommand list_command() {
  const auto options = std::make_shared<ListOptions>();
  return {
      .name = "list",
      .summary = "List the jobs of a tube, a line each, in the order of their ids",
      .about =
          "LEFT is what is left of a delay or of a reservation. RESERVES counts how often the job "
          "was reserved, and ATTEMPTS those of them that have failed where 'tries' or 'backoff' is "
          "in force. '-' is 0. A ready job is 'parked' while as many jobs with its concurrency key "
          "are "
          "reserved as may be; in JSON its state is 'ready', and 'parked' is true. Bodies are not "
          "shown: 'perennial peek ID' shows one.\n\n"
          "With --wide LAST NOTE is the first and the last line of the newest note of a job, at "
          "most "
          "120 characters of them: '~' marks that there are more. In JSON 'last_note' is the whole "
          "text. 'perennial peek ID' shows all notes.\n\n"
          "--state and --match take what they take in 'perennial flush', 'move' and 'kick': with "
          "--match only jobs whose age, priority, number of reservations or of timeouts "
          "is in the ranges given. The tool picks them out itself, so it reads all jobs of the "
          "tube.\n\n"
          "The server looks at the jobs page by page, and serves others in between, so a list of "
          "many jobs is not one moment. If there are more jobs than --limit, the last line, on "
          "standard error, says how to go on; with --json it is 'cursor', which is 0 at the end. "
          "--state ended shows those that the tube keeps of the jobs that have ended ('perennial "
          "set "
          "tube --keep'), the last one first: how each has ended, how long ago, and by whom. "
          "'perennial restore-job' puts one back.\n\n"
          "A beanstalkd has no such command.",
      .examples =
          "  perennial list mail\n"
          "  perennial list mail --state buried,delayed --limit 0\n"
          "  # What was deleted, flushed or has expired, and is kept:\n"
          "  perennial list mail --state ended\n"
          "  # Why did they fail?\n"
          "  perennial list mail --state buried --wide\n"
          "  # Which job has the key?\n"
          "  perennial list mail --idp welcome-42\n"
          "  # What 'perennial flush' with the same flags would delete:\n"
          "  perennial list mail --state buried --match reserves=10-\n"
          "  # Delete the buried jobs with large bodies:\n"
          "  perennial list mail --state buried --limit 0 --json |\n"
          "    jq '.jobs[] | select(.bytes > 10000).id' | xargs perennial delete --yes\n",
      .flags = with_server_flags(
          options->server,
          {
              {"TUBE", "TUBE", "The tube; '*': all tubes", &options->tube, true},
              server_flag(options->server),
              option_flag("state", "Only jobs in these states", options->states),
              option_flag("match", "Only jobs in these ranges", options->match),
              {"--idp", "KEY", "Only the job that has this key", &options->key},
              {"--after", "ID",
               "Only jobs with higher ids; with --state ended what is behind this cursor",
               &options->after},
              {"--limit", "N", "At most so many jobs; 0: all", &options->limit},
              {"--wide", "", "With the newest note of each", &options->wide},
              {"--json", "", "As JSON", &options->json},
          }),
      .run = [options] { return list(*options); },
  };
}

}  // namespace perennial::tool
