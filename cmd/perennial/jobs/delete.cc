#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/arguments/consent.h"
#include "cmd/perennial/jobs/commands.h"
#include "cmd/perennial/jobs/each_job.h"
#include "cmd/perennial/jobs/job_pages.h"
#include "cmd/perennial/output/json.h"
#include "cmd/perennial/output/readable.h"

namespace perennial::tool {
namespace {

struct DeleteOptions {
  ServerAddress server = {};
  std::vector<std::string> ids;
  Consent consent = {};
};

// As a run reports it, and without the counts.
void show_what_would_be(const std::vector<JobId>& ids, const std::vector<JobId>& found, bool json) {
  const std::string why = "it is not there, or a worker has it";
  auto deleted = nlohmann::ordered_json::array();
  auto errors = nlohmann::ordered_json::array();
  for (const JobId id : ids) {
    if (std::ranges::find(found, id) != found.end()) {
      deleted.push_back(json_id(id));
      continue;
    }
    if (!json) complain("delete", fmt::format("job {}: {}", id, why));
    const nlohmann::ordered_json error = {{"id", json_id(id)}, {"message", why}};
    errors.push_back(error);
  }
  if (!json) return;
  print_result({{"dry_run", true}, {"deleted", std::move(deleted)}, {"errors", std::move(errors)}});
}

// Whether to delete them. Nobody is asked about one job: whoever types an id means it.
Result<Decision> decide_on(ServerConnection& server, const std::vector<JobId>& ids,
                           const Consent& consent) {
  if (!consent.dry_run && (consent.yes || ids.size() == 1)) return Decision::Do;
  const Result<FoundJobs> found = find_unreserved(server, ids);
  if (!found.ok()) return found.status();
  const uint64_t count = found->ids.size();
  // Nothing will be deleted, and it is said of each id why.
  if (count == 0 && !consent.dry_run) return Decision::Do;
  if (consent.dry_run) show_what_would_be(ids, found->ids, consent.json);
  return decide(consent, {.act = fmt::format("delete {} ({}) at {}", count_text(count, "job"),
                                             states_text(found->counts), server.address()),
                          .count = count,
                          .why_nothing = fmt::format("none of these jobs at {} can be deleted",
                                                     server.address())});
}

// perennial delete: deletes jobs by their ids.
Status delete_jobs(const DeleteOptions& options) {
  const Result<std::vector<JobId>> ids = parse_ids(options.ids);
  if (!ids.ok()) return ids.status();
  Result<ServerConnection> server = open_server(options.server);
  if (!server.ok()) return server.take_status();
  const Result<Decision> decision = decide_on(*server, *ids, options.consent);
  if (!decision.ok()) return decision.status();
  if (*decision != Decision::Do) return {};
  return run_on_each(*server, *ids,
                     {.subcommand = "delete",
                      .done = "deleted",
                      .command = [](JobId id) { return Delete{id}; },
                      .success = Word::Deleted,
                      .reason =
                          [](std::string_view /*state*/) {
                            return "a worker has it; only that worker can delete it, or anyone "
                                   "when its time is over "
                                   "('time-left' in 'perennial stats --job')";
                          },
                      .json = options.consent.json});
}

}  // namespace

Subcommand delete_command() {
  const auto options = std::make_shared<DeleteOptions>();
  return {
      .name = "delete",
      .summary = "Delete jobs by their ids",
      .about =
          "Ready, delayed and buried jobs, of any tube. A job that a worker has reserved cannot be "
          "deleted by anyone else. Several ids are all tried; each that fails is a line on "
          "standard error, and the exit code is then 1. There is no way back, unless the tube "
          "keeps what ends ('perennial set tube TUBE --keep 1d', 'perennial restore-job'): "
          "'perennial peek ID --body' saves the body first, and so several ids are asked about.",
      .examples =
          "  perennial delete 4711\n"
          "  perennial delete 4711 4712 4713 --yes --server unix:/run/perennial.sock\n",
      .flags = with_server_flags(
          options->server,
          with_consent_flags(options->consent,
                             {
                                 {"ID", "ID", "The numbers of the jobs", &options->ids, true},
                                 server_flag(options->server),
                             })),
      .run = [options] { return delete_jobs(*options); },
  };
}

}  // namespace perennial::tool
