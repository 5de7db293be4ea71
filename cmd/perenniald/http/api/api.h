#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/perenniald/http/api/body_windows.h"
#include "cmd/perenniald/http/api/commands.h"
#include "cmd/perenniald/http/api/ended_list.h"
#include "cmd/perenniald/http/api/events.h"
#include "cmd/perenniald/http/api/failures.h"
#include "cmd/perenniald/http/api/fields.h"
#include "cmd/perenniald/http/api/history.h"
#include "cmd/perenniald/http/api/note_lines.h"
#include "cmd/perenniald/http/api/operations.h"
#include "cmd/perenniald/http/api/search.h"
#include "cmd/perenniald/http/api/sources.h"
#include "cmd/perenniald/http/http.h"
#include "cmd/perenniald/http/leases/leases.h"
#include "cmd/perenniald/http/needs.h"
#include "cmd/perenniald/http/sign_in.h"

namespace perennial::http {

// The API below /api/v1, which openapi.json describes. Nothing is changed by a GET.
class Api {
 public:
  // What a request may have as its body. Only a job may be large; and whoever has not signed in has
  // nothing to say but a token. The longest note fits however it is escaped.
  static constexpr size_t small_body_bytes_max = 4 << 10;
  static constexpr size_t note_body_bytes_max = 32 << 10;
  static constexpr size_t job_body_bytes_max = 1 << 20;
  // A selection of so many jobs, each named by an id of at most 20 digits.
  static constexpr size_t selected_max = 1'000;
  static constexpr size_t selection_body_bytes_max = 32 << 10;

  // One method and path: "/api/v1/jobs/{id}" stands for every id.
  struct Route {
    std::string_view method;
    std::string_view path;
    Needs needs;
    // Whether it is answered before anybody has signed in.
    bool is_open = false;
    // Whether it is answered before the jobs are loaded, which a standby waits for.
    bool is_early = false;
    size_t body_bytes_max = small_body_bytes_max;
  };

  explicit Api(ApiSources& sources);

  // Whether the path is one of the API's.
  static bool owns(std::string_view path);
  // Whether the request is answered before the jobs are loaded.
  static bool is_early(const Request& request);
  // Whether the request shows a token in its body.
  static bool is_sign_in(const Request& request);
  // Whether a worker asks, for jobs or with a lease. That costs what a command of the queue does,
  // and those are not limited.
  static bool is_work(const Request& request);
  // The largest body of a request: MessageLimits::body_bytes_max_of.
  static size_t body_bytes_max_of(std::string_view method, std::string_view path);
  Http::Handled handle(const Request& request, const Caller& caller);
  // A line of the audit for a request beyond the API's paths. `missing`: the verb for want of which
  // it is refused, which counts it; none: it is allowed. Nothing without users.
  void audit_other(std::string_view action, const Request& request, const Caller& caller,
                   std::optional<access::Verb> missing);
  // Once a second.
  void on_time();
  // What the next run of the server needs to show of this one, and what this one takes from it.
  SavedHistory saved_history() const { return history_.server().save(); }
  // REQUIRES: on_time() was not called.
  void restore_history(const SavedHistory& saved) {
    history_.restore_server(saved, sources_.now());
  }
  // How many streams of events are open.
  size_t event_streams() const { return events_.count(); }
  LeaseCounts leases_count() const { return {leases_.count(), Leases::max.all}; }
  static std::span<const Route> routes();

 private:
  // A request, with the texts that stand for the names in braces.
  struct Ask {
    const Request& request;
    const Caller& caller;
    const Route& route;
    std::vector<std::string> names = {};
  };
  using Made = std::unique_ptr<Answer>;
  using Function = Made (Api::*)(const Ask&);
  struct Row {
    Route route;
    Function function;
  };
  static const Row rows[];

  // ---- server_reads.cc
  Made node(const Ask& ask);
  Made server(const Ask& ask);
  Made server_details(const Ask& ask);
  Made work_times(const Ask& ask);
  Made audit(const Ask& ask);
  Made connections(const Ask& ask);
  Made configuration(const Ask& ask);

  // ---- reads.cc
  Made tubes(const Ask& ask);
  Made tube(const Ask& ask);
  Made jobs(const Ask& ask);
  Made jobs_of_tube(const Ask& ask);
  Made count_jobs(const Ask& ask);
  Made job(const Ask& ask);
  Made body(const Ask& ask);
  Made operations(const Ask& ask);
  Made operation(const Ask& ask);
  Made events(const Ask& ask);
  Made history(const Ask& ask);
  Made search(const Ask& ask);
  Made session(const Ask& ask);
  Made description(const Ask& ask);
  // The jobs of the request's tube and states behind `after`. None: `refusal` says why.
  std::optional<ListJobs> asked_jobs(const Ask& ask, std::string tube, Made& refusal,
                                     uint64_t& limit);
  Made list_jobs(const Ask& ask, std::string tube);
  Made tube_settings(const Ask& ask);
  Json settings_of(const std::string& tube) const;

