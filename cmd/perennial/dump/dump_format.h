#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/perennial/output/output.h"
#include "engine/types/basic.h"
#include "engine/types/transition.h"
#include "store/format/format.h"

// What a dump is. Lines of JSON, UTF-8, each one object:
//
//   {"format":"perennial-dump","version":2,"jobs":{"ready":1,"reserved":0,"delayed":0,"buried":1},
//    "tubes":["default","mail"],"pauses":[{"tube":"mail","duration":N,"end":N}],
//    "settings":[{"tube":"mail","tries":3,"backoff":N,"backoff_cap":N}],"next_id":8,
//    "commit":{"epoch":2,"index":40,"known_durable":39,"now":N}}
//   {"schedule":"nightly","tube":"mail","cron":"30 2 * *
//   *","zone":"UTC","pri":0,"delay":0,"ttr":60,
//    "missed_max":1,"overlap":"skip","jitter":N,"state":"active","planned":N,"paused":false,
//    "last_planned":N,"last_fired":N,"last_job":3,"fired":7,"skipped":0,"missed":0,"bytes":2,
//    "body":"hi"}
//   {"id":3,"tube":"mail","state":"buried","pri":10,"delay":0,"ttr":60,"created":N,"bury_order":1,
//    "reserves":1,"timeouts":0,"releases":0,"buries":1,"kicks":0,"attempts":2,"tries":5,"idp":"k",
//    "idp_until":"deleted","bytes":5,"body":"hello"}
//   {"note":4,"job":3,"attempt":2,"time":N,"user":"mailer","text":"exit 3"}
//   {"idp":"k","tube":"mail","job":3,"until":"deleted"}
//   {"jobs":2,"keys":1,"notes":1,"schedules":1,"body_bytes":9,"xxh3_128":"0123..."}
//
// (each on a line of its own). The first names what is in the dump: how many jobs in each state,
// every tube, every pause and the settings of tubes, each sorted by tube. "selection" is there if
// not everything was asked for. Jobs come by id. A delayed one has "deadline", a buried one
// "bury_order". A body is "body" if it is UTF-8 and "body_base64" if not; beside
// "body_damaged":true it is what is there in its place, and with "body_missing":true there is none.
//
// A job has only those of these fields that are set: "attempts", "tries", "backoff" with
// "backoff_cap", "dead", "from", "expires", "idp" with "idp_until" ("deleted", "reserved" or
// "ttl"), "idp_ttl" (seconds) and "idp_given_up":true, "con" with "con_max", "delay_rest" and
// "ttr_rest" (what delay and ttr leave out, below a second), "notes" (how many it had), "restored"
// (the job that had ended and is this one), "put_by" (the user), "first_reserved", and
// "by_schedule" with "planned" (the schedule that put it, and for which time). The settings of a
// tube are "tries", "backoff" with "backoff_cap", "dead", "expire", "reserved", "rate" with
// "rate_period", "drain" (true or false), "keep" and "keep_max". Jobs that have ended are not in a
// dump.
//
// Before the jobs come the schedules, by name. A schedule has either "every" with "anchor", "cron"
// with "zone", or "at". Of these it has only what its jobs are put with: "tries", "backoff" with
// "backoff_cap", "dead", "expire", "idp" with "idp_ttl" and "idp_until", "con" with "con_max",
// "delay_rest" and "ttr_rest". "overlap" is "allow", "skip" or "replace". "state" is "active",
// which alone has "planned", the next time; "over", or "no_zone". A dump of some jobs has no
// schedules.
//
// The notes of a job follow it, oldest first: at most the last three of those that it had. "note"
// is the number of one. Without users "user" is missing. A text is "text" if it is UTF-8 and
// "text_base64" if not.
//
// After the jobs come the keys, in the order of the store: by the length of the name of the tube,
// the name, and the key. "job" is the job that holds a key or held it last. "expires" is there if
// the key is free again at that time. A dump of some jobs has the keys that name these jobs.
//
// The last line counts jobs, keys, notes, schedules and the bytes of bodies of jobs, and has the
// hash, as xxh128sum prints it, of every byte before that line.
//
// A time is nanoseconds since the epoch, and so is every duration but delay, ttr and idp_ttl, which
// are seconds. Numbers reach 2^64 - 1. Nothing depends on when the dump was made: the same
// directory gives the same bytes. In YAML it is the same, a document for each line; load takes JSON
// only.
//
// Fields are only ever added together with a higher version. Version 3 has no schedules, and is
// written where there is none and no job that one has put. Version 1 had no settings, no keys and
// none of the fields that a job may lack. Version 2 has no notes, no "restored" and no "keep", and
// is written where there is none of them, so that version 1.0 reads it.
namespace perennial::tool {

inline constexpr std::string_view dump_format_name = "perennial-dump";
inline constexpr uint64_t dump_version = 4;
inline constexpr uint64_t dump_version_with_notes = 3;
inline constexpr uint64_t dump_version_with_schedules = 4;
inline constexpr uint64_t dump_version_of_1_0 = 2;
// The oldest version that load reads.
inline constexpr uint64_t dump_version_min = 1;

// The inverse of state_name().
std::optional<JobState> state_of(std::string_view name);
std::string_view overlap_name(ScheduleOverlap overlap);
// The inverse of overlap_name().
std::optional<ScheduleOverlap> overlap_of(std::string_view name);
std::string_view schedule_state_name(ScheduleState state);
// The inverse of schedule_state_name().
std::optional<ScheduleState> schedule_state_of(std::string_view name);
std::string_view until_name(KeyUntil until);
// The inverse of until_name().
std::optional<KeyUntil> until_of(std::string_view name);

struct DumpPause {
  std::string tube;
  Nanos duration = 0;
  Nanos end = 0;
};

// The selected jobs, if not all.
struct DumpSelection {
  std::string tube = {};  // Empty: all tubes.
  std::optional<JobState> state = {};
  std::optional<uint64_t> id = {};
  std::optional<uint64_t> limit = {};
  bool no_body = false;

