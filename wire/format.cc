#include "wire/format.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <variant>

#include <fmt/format.h>

#include "engine/types/check.h"
#include "wire/job_line.h"
#include "wire/schedule_text.h"
#include "wire/stats.h"

namespace perennial::wire {
namespace {

void append_number(std::string& out, uint64_t number) {
  const fmt::format_int text(number);
  out.append(text.data(), text.size());
}

// Appends a whole line with its CRLF.
void append_line(std::string& out, Word word, uint64_t number) {
  out += row_of(word).text;
  out += ' ';
  append_number(out, number);
  out += "\r\n";
}

void append_space_number(std::string& out, uint64_t number) {
  out += ' ';
  append_number(out, number);
}

// The state of a job in the answer to a put; without a value the job is deleted.
std::string_view upper_state(std::optional<JobState> state) {
  if (!state) return "DELETED";
  switch (*state) {
    case JobState::Ready:
      return "READY";
    case JobState::Reserved:
      return "RESERVED";
    case JobState::Delayed:
      return "DELAYED";
    case JobState::Buried:
      return "BURIED";
  }
  CHECK(!"a state that is none");
  return {};
}

// Appends a line without its CRLF, so that more numbers may follow.
void append_numbers(std::string& out, Word word, std::initializer_list<uint64_t> numbers) {
  CHECK(row_of(word).shape == ReplyShape::Numbers);
  out += row_of(word).text;
  for (const uint64_t number : numbers) append_space_number(out, number);
}

// Appends what `with:` asked for, in the order in which it was asked for.
void append_facts(std::string& out, const JobReply::Facts& facts) {
  for (const JobFact fact : facts.asked) {
    out += ' ';
    out += job_fact_rows[static_cast<size_t>(fact)].name;
    out += ':';
    append_fact(out, fact, facts.stats);
  }
}

// Appends a document of YAML, or other bytes. protocol.txt, "stats-job": the count covers the
// document through its last LF, not the CRLF.
void append_yaml(std::string& out, Word word, std::string_view yaml) {
  append_line(out, word, yaml.size());
  out += yaml;
  out += "\r\n";
}

// A path or a message may contain any byte. In double quotes and with escapes it is one line of
// YAML.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

std::string checkpoint_yaml(const CheckpointMade& made) {
  const std::string bytes = made.bytes ? fmt::format("bytes: {}\n", *made.bytes) : "";
  return fmt::format("---\nname: {}\npath: {}\ncommit: {}\njobs: {}\n{}took-ms: {}\n",
                     quoted(made.name), quoted(made.path), made.commit, made.jobs, bytes,
                     made.took_ms);
}

constexpr std::string_view yaml_start = "---\n";

// Returns a YAML list in every case: a list without names is written in brackets, because "---"
// alone is null.
std::string extensions_yaml(const ExtensionSet& allowed) {
  std::string lines;
  for (const ExtensionRow& row : extension_rows) {
    if (allowed.allows(row.extension)) lines += fmt::format("- {}\n", row.name);
  }
  return lines.empty() ? "--- []\n" : std::string(yaml_start) + lines;
}

NamesSize size_of(const TubeNames& tubes) {
  NamesSize size = {.count = tubes.names.size()};
  for (const std::string& name : tubes.names) size.bytes += name.size();
  return size;
}

struct Appender {
  std::string& out;
  const StatsStyle style;

