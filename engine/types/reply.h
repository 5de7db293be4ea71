#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/body.h"
#include "engine/types/boxed.h"
#include "engine/types/check.h"
#include "engine/types/extension.h"
#include "engine/types/note.h"
#include "engine/types/option_values.h"
#include "engine/types/schedule.h"
#include "engine/types/stats.h"

// What a client is answered. Exactly one Reply belongs to each Command except quit, in the order of
// the commands of one connection. The folder wire turns it into bytes.
namespace perennial {

// How a reply begins. BURIED and KICKED occur alone and with a number, and have two enumerators
// each.
enum class Word : uint8_t {
  Deleted,
  Released,
  Buried,
  Touched,
  Kicked,
  Paused,
  NotFound,
  NotIgnored,
  TimedOut,
  DeadlineSoon,
  Draining,
  ExpectedCrlf,
  JobTooBig,
  OutOfMemory,
  InternalError,
  BadFormat,
  UnknownCommand,
  Denied,
  Authenticated,
  Unauthorized,
  Forbidden,
  NotDraining,
  Set,
  Noted,
  Inserted,
  InsertedBuried,
  Watching,
  KickedCount,
  Flushed,
  Moved,
  Restored,
  InsertedBatch,
  ReservedBatch,
  DeletedBatch,
  TouchedBatch,
  Using,
  Reserved,
  Found,
  Ok,
  Failed,
};

// What follows the word of a reply.
enum class ReplyShape : uint8_t {
  Nothing,
  Number,  // An id or a count.
  // Several numbers, the first of which is the count of what follows behind the line, if anything
  // does.
  Numbers,
  Text,     // The name of a tube.
  Payload,  // "<bytes>", and a YAML document behind the line.
  // "<id> <bytes>", the facts that `with:` asked for, and the body of that job behind the line.
  JobPayload,
};

// One row per word, in the order of Word. The formatter and the client read the table. A reply that
// is one fixed line, or a word and one number, needs nothing but its row.
struct ReplyRow {
  Word word;
  std::string_view text;
  ReplyShape shape = ReplyShape::Nothing;
};
inline constexpr ReplyRow reply_rows[] = {
    {Word::Deleted, "DELETED"},
    {Word::Released, "RELEASED"},
    {Word::Buried, "BURIED"},
    {Word::Touched, "TOUCHED"},
    {Word::Kicked, "KICKED"},
    {Word::Paused, "PAUSED"},
    {Word::NotFound, "NOT_FOUND"},
    {Word::NotIgnored, "NOT_IGNORED"},
    {Word::TimedOut, "TIMED_OUT"},
    {Word::DeadlineSoon, "DEADLINE_SOON"},
    {Word::Draining, "DRAINING"},
    {Word::ExpectedCrlf, "EXPECTED_CRLF"},
    {Word::JobTooBig, "JOB_TOO_BIG"},
    {Word::OutOfMemory, "OUT_OF_MEMORY"},
    {Word::InternalError, "INTERNAL_ERROR"},
    {Word::BadFormat, "BAD_FORMAT"},
    {Word::UnknownCommand, "UNKNOWN_COMMAND"},
    {Word::Denied, "DENIED"},
    {Word::Authenticated, "AUTHENTICATED"},
    {Word::Unauthorized, "UNAUTHORIZED"},
    {Word::Forbidden, "FORBIDDEN"},
    {Word::NotDraining, "NOT_DRAINING"},
    {Word::Set, "SET"},
    {Word::Noted, "NOTED"},
    {Word::Inserted, "INSERTED", ReplyShape::Number},
    // beanstalkd's answer to a put that it could not queue. This server never sends it, but the
    // client must understand it.
    {Word::InsertedBuried, "BURIED", ReplyShape::Number},
    {Word::Watching, "WATCHING", ReplyShape::Number},
    {Word::KickedCount, "KICKED", ReplyShape::Number},  // Answers kick. Kicked: kick-job.
    {Word::Flushed, "FLUSHED", ReplyShape::Number},
    {Word::Moved, "MOVED", ReplyShape::Number},
    {Word::Restored, "RESTORED", ReplyShape::Number},
    // "<new> <duplicates>", and behind the line a reply for each item.
    {Word::InsertedBatch, "INSERTED_BATCH", ReplyShape::Numbers},
    // "<count>", and behind the line a RESERVED for each job.
    {Word::ReservedBatch, "RESERVED_BATCH", ReplyShape::Numbers},
    // "<done> <missing>", and then the ids that are missing.
    {Word::DeletedBatch, "DELETED_BATCH", ReplyShape::Numbers},
    {Word::TouchedBatch, "TOUCHED_BATCH", ReplyShape::Numbers},
    {Word::Using, "USING", ReplyShape::Text},
    {Word::Reserved, "RESERVED", ReplyShape::JobPayload},
    {Word::Found, "FOUND", ReplyShape::JobPayload},
    {Word::Ok, "OK", ReplyShape::Payload},
    {Word::Failed, "FAILED", ReplyShape::Payload},  // Only an answer to checkpoint.
};

// Whether the rows are in the order of Word. row_of() checks that the last words have rows.
constexpr bool are_in_order(std::span<const ReplyRow> rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].word != static_cast<Word>(i)) return false;
  }
  return true;
}
static_assert(are_in_order(reply_rows));

