#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/boxed.h"
#include "engine/types/command_row.h"
#include "engine/types/note.h"
#include "engine/types/option_values.h"
#include "engine/types/put.h"
#include "engine/types/schedule.h"

// What a client asks for: one struct per command of the protocol, one per way of refusing a line,
// and the table of commands. A refused line is a command, too, because the engine counts it,
// assigns the id that it may use up, and replies to it in order. Durations are whole seconds, as on
// the wire.
namespace perennial {

// A put whose body is larger than job_bytes_max. The parser has read and dropped the body and its
// CRLF. The put uses up no id.
struct PutTooBig {
  using CountsAs = Put;
};
// A put whose header has something behind its last number. It counts as cmd-put and is answered
// with BAD_FORMAT. Its body is not dropped, but read as the next command. Only the body of a put
// with bad options, which are an extension, is dropped before the put comes here.
struct PutTrailingJunk {
  using CountsAs = Put;
};
// A put whose body is not followed by CRLF. It uses up an id.
struct PutNoCrlf {
  using CountsAs = Put;
};

struct Use {
  std::string tube;
};
// What a reservation may have besides its arguments.
struct ReserveOptions {
  JobFacts with = {};
  Yes abort = {};  // The wait ends with TIMED_OUT when the connection sends a further line.

  bool operator==(const ReserveOptions&) const = default;
};
struct Reserve {
  using Options = ReserveOptions;
  Boxed<ReserveOptions> options = {};
};
struct ReserveWithTimeout {
  uint32_t timeout_s;  // At most 2^31 - 1.
  using Options = ReserveOptions;
  Boxed<ReserveOptions> options = {};
  uint32_t timeout_rest_ns = 0;  // Nanoseconds below a second.
};
struct ReserveJob {
  JobId id;
  JobFacts with = {};
};
struct Delete {
  JobId id;
  // Only if the client holds the job. Core sets it for clients that stand for leases; it is not on
  // the line.
  bool only_held = false;
};
struct Release {
  JobId id;
  PriorityOrKeep priority;
  uint32_t delay_s;
  uint32_t delay_rest_ns = 0;  // Nanoseconds below a second.
  No count = {};               // The attempt that ends is not counted.
};
struct Bury {
  JobId id;
  PriorityOrKeep priority;
};
struct Touch {
  JobId id;
  // The time that is left from now on. Without a value, or with 0: the ttr of the job.
  TouchTime ttr = {};
};
struct Watch {
  std::string tube;
  std::optional<Weight> weight = {};  // Without a value it stays as it is, and is 1 at first.
};
struct Ignore {
  std::string tube;
};
struct Peek {
  JobId id;
  JobFacts with = {};
};
struct PeekReady {
  JobFacts with = {};
};
struct PeekDelayed {
  JobFacts with = {};
};
struct PeekBuried {
  JobFacts with = {};
};
struct Kick {
  uint32_t bound;
};
struct KickJob {
  JobId id;
};
struct StatsJob {
  JobId id;
};
struct StatsTube {
  std::string tube;
};
struct Stats {};
struct ListTubes {};
struct ListTubeUsed {};
struct ListTubesWatched {};
struct PauseTube {
  std::string tube;
  uint32_t delay_s;
  uint32_t delay_rest_ns = 0;  // Nanoseconds below a second.
};
struct Quit {};
// Makes a checkpoint. beanstalkd does not have this command. To a client that may not ask for a
// checkpoint the server answers UNKNOWN_COMMAND, whatever follows on the line, so that the client
// cannot detect the command.
struct Checkpoint {
  // The checkpoint belongs to this connection, and is removed when it closes.
  bool temporary = false;
  bool trailing_junk = false;  // BAD_FORMAT to a client that may ask.
};

// ---- The commands below are extensions: beanstalkd does not have them.

// Lists the extensions that the server allows.
struct Extensions {};
// Shows who the client is: cmd/common/token.h.
struct Auth {
  std::string token;
};

// The most jobs or ids in one batch, and the most bytes of the items of a put-batch.
inline constexpr uint32_t batch_count_max = 1'000;
inline constexpr uint32_t put_batch_bytes_max = 1 << 20;
// The most jobs that one list-jobs names, and how many jobs it looks at.
inline constexpr uint32_t list_count_max = 1'000;
inline constexpr uint32_t list_scan_max = 10'000;

// Puts all items, or none. The parser hands over the bodies beside the command, in order.
struct PutBatch {
  Bounded<1, batch_count_max> count;
  uint32_t bytes = 0;  // Of all items, without the last CRLF.
  std::string tube;    // Empty: the used tube.
  std::vector<Put> items;
};
// A put-batch that is refused. All its bytes were dropped.
struct PutBatchRefused {
  using CountsAs = PutBatch;
  enum class Why : uint8_t { BadFormat, JobTooBig, ExpectedCrlf };
  Why why;
};
struct ReserveBatch {
  Bounded<1, batch_count_max> count;
  Duration wait = {};
  using Options = ReserveOptions;
  Boxed<ReserveOptions> options = {};
};
// 1 to batch_count_max ids. An id that is there twice is missing the second time.
struct DeleteBatch {
  std::vector<JobId> ids;
  // Those that the client may not delete: they are missing. Core sets it; it is not on the line.
  std::vector<JobId> hidden = {};
};
struct TouchBatch {
  std::vector<JobId> ids;
  TouchTime ttr = {};  // As in Touch.
};
// Deletes every job that is in the tube, in one of the states, fits `match`, and was put before
// this command.
struct FlushTube {
  std::string tube;
  std::optional<StateSet> states = {};  // Without a value all, and the cooldowns, too.
  JobMatch match = {};
};
// Names jobs in the order of their ids; or ended ones of one tube, the last one first, which core
// reads.
struct ListJobs {
  std::string tube;  // Empty: all tubes, which is "*" on the line, but not of ended jobs.
  ListedStates states = {};
  // The id behind which the list goes on; of ended jobs the place before which it does.
  uint64_t after = 0;
  Bounded<1, list_count_max> count = {100};
  std::string key = {};  // Not empty: only the job that holds this key.
};
// Names connections of clients in the order of their ids. Core answers it.
inline constexpr uint32_t list_clients_max = 100;
struct ListClients {
  ConnId after = 0;
  Bounded<1, list_clients_max> count = {list_clients_max};
};
// Shows the reserved job of the used tube with the lowest id.
struct PeekReserved {
  JobFacts with = {};
};
// Changes a job. What has no value stays as it is.
struct SetJob {
  JobId id;
  std::string tube = {};
  std::optional<uint32_t> priority = {};
  std::optional<Duration> delay = {};
  std::optional<TtrOption> ttr = {};
  Change<PositiveDuration> expire = {};  // From now on.
  Change<TriesOption> tries = {};
  Change<Backoff> backoff = {};
  Change<TubeName> dead = {};
};
// Changes the settings of a tube, which need not exist.
struct SetTube {
  std::string tube;
  Change<TriesOption> tries = {};
  Change<Backoff> backoff = {};
  Change<TubeName> dead = {};
  Change<PositiveDuration> expire = {};
  Change<CountOption> reserved = {};
  Change<Rate> rate = {};
  Change<YesOrNo> drain = {};
  Change<PositiveDuration> keep = {};
  Change<CountOption> keep_max = {};
};
// Changes the settings as the command says.
void change_settings(TubeSettings& settings, const SetTube& set);
// The command that gives a tube without settings these.
SetTube set_tube(std::string tube, const TubeSettings& settings);
// The command that gives a tube these settings, and takes all others away.
SetTube replace_settings(std::string tube, const TubeSettings& settings);
// Moves jobs to another tube, where they become ready.
struct MoveTube {
  std::string from;
  std::string to;
  StateSet states = {JobState::Ready, JobState::Delayed, JobState::Buried};
  Bounded<1, UINT64_MAX> count = {UINT64_MAX};
  JobMatch match = {};
};
// Kicks the buried and delayed jobs of a tube, or only those in one of the two states. Unlike kick
// it can take delayed jobs while there are buried ones.
struct KickTube {
  std::string tube;
  StateSet states = {JobState::Delayed, JobState::Buried};
  JobMatch match = {};
};
// Says something about a job. The parser hands over the text with the command.
struct NoteJob {
  JobId id;
  uint32_t bytes = 0;      // Of the text: at most note_bytes_max.
  std::string text = {};   // Empty: there was no memory for it.
  std::string user = {};   // Who says it. Core sets it; it is not on the line.
  bool only_held = false;  // As in Delete.
};
// A note that is refused. Its text and the CRLF were dropped.
struct NoteRefused {
  using CountsAs = NoteJob;
  enum class Why : uint8_t { BadFormat, TooBig, ExpectedCrlf };
  Why why;
};
// Shows the notes of a job, oldest first. The engine answers whether the job is there, and core
// reads the notes.
struct ListNotes {
  JobId id;
};
// Shows a job that has ended: core reads it. So it does for the two below.
struct PeekEnded {
  JobId id;
  JobFacts with = {};
};
// Puts a job that has ended back, as a new job that is as the old one was.
struct RestoreJob {
  JobId id;
};
// Puts back what has ended in the tube, in the order in which it ended.
struct RestoreTube {
  std::string tube;
  PositiveDuration since = {};  // Only what ended in the last time of this length; 0: not given.
  EndSet how = {JobEnd::Flushed};
  JobMatch match = {};
};

// Sets the schedule of this name. One that is there keeps what is known of it, and goes on where it
// is if its times are the same ones. The parser hands over the body beside the command.
struct ScheduleOptions : PutOptions {
  // Exactly one of these three is given. 0 and empty: not given.
  PeriodOption every = {};
  CronOption cron = {};
  std::optional<TimeOption> at = {};
  std::optional<TimeOption> anchor = {};  // Only with `every`.
  std::string zone = {};                  // Only with `cron`. Empty: UTC.
  MissedOption missed = {};
  ScheduleOverlap overlap = ScheduleOverlap::Allow;
  PositiveDuration jitter = {};
  std::optional<YesOrNo> paused = {};  // Without a value it stays as it is; a new one is not.