  void operator()(Word word) const {
    const ReplyRow& row = row_of(word);
    CHECK(row.shape == ReplyShape::Nothing);
    out += row.text;
    out += "\r\n";
  }
  void operator()(const NumberReply& reply) const {
    CHECK(row_of(reply.word).shape == ReplyShape::Number);
    append_line(out, reply.word, reply.number);
  }
  void operator()(const Using& reply) const {
    out += row_of(Word::Using).text;
    out += ' ';
    out += reply.tube;
    out += "\r\n";
  }
  void operator()(const Duplicate& reply) const {
    out += row_of(Word::Inserted).text;
    append_space_number(out, reply.id);
    out += ' ';
    out += upper_state(reply.state);
    out += "\r\n";
  }
  void operator()(const JobReply& /*reply*/) const { CHECK(!"a job needs its body"); }
  void operator()(const ExtensionSet& allowed) const {
    append_yaml(out, Word::Ok, extensions_yaml(allowed));
  }
  void operator()(const std::unique_ptr<JobsReserved>& reply) const {
    CHECK(reply->jobs.empty());  // Jobs need their bodies.
    append_batch_head(out, *reply);
  }
  void operator()(const std::unique_ptr<BatchInserted>& reply) const {
    const auto duplicates = std::ranges::count_if(reply->items, &BatchInserted::Item::is_duplicate);
    const auto count = static_cast<uint64_t>(duplicates);
    append_numbers(out, Word::InsertedBatch, {reply->items.size() - count, count});
    out += "\r\n";
    for (const BatchInserted::Item& item : reply->items) {
      if (item.is_duplicate) {
        (*this)(Duplicate{item.id, item.state});
      } else {
        append_line(out, Word::Inserted, item.id);
      }
    }
  }
  void operator()(const std::unique_ptr<BatchDone>& reply) const {
    append_numbers(out, reply->word, {reply->done, reply->missing.size()});
    for (const JobId id : reply->missing) append_space_number(out, id);
    out += "\r\n";
  }
  void operator()(const std::unique_ptr<JobList>& reply) const {
    append_yaml(out, Word::Ok, jobs_yaml(*reply));
  }
  void operator()(const std::unique_ptr<ClientList>& reply) const {
    append_yaml(out, Word::Ok, clients_yaml(*reply));
  }
  void operator()(const NotesOf& /*reply*/) const { CHECK(!"the notes are missing"); }
  void operator()(const std::unique_ptr<NoteList>& reply) const {
    append_yaml(out, Word::Ok, notes_yaml(*reply));
  }
  void operator()(const std::unique_ptr<ScheduleSeen>& reply) const {
    append_yaml(out, Word::Ok, schedule_yaml(*reply));
  }
  void operator()(const std::unique_ptr<ScheduleList>& reply) const {
    append_yaml(out, Word::Ok, schedules_yaml(*reply));
  }
  void operator()(const std::unique_ptr<ScheduleBody>& reply) const {
    append_yaml(out, Word::Ok, reply->body.view());
  }
  void operator()(const std::unique_ptr<TubeNames>& reply) const {
    append_names_head(out, size_of(*reply));
    append_names(out, *reply);
    out += names_tail;
  }
  void operator()(const std::unique_ptr<JobStats>& reply) const {
    append_yaml(out, Word::Ok, job_yaml(*reply, style));
  }
  void operator()(const std::unique_ptr<TubeStats>& reply) const {
    append_yaml(out, Word::Ok, tube_yaml(*reply, style));
  }
  void operator()(const std::unique_ptr<EngineStats>& /*reply*/) const {
    CHECK(!"stats needs the facts of process and store");
  }
  void operator()(const std::unique_ptr<CheckpointMade>& reply) const {
    append_yaml(out, Word::Ok, checkpoint_yaml(*reply));
  }
  void operator()(const std::unique_ptr<CheckpointFailed>& reply) const {
    append_yaml(out, Word::Failed, fmt::format("---\nreason: {}\n", quoted(reply->reason)));
  }
};

}  // namespace

void append_reply(std::string& out, const Reply& reply, StatsStyle style) {
  std::visit(Appender{out, style}, reply);
}

void append_job_head(std::string& out, const JobReply& reply) {
  CHECK(row_of(reply.word).shape == ReplyShape::JobPayload);
  out += row_of(reply.word).text;
  out += ' ';
  append_number(out, reply.id);
  out += ' ';
  append_number(out, reply.body_bytes);
  if (reply.facts) append_facts(out, *reply.facts);
  out += "\r\n";
}

void append_batch_head(std::string& out, const JobsReserved& reply) {
  append_numbers(out, Word::ReservedBatch, {reply.jobs.size()});
  out += "\r\n";
}

size_t names_bytes(const NamesSize& size) {
  constexpr size_t line_bytes = 3;  // "- " and LF.
  return yaml_start.size() + size.count * line_bytes + size.bytes;
}

void append_names_head(std::string& out, const NamesSize& size) {
  append_line(out, Word::Ok, names_bytes(size));
  out += yaml_start;
}

void append_names(std::string& out, const TubeNames& names) {
  for (const std::string& name : names.names) {
    out += "- ";
    out += name;
    out += '\n';
  }
}

void append_stats(std::string& out, const EngineStats& engine, const ProcessFacts& process,
                  const StoreFacts& store, StatsStyle style) {
  append_yaml(out, Word::Ok, server_yaml(engine, process, store, style));
}

}  // namespace perennial::wire