inline const ReplyRow& row_of(Word word) {
  CHECK(static_cast<size_t>(word) < std::size(reply_rows));
  return reply_rows[static_cast<size_t>(word)];
}

// A word and its number. A fixed line is a Word without this struct.
struct NumberReply {
  Word word;  // The shape of its row is Number.
  uint64_t number;

  bool operator==(const NumberReply&) const = default;
};

struct Using {
  std::string tube;
};
// RESERVED or FOUND, and the body of the job. Core finds the body by the id, because the engine
// never has the bytes.
struct JobReply {
  Word word;  // Reserved or Found.
  JobId id;
  uint32_t body_bytes;
  // What `with:` asked for.
  struct Facts {
    JobFacts asked;
    JobStats stats;
  };
  Boxed<Facts> facts = {};
};
// RESERVED_BATCH: the jobs in the order in which they were reserved.
struct JobsReserved {
  std::vector<JobReply> jobs;
};
// The answer to a put whose key is taken: "INSERTED <id> <state>" of the job that has the key.
struct Duplicate {
  JobId id;
  // Without a value: the job is deleted, and its key is in its cooldown.
  std::optional<JobState> state;
};
// INSERTED_BATCH: what a put of each item alone would have answered, in their order.
struct BatchInserted {
  struct Item {
    JobId id;
    bool is_duplicate = false;
    std::optional<JobState> state = {};  // As in Duplicate.
  };
  std::vector<Item> items;
};
// DELETED_BATCH and TOUCHED_BATCH.
struct BatchDone {
  Word word;
  uint64_t done = 0;
  std::vector<JobId> missing = {};
};
// The answer to list-jobs.
struct JobList {
  // The last id that was looked at; 0 when there is none above it.
  JobId cursor = 0;
  std::vector<JobStats> jobs = {};
};
// The answer to list-clients, which core makes.
struct ClientList {
  struct Client {
    ConnStats stats;
    std::string address;  // "127.0.0.1:4711", "[::1]:4711" or "unix".
    std::string user;     // Empty: there are no users, or it has not shown who it is.
    Nanos age = 0;        // Since it connected.
    Nanos idle = 0;       // Since its last command began, or since it connected.
    uint64_t commands = 0;
    uint64_t output_bytes = 0;  // Of answers that it has not taken.
  };
  ConnId cursor = 0;  // The last id that is named; 0 when there is none above it.
  std::vector<Client> clients = {};
};
// A schedule, as list-schedules and stats-schedule show it. Core makes it, and the two below.
struct ScheduleSeen {
  Schedule schedule;
  ScheduleProgress progress;
  Nanos offset = 0;                             // Its planned times are due by so much later.
  std::optional<PutRefusal> refusal = {};       // Why its put is being refused, if it is.
  std::optional<JobState> last_job_state = {};  // None: the job is gone, or there was none.
};
struct ScheduleList {
  std::string cursor;  // The last name that is given; empty when there is none behind it.
  std::vector<ScheduleSeen> schedules = {};
};
// The answer to peek-schedule.
struct ScheduleBody {
  Body body;
};
// The answer to list-notes as the engine gives it: the job is there. Core answers with a NoteList.
struct NotesOf {
  JobId job;
  uint32_t had;  // How many notes the job had: of these the last notes_max are kept.
};
struct NoteList {
  std::vector<Note> notes;  // Oldest first.
};
struct TubeNames {
  std::vector<std::string> names;
};
// The size of a listing, which is known before the listing is made.
struct NamesSize {
  size_t count = 0;
  size_t bytes = 0;  // The sum of the lengths of the names.
};

// The answers to checkpoint, which core makes. The first is "OK <bytes>" and YAML, the second
// "FAILED <bytes>" and YAML.
struct CheckpointMade {
  std::string name;
  std::string path;       // Absolute.
  BatchIndex commit = 0;  // The last batch that it holds.
  uint64_t jobs = 0;
  // The size of all its files. Without a value for a temporary checkpoint, whose files are not
  // counted.
  std::optional<uint64_t> bytes = {};
  // The time from the checkpoint point until the checkpoint was verified. A temporary checkpoint is
  // not verified: the time that making it took.
  uint64_t took_ms = 0;
};
struct CheckpointFailed {
  std::string reason;
};

// The reply to `extensions` is the set of those that are allowed; core makes it.
//
// The large alternatives are boxed, so that the small ones, which are the most frequent, are cheap
// to move.
using Reply =
    std::variant<Word, NumberReply, Using, JobReply, Duplicate, ExtensionSet, NotesOf,
                 std::unique_ptr<TubeNames>, std::unique_ptr<JobStats>, std::unique_ptr<TubeStats>,
                 std::unique_ptr<EngineStats>, std::unique_ptr<JobsReserved>,
                 std::unique_ptr<BatchInserted>, std::unique_ptr<BatchDone>,
                 std::unique_ptr<JobList>, std::unique_ptr<ClientList>, std::unique_ptr<NoteList>,
                 std::unique_ptr<ScheduleSeen>, std::unique_ptr<ScheduleList>,
                 std::unique_ptr<ScheduleBody>, std::unique_ptr<CheckpointMade>,
                 std::unique_ptr<CheckpointFailed>>;

}  // namespace perennial