  bool is_everything() const { return tube.empty() && !state && !id && !limit && !no_body; }
};

struct DumpHeader {
  uint64_t version = dump_version;
  std::array<uint64_t, store::job_states.size()> jobs = {};  // By state.
  std::vector<std::string> tubes = {};                       // Sorted.
  std::vector<DumpPause> pauses = {};                        // Sorted by tube.
  std::vector<SettingsStored> settings = {};                 // Sorted by tube.
  JobId next_id = 1;
  store::CommitRow commit = {};
  DumpSelection selection = {};

  uint64_t job_count() const;
};

struct DumpFooter {
  uint64_t jobs = 0;
  uint64_t keys = 0;
  uint64_t notes = 0;
  uint64_t schedules = 0;
  uint64_t body_bytes = 0;
  std::string hash = {};
};

// A body in the form in which it is written.
struct DumpBody {
  enum class Kind : uint8_t { Whole, Damaged, Missing, NotAskedFor };
  Kind kind = Kind::NotAskedFor;
  std::string_view bytes = {};  // The bytes that were found, complete or not.
};

// Writes a dump. Its memory does not depend on the size of bodies.
class DumpWriter {
 public:
  enum class Syntax : uint8_t { Json, Yaml };
  DumpWriter(Output& out, Syntax syntax) : out_(out), syntax_(syntax) {}

  void header(const DumpHeader& header);
  void schedule(const ScheduleStored& stored, std::string_view body);
  void job(const JobRow& row, std::string_view tube, const DumpBody& body);
  // Of the job that was written last.
  void note(JobId job, const Note& note);
  void key(const KeyStored& key);
  // Writes the counts of what was written.
  void footer();

 private:
  void begin();
  void end();
  void begin_field(std::string_view name);
  void number(std::string_view name, uint64_t value);
  void text(std::string_view name, std::string_view value);
  void flag(std::string_view name, bool value = true);
  void json(std::string_view name, const std::string& value);
  void number_if_set(std::string_view name, uint64_t value);
  void text_if_set(std::string_view name, std::string_view value);
  void fields(const JobFields& fields);
  void when(const ScheduleWhen& when);
  void options(const PutOptions& options);
  void progress(const ScheduleProgress& progress);
  void body(const DumpBody& body);

  Output& out_;
  const Syntax syntax_;
  bool has_field_ = false;
  uint64_t version_ = dump_version;
  uint64_t jobs_ = 0;
  uint64_t keys_ = 0;
  uint64_t notes_ = 0;
  uint64_t schedules_ = 0;
  uint64_t body_bytes_ = 0;
};

}  // namespace perennial::tool