  bool operator==(const ScheduleOptions&) const = default;
};
struct SetSchedule {
  std::string name;
  uint32_t priority;
  uint32_t delay_s;
  uint32_t ttr_s;
  uint32_t body_bytes;
  using Options = ScheduleOptions;
  Boxed<ScheduleOptions> options = {};  // Always there: without times there is no schedule.
};
// A set-schedule that is refused. Its body and the CRLF were dropped.
struct ScheduleRefused {
  using CountsAs = SetSchedule;
  enum class Why : uint8_t { BadFormat, TooBig, ExpectedCrlf };
  Why why;
};
struct DeleteSchedule {
  std::string name;
};
// While it is paused it puts no job. The planned times that pass meanwhile are not missed.
struct PauseSchedule {
  std::string name;
  No paused = {};  // "no": it goes on.
};
// It puts a job now, once more. Its planned times stay as they are.
struct RunSchedule {
  std::string name;
};
// Names schedules in the order of their names. Core answers it, and the two below.
inline constexpr uint32_t list_schedules_max = 200;
struct ListSchedules {
  std::string after = {};  // The name behind which the list goes on.
  Bounded<1, list_schedules_max> count = {100};
};
struct StatsSchedule {
  std::string name;
};
// Shows the body.
struct PeekSchedule {
  std::string name;
};
// The zone of a cron expression where none is given.
inline constexpr std::string_view default_zone = "UTC";
// The schedule that the command sets, where `used` is the tube that the client uses.
Schedule schedule_of(const SetSchedule& set, const std::string& used);
// The command that sets this schedule. A period without an anchor gets none.
SetSchedule set_schedule(const Schedule& schedule, std::optional<bool> is_paused = {});

struct SetReserveMode {
  ReserveMode mode = ReserveMode::Fifo;
};
// Both are idempotent. SIGUSR1 does the same as drain.
struct Drain {};
struct Undrain {};

// A line that is no command: too long, with a NUL byte, with a bad number or name, or unknown.
struct Malformed {
  enum class Kind : uint8_t {
    BadFormat,
    // A bad format that counts as a pause-tube: beanstalkd counts the command before it checks the
    // length and the first byte of the name.
    BadPauseTube,
    UnknownCommand
  };
  Kind kind;
};

// One row per command: the prefix of its line, the key of its counter in `stats`, its flags and its
// arguments. The parser, the client, the counters, `stats` and the test of etc/docs/protocol.md
// read the table. Rows are in the order of the keys in `stats`. The longest prefix that a line
// begins with decides.
// clang-format off
inline constexpr std::tuple command_rows{
    command<Put>("put ", "cmd-put",
                 {.has_body = true, .adds_jobs = true, .kind = CommandKind::Put},
                 arg("pri", &Put::priority), arg("delay", &Put::delay_s), arg("ttr", &Put::ttr_s),
                 arg("bytes", &Put::body_bytes))
        .with(option("tube", &PutOptions::tube, Extension::PutTube),
              option("tries", &PutOptions::tries, Extension::Attempts),
              option("backoff", &PutOptions::backoff, Extension::Attempts),
              option("dead", &PutOptions::dead, Extension::Attempts),
              option("expire", &PutOptions::expire, Extension::Expire),
              option("idp", &PutOptions::key, Extension::Unique),
              option("until", &PutOptions::until, Extension::Unique),
              option("con", &PutOptions::concurrency, Extension::ConcurrencyKeys)),
    command<Peek>("peek ", "cmd-peek", {}, arg("id", &Peek::id))
        .with(option("with", &Peek::with, Extension::With)),
    command<PeekReady>("peek-ready", "cmd-peek-ready", {})
        .with(option("with", &PeekReady::with, Extension::With)),
    command<PeekDelayed>("peek-delayed", "cmd-peek-delayed", {})
        .with(option("with", &PeekDelayed::with, Extension::With)),
    command<PeekBuried>("peek-buried", "cmd-peek-buried", {})
        .with(option("with", &PeekBuried::with, Extension::With)),
    command<Reserve>("reserve", "cmd-reserve", {.kind = CommandKind::Reserve})
        .with(option("with", &ReserveOptions::with, Extension::With),
              option("abort", &ReserveOptions::abort, Extension::Abort)),
    command<ReserveWithTimeout>("reserve-with-timeout ", "cmd-reserve-with-timeout",
                                {.own_grammar = true, .kind = CommandKind::Reserve},
                                arg("seconds", &ReserveWithTimeout::timeout_s))
        .with(option("with", &ReserveOptions::with, Extension::With),
              option("abort", &ReserveOptions::abort, Extension::Abort)),
    command<ReserveJob>("reserve-job ", "", {.kind = CommandKind::Reserve},
                        arg("id", &ReserveJob::id))
        .with(option("with", &ReserveJob::with, Extension::With)),
    command<Delete>("delete ", "cmd-delete", {.kind = CommandKind::Delete},
                    arg("id", &Delete::id)),
    command<Release>("release ", "cmd-release",
                     {.own_grammar = true, .kind = CommandKind::Release}, arg("id", &Release::id),
                     arg("pri", &Release::priority), arg("delay", &Release::delay_s))
        .with(option("count", &Release::count, Extension::Attempts)),
    command<Use>("use ", "cmd-use", {}, arg("tube", &Use::tube)),
    command<Watch>("watch ", "cmd-watch", {.own_grammar = true}, arg("tube", &Watch::tube)),
    command<Ignore>("ignore ", "cmd-ignore", {}, arg("tube", &Ignore::tube)),
    command<Bury>("bury ", "cmd-bury", {.kind = CommandKind::Bury}, arg("id", &Bury::id),
                  arg("pri", &Bury::priority)),
    command<Kick>("kick ", "cmd-kick", {.own_grammar = true, .many_jobs = true},
                  arg("n", &Kick::bound)),
    command<KickJob>("kick-job ", "", {}, arg("id", &KickJob::id)),
    command<Touch>("touch ", "cmd-touch", {}, arg("id", &Touch::id))
        .with(option("ttr", &Touch::ttr, Extension::TouchTtr)),
    command<Stats>("stats", "cmd-stats", {}),
    command<StatsJob>("stats-job ", "cmd-stats-job", {}, arg("id", &StatsJob::id)),
    command<StatsTube>("stats-tube ", "cmd-stats-tube", {}, arg("tube", &StatsTube::tube)),
    command<ListTubes>("list-tubes", "cmd-list-tubes", {}),
    command<ListTubeUsed>("list-tube-used", "cmd-list-tube-used", {}),
    command<ListTubesWatched>("list-tubes-watched", "cmd-list-tubes-watched", {}),
    command<PauseTube>("pause-tube", "cmd-pause-tube", {.own_grammar = true},
                       arg("tube", &PauseTube::tube), arg("seconds", &PauseTube::delay_s)),
    command<Quit>("quit", "", {.own_grammar = true, .in_core = true}),
    command<Checkpoint>("checkpoint", "",
                        {.own_grammar = true, .ours = true, .in_core = true}),
    command<Extensions>("extensions", "",
                        {.ours = true, .in_core = true, .extension = Extension::Probe}),
    command<Auth>("auth ", "", {.own_grammar = true, .ours = true, .in_core = true,
                               .extension = Extension::Auth},
                  arg("token", &Auth::token)),
    command<PutBatch>("put-batch ", "cmd-put-batch",
                      {.has_body = true, .adds_jobs = true, .ours = true,
                       .kind = CommandKind::Put, .extension = Extension::Batch},
                      arg("count", &PutBatch::count), arg("bytes", &PutBatch::bytes))
        .with(option("tube", &PutBatch::tube, Extension::PutTube)),
    command<ReserveBatch>("reserve-batch ", "cmd-reserve-batch",
                          {.own_grammar = true, .ours = true, .kind = CommandKind::Reserve,
                           .extension = Extension::Batch},
                          arg("count", &ReserveBatch::count), arg("wait", &ReserveBatch::wait))
        .with(option("with", &ReserveOptions::with, Extension::With),
              option("abort", &ReserveOptions::abort, Extension::Abort)),
    command<DeleteBatch>("delete-batch ", "cmd-delete-batch",
                         {.ours = true, .kind = CommandKind::Delete,
                          .extension = Extension::Batch},
                         arg("id", &DeleteBatch::ids)),
    command<TouchBatch>("touch-batch ", "cmd-touch-batch",
                        {.ours = true, .extension = Extension::Batch},
                        arg("id", &TouchBatch::ids))
        .with(option("ttr", &TouchBatch::ttr)),
    command<FlushTube>("flush-tube ", "cmd-flush-tube",
                       {.many_jobs = true, .ours = true, .admin = true,
                        .extension = Extension::FlushTube},
                       arg("tube", &FlushTube::tube))
        .with(option("state", &FlushTube::states),
              option("match", &FlushTube::match, Extension::Match)),
    command<ListJobs>("list-jobs ", "cmd-list-jobs",
                      {.own_grammar = true, .ours = true, .extension = Extension::ListJobs},
                      arg("tube", &ListJobs::tube))
        .with(option("state", &ListJobs::states), option("after", &ListJobs::after),
              option("count", &ListJobs::count),
              option("idp", &ListJobs::key, Extension::Unique)),
    command<PeekReserved>("peek-reserved", "cmd-peek-reserved",
                          {.ours = true, .extension = Extension::PeekReserved})
        .with(option("with", &PeekReserved::with, Extension::With)),
    command<SetJob>("set-job ", "cmd-set-job", {.own_grammar = true, .ours = true,
                                                .extension = Extension::SetJob},
                    arg("id", &SetJob::id))
        .with(option("tube", &SetJob::tube), option("pri", &SetJob::priority),
              option("delay", &SetJob::delay), option("ttr", &SetJob::ttr),
              option("expire", &SetJob::expire, Extension::Expire),
              option("tries", &SetJob::tries, Extension::Attempts),
              option("backoff", &SetJob::backoff, Extension::Attempts),
              option("dead", &SetJob::dead, Extension::Attempts)),
    command<SetTube>("set-tube ", "cmd-set-tube",
                     {.own_grammar = true, .ours = true, .admin = true,
                      .extension = Extension::SetTube},
                     arg("tube", &SetTube::tube))
        .with(option("tries", &SetTube::tries, Extension::Attempts),
              option("backoff", &SetTube::backoff, Extension::Attempts),
              option("dead", &SetTube::dead, Extension::Attempts),
              option("expire", &SetTube::expire, Extension::Expire),
              option("reserved", &SetTube::reserved, Extension::TubeLimits),
              option("rate", &SetTube::rate, Extension::TubeLimits),
              option("drain", &SetTube::drain),
              option("keep", &SetTube::keep, Extension::Ended),
              option("keep-max", &SetTube::keep_max, Extension::Ended)),
    command<MoveTube>("move-tube ", "cmd-move-tube",
                      {.own_grammar = true, .many_jobs = true, .ours = true, .admin = true,
                       .extension = Extension::MoveTube},
                      arg("from", &MoveTube::from), arg("to", &MoveTube::to))
        .with(option("state", &MoveTube::states), option("count", &MoveTube::count),
              option("match", &MoveTube::match, Extension::Match)),
    command<SetReserveMode>("reserve-mode ", "cmd-reserve-mode",
                            {.ours = true, .extension = Extension::Weights},
                            arg("mode", &SetReserveMode::mode)),
    command<KickTube>("kick-tube ", "cmd-kick-tube",
                      {.own_grammar = true, .many_jobs = true, .ours = true,
                       .extension = Extension::KickTube},
                      arg("tube", &KickTube::tube))
        .with(option("state", &KickTube::states),
              option("match", &KickTube::match, Extension::Match)),
    command<Drain>("drain", "", {.ours = true, .admin = true, .extension = Extension::Drain}),
    command<Undrain>("undrain", "", {.ours = true, .admin = true, .extension = Extension::Drain}),
    command<ListClients>("list-clients", "",
                         {.ours = true, .in_core = true, .extension = Extension::ListClients})
        .with(option("after", &ListClients::after), option("count", &ListClients::count)),
    command<NoteJob>("note ", "cmd-note",
                     {.has_body = true, .ours = true, .extension = Extension::Notes},
                     arg("id", &NoteJob::id), arg("bytes", &NoteJob::bytes)),
    command<ListNotes>("list-notes ", "cmd-list-notes",
                       {.ours = true, .extension = Extension::Notes}, arg("id", &ListNotes::id)),
    command<PeekEnded>("peek-ended ", "",
                       {.ours = true, .in_core = true, .extension = Extension::Ended},
                       arg("id", &PeekEnded::id))
        .with(option("with", &PeekEnded::with, Extension::With)),
    command<RestoreJob>("restore-job ", "",
                        {.ours = true, .in_core = true, .extension = Extension::Ended},
                        arg("id", &RestoreJob::id)),
    command<RestoreTube>("restore-tube ", "",
                         {.many_jobs = true, .ours = true, .in_core = true, .admin = true,
                          .extension = Extension::Ended},
                         arg("tube", &RestoreTube::tube))
        .with(option("since", &RestoreTube::since), option("how", &RestoreTube::how),
              option("match", &RestoreTube::match, Extension::Match)),
    command<SetSchedule>("set-schedule ", "cmd-set-schedule",
                         {.has_body = true, .ours = true, .extension = Extension::Schedules},
                         arg("name", &SetSchedule::name), arg("pri", &SetSchedule::priority),
                         arg("delay", &SetSchedule::delay_s), arg("ttr", &SetSchedule::ttr_s),
                         arg("bytes", &SetSchedule::body_bytes))
        .with(option("every", &ScheduleOptions::every), option("cron", &ScheduleOptions::cron),
              option("at", &ScheduleOptions::at), option("anchor", &ScheduleOptions::anchor),
              option("zone", &ScheduleOptions::zone), option("missed", &ScheduleOptions::missed),
              option("overlap", &ScheduleOptions::overlap),
              option("jitter", &ScheduleOptions::jitter),
              option("paused", &ScheduleOptions::paused),
              inherited<ScheduleOptions>("tube", &PutOptions::tube, Extension::PutTube),
              inherited<ScheduleOptions>("tries", &PutOptions::tries, Extension::Attempts),
              inherited<ScheduleOptions>("backoff", &PutOptions::backoff, Extension::Attempts),
              inherited<ScheduleOptions>("dead", &PutOptions::dead, Extension::Attempts),
              inherited<ScheduleOptions>("expire", &PutOptions::expire, Extension::Expire),
              inherited<ScheduleOptions>("idp", &PutOptions::key, Extension::Unique),
              inherited<ScheduleOptions>("until", &PutOptions::until, Extension::Unique),
              inherited<ScheduleOptions>("con", &PutOptions::concurrency,
                                         Extension::ConcurrencyKeys)),
    command<DeleteSchedule>("delete-schedule ", "cmd-delete-schedule",
                            {.ours = true, .extension = Extension::Schedules},
                            arg("name", &DeleteSchedule::name)),
    command<PauseSchedule>("pause-schedule ", "cmd-pause-schedule",
                           {.ours = true, .extension = Extension::Schedules},
                           arg("name", &PauseSchedule::name))
        .with(option("paused", &PauseSchedule::paused)),
    command<RunSchedule>("run-schedule ", "cmd-run-schedule",
                         {.adds_jobs = true, .ours = true, .extension = Extension::Schedules},
                         arg("name", &RunSchedule::name)),
    command<ListSchedules>("list-schedules", "",
                           {.ours = true, .in_core = true, .extension = Extension::Schedules})
        .with(option("after", &ListSchedules::after), option("count", &ListSchedules::count)),
    command<StatsSchedule>("stats-schedule ", "",
                           {.ours = true, .in_core = true, .extension = Extension::Schedules},
                           arg("name", &StatsSchedule::name)),
    command<PeekSchedule>("peek-schedule ", "",
                          {.ours = true, .in_core = true, .extension = Extension::Schedules},
                          arg("name", &PeekSchedule::name)),
};
// clang-format on

inline constexpr size_t commands_count = std::tuple_size_v<decltype(command_rows)>;

// The row of a command.
template <typename C>
constexpr const auto& command_row() {
  return std::get<row_index<C>(command_rows)>(command_rows);
}

// Whether C is a line that was refused, and not a command of the table.
template <typename C>
inline constexpr bool is_refused = row_index<C>(command_rows) == commands_count;

// Calls `function` with each row, in the order of the table.
template <typename Function>
constexpr void for_each_command(Function&& function) {
  std::apply([&](const auto&... rows) { (function(rows), ...); }, command_rows);
}

template <typename... Refused>
struct WithCommands {
  template <typename... Rows>
  static std::variant<typename Rows::Type..., Refused...> variant_of(const std::tuple<Rows...>&);
};
// A command of the table, or a line that was refused.
using Command =
    decltype(WithCommands<PutTooBig, PutTrailingJunk, PutNoCrlf, PutBatchRefused, NoteRefused,
                          ScheduleRefused, Malformed>::variant_of(command_rows));

}  // namespace perennial