  // ---- failures.cc
  Made failures(const Ask& ask);

  // ---- selection.cc
  Made act_on_jobs(const Ask& ask);

  // ---- life.cc
  Made life(const Ask& ask);

  // ---- ended.cc
  Made ended(const Ask& ask);
  Made ended_of_tube(const Ask& ask);
  Made ended_job(const Ask& ask);
  Made ended_body(const Ask& ask);
  Made restore_job(const Ask& ask);

  // ---- changes.cc
  Made sign_in(const Ask& ask);
  Made sign_out(const Ask& ask);
  Made put(const Ask& ask);
  Made put_several(const Ask& ask);
  Made delete_job(const Ask& ask);
  Made notes(const Ask& ask);
  Made note_job(const Ask& ask);
  Made kick_job(const Ask& ask);
  Made bury_job(const Ask& ask);
  Made change_job(const Ask& ask);
  Made pause_tube(const Ask& ask);
  Made set_tube(const Ask& ask);
  Made kick_tube(const Ask& ask);
  Made start_operation(const Ask& ask);
  Made start_restore(const Ask& ask, Fields& fields, OperationAsked asked);
  Made cancel_operation(const Ask& ask);
  Made close_connection(const Ask& ask);
  Made drain(const Ask& ask);
  Made undrain(const Ask& ask);
  Made checkpoint(const Ask& ask);
  Made reload(const Ask& ask);
  Made hand_over(const Ask& ask);

  // ---- work.cc
  Made reserve_jobs(const Ask& ask);
  Made finish_lease(const Ask& ask);
  Made release_lease(const Ask& ask);
  Made bury_lease(const Ask& ask);
  Made touch_lease(const Ask& ask);
  Made note_lease(const Ask& ask);
  // An answer to a command for the job of the lease in the path. `value` is the response to one of
  // the words that are hoped for.
  template <typename CommandOf>
  Made by_lease(const Ask& ask, std::vector<Word> hoped, CommandOf command_of,
                std::function<Json(uint64_t lease, const wire::ClientReply&)> value);

  // ---- schedules.cc
  Made schedules(const Ask& ask);
  Made schedule(const Ask& ask);
  Made set_schedule(const Ask& ask);
  Made delete_schedule(const Ask& ask);
  Made pause_schedule(const Ask& ask);
  Made run_schedule(const Ask& ask);
  Made schedule_times(const Ask& ask);

  // ---- lease_admin.cc
  Made leases(const Ask& ask);
  Made end_lease(const Ask& ask);

  // ---- api.cc
  // Refuses what no grant of the caller allows, counts that by the verb that is missing, and writes
  // a line of the audit. `subject`: the tube, "job 7", or nothing.
  Made forbidden(const Ask& ask, access::Verb missing, std::string subject = {});
  // Refuses what the queue would refuse if the caller sent it this command. Null: it is allowed.
  // `absent`: what a job that is not there is answered, and one that the caller may not see.
  Made refused(const Ask& ask, const Command& command,
               std::string_view absent = "There is no such job.");
  void on_refused(const Ask& ask, std::optional<access::Verb> missing, std::string subject);
  // Writes a line of the audit for a change that is no command of the queue.
  void audit_change(const Ask& ask, std::string_view action, std::string subject);
  // An answer to commands of which the last one must be answered with `hoped`. `value` is the
  // response then.
  Made change(const Ask& ask, std::vector<QueueCommand> commands, Word hoped,
              std::function<Json(const wire::ClientReply&)> value);
  // The response to any other answer.
  using Refusal = std::function<Response(const wire::ClientReply&)>;
  Made change(const Ask& ask, std::vector<QueueCommand> commands, Word hoped,
              std::function<Json(const wire::ClientReply&)> value, Refusal refusal);
  // Tells a job that is not there (404) from one whose state is `forbidding` (409), but only to a
  // caller who has this verb on the tube of the job.
  Refusal refusal_for(const Ask& ask, JobId id, access::Verb verb,
                      std::vector<JobState> forbidding) const;

  Json server_json() const;
  // The same, with what the caller may do.
  Json server_json(const Caller& caller) const;
  std::string frame(const std::string& topic) const;

  ApiSources& sources_;
  Leases leases_;
  Operations operations_;
  Events events_;
  History history_;
  Searches searches_;
  EndedLists ended_lists_;
  BodyWindows body_windows_;
  NoteCache notes_read_;
  Failures failures_;
};

}  // namespace perennial::http
