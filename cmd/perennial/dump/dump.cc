#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include <absl/time/clock.h>
#include <fmt/format.h>

#include "cmd/common/tool/progress.h"
#include "cmd/common/tool/tls_flags.h"
#include "cmd/perennial/checkpoints/checkpoint_choice.h"
#include "cmd/perennial/dump/commands.h"
#include "cmd/perennial/dump/dump_format.h"
#include "cmd/perennial/dump/dump_table.h"
#include "cmd/perennial/dump/survey.h"
#include "cmd/perennial/offline/salvage_report.h"
#include "cmd/perennial/output/output.h"
#include "store/reader.h"

namespace perennial::tool {
namespace {

Status check_options(const DumpOptions& options) {
  if (!options.state.empty() && !state_of(options.state)) {
    return {StatusCode::InvalidArgument,
            options.state + " is no state: ready, reserved, delayed or buried"};
  }
  if (options.json && !options.summary) {
    return {StatusCode::InvalidArgument, "--json goes with --summary; a dump is JSON by itself"};
  }
  if (options.format == "jsonl" || options.format == "yaml" || options.format == "table") return {};
  return {StatusCode::InvalidArgument, options.format + " is no format: jsonl, yaml or table"};
}

DumpSelection selection_of(const DumpOptions& options) {
  return {.tube = options.tube,
          .state = state_of(options.state),
          .id = options.id,
          .limit = options.limit,
          .no_body = options.no_body};
}

// Reads the bodies of a dump and counts the damaged ones.
class BodySource {
 public:
  BodySource(const store::Reader& reader, bool wanted) : wanted_(wanted) {
    if (wanted) bodies_.emplace(reader.bodies());
  }

  // A damaged body is no failure here. A disk that cannot be read is one.
  Result<DumpBody> read(const JobRow& row) {
    if (!wanted_) return DumpBody();
    Result<std::string_view> body = bodies_->read(row.id);
    if (body.ok() && body->size() == row.body_bytes) {
      return DumpBody{.kind = DumpBody::Kind::Whole, .bytes = *body};
    }
    if (body.ok()) return note(row, DumpBody::Kind::Damaged, "its size is another", *body);
    const Status& status = body.status();
    if (status.code() == StatusCode::NotFound) {
      return note(row, DumpBody::Kind::Missing, status.message(), {});
    }
    if (status.code() != StatusCode::Corruption) return body.take_status();
    return note(row, DumpBody::Kind::Damaged, status.message(), bodies_->damaged());
  }

  uint64_t bad() const { return bad_; }

 private:
  DumpBody note(const JobRow& row, DumpBody::Kind kind, std::string_view why,
                std::string_view bytes) {
    ++bad_;
    fmt::print(stderr, "perennial dump: the body of job {} is {}: {}\n", row.id,
               kind == DumpBody::Kind::Missing ? "missing" : "damaged", why);
    return {.kind = kind, .bytes = bytes};
  }

  const bool wanted_;
  std::optional<store::Reader::Bodies> bodies_;
  uint64_t bad_ = 0;
};

// Passes the notes of each job to a writer, and counts the jobs of which some are damaged.
class NoteSource {
 public:
  explicit NoteSource(const store::Reader& reader) : notes_(reader.notes()) {}

  // A damaged note is no failure here. A disk that cannot be read is one.
  template <typename Writer>
  Status pass(const JobRow& row, Writer& writer) {
    const uint32_t had = row.fields ? row.fields->notes : 0;
    if (had == 0) return {};
    const Result<std::vector<Note>> notes = notes_.read(row.id, had);
    if (!notes.ok() && notes.status().code() != StatusCode::Corruption) return notes.status();
    if (!notes.ok() || !notes_.problems().empty()) {
      const Status& problem = notes.ok() ? notes_.problems().front() : notes.status();
      if (bad_++ == 0) first_ = fmt::format("{}: {}", row.id, problem.message());
    }
    if (!notes.ok()) return {};
    for (const Note& note : *notes) writer.note(row.id, note);
    return {};
  }

  uint64_t bad() const { return bad_; }
  // What is missing. REQUIRES: something is.
  std::string problem() const {
    return fmt::format("the damaged notes of {} jobs are left out, first those of job {}", bad_,
                       first_);
  }

 private:
  store::Reader::Notes notes_;
  uint64_t bad_ = 0;
  std::string first_;  // The first job whose notes are damaged, and what is wrong with them.
};

// Passes each job to a writer, and returns the status of the dump.
template <typename Writer>
Status write_jobs(const store::Reader& reader, const Survey& survey, Output& out, Writer& writer) {
  BodySource bodies(reader, !survey.selection().no_body);
  NoteSource notes(reader);
  Progress progress("jobs dumped", survey.header(reader).job_count());
  uint64_t done = 0;
  if constexpr (requires { writer.schedule(ScheduleStored(), ""); }) {
    Status passed =
        survey.each_schedule(reader, [&](const ScheduleStored& stored, std::string_view body) {
          writer.schedule(stored, body);
          return out.failed() ? out.finish() : Status();
        });
    if (!passed.ok()) return passed;
  }
  Status written = survey.each_job(reader, [&](const JobRow& row, const std::string& tube) {
    const Result<DumpBody> body = bodies.read(row);
    if (!body.ok()) return body.status();
    writer.job(row, tube, *body);
    if (Status passed = notes.pass(row, writer); !passed.ok()) return passed;
    progress.at(++done);
    return out.failed() ? out.finish() : Status();
  });
  if constexpr (requires { writer.key(KeyStored()); }) {
    if (!written.ok()) return written;
    written = survey.each_key(reader, [&](const KeyStored& key) {
      writer.key(key);
      return out.failed() ? out.finish() : Status();
    });
  }
  if (!written.ok()) return written;
  if constexpr (requires { writer.footer(); }) writer.footer();
  if (Status finished = out.finish(); !finished.ok()) return finished;
  if (bodies.bad() == 0 && notes.bad() == 0) return {};
  if (bodies.bad() == 0) {
    return {StatusCode::Corruption, "the dump is complete, but " + notes.problem()};
  }
  if (notes.bad() > 0) fmt::print(stderr, "perennial dump: {}\n", notes.problem());
  return {StatusCode::Corruption,
          fmt::format("the dump is complete, but {} bodies are damaged or missing; perennial load "
                      "takes it only with --skip-damaged",
                      bodies.bad())};
}

Status write_records(const store::Reader& reader, const Survey& survey, Output& out,
                     DumpWriter::Syntax syntax) {
  DumpWriter writer(out, syntax);
  writer.header(survey.header(reader));
  return write_jobs(reader, survey, out, writer);
}

Status write_table(const store::Reader& reader, const Survey& survey, Output& out) {
  DumpTable table(out, survey, absl::GetCurrentTimeNanos());
  table.header();
  return write_jobs(reader, survey, out, table);
}

Status write_summary(const Survey& survey, Output& out, bool json) {
  json ? print_summary_json(out, survey, absl::GetCurrentTimeNanos())
       : print_summary(out, survey, absl::GetCurrentTimeNanos());
  return out.finish();
}

}  // namespace

Status dump(const DumpOptions& options, int fd) {
  if (options.data_dir.empty() == options.server.address.empty()) {
    return {StatusCode::InvalidArgument, "either --data-dir or --server is required"};
  }
  if (!options.server.address.empty()) return dump_server(options, fd);
  return dump_directory(options.data_dir, options, fd);
}

namespace {

// A reader, and what the first pass over its rows has found.
struct Source {
  std::unique_ptr<store::Reader> reader;
  Survey survey;
};

// `checkpoint`: for a salvage, or empty.
Result<Source> open_source(const std::string& path, const DumpOptions& options, bool salvage,
                           const std::string& checkpoint = {}) {
  Result<std::unique_ptr<store::Reader>> reader =
      store::Reader::open({.path = path,
                           .recover = options.recover_point_in_time ? store::Recover::PointInTime
                                                                    : store::Recover::Strict,
                           .salvage = salvage,
                           .checkpoint = checkpoint});
  if (!reader.ok()) return reader.take_status();
  Result<Survey> survey = Survey::make(**reader, selection_of(options));
  if (!survey.ok()) return survey.take_status();
  return Source{.reader = reader.take(), .survey = survey.take()};
}

// Reads all that can be read of a directory that is refused. Damage of the log is another matter
// than that of a table: what is behind it may have been deleted. So it must be asked for.
Result<Source> open_damaged(const std::string& path, const DumpOptions& options,
                            const Status& refused) {
  const Result<std::string> checkpoint = checkpoint_for_salvage(path, options.checkpoint);
  if (!checkpoint.ok()) return checkpoint.status();
  Result<Source> source = open_source(path, options, true, *checkpoint);
  if (!source.ok()) {
    return source.status().code() == StatusCode::Corruption ? refused : source.take_status();
  }
  if (options.salvage || source->reader->salvaged()->log_problem.empty()) return source;
  return Status(refused.code(),
                fmt::format("{}; perennial dump --salvage writes all the same what can be read",
                            refused.message()));
}

Result<Source> open_any(const std::string& path, const DumpOptions& options) {
  Result<Source> source = open_source(path, options, false);
  if (source.ok() || source.status().code() != StatusCode::Corruption) return source;
  return open_damaged(path, options, source.take_status());
}

Status write_source(const Source& source, const DumpOptions& options, Output& out) {
  if (options.summary) return write_summary(source.survey, out, options.json);
  if (options.format == "table") return write_table(*source.reader, source.survey, out);
  const auto syntax =
      options.format == "yaml" ? DumpWriter::Syntax::Yaml : DumpWriter::Syntax::Json;
  return write_records(*source.reader, source.survey, out, syntax);
}

// Says what the dump lacks. A status that is already an error stays, unless it is of damaged
// bodies, which are counted here, too.
Status report_damage(const store::Salvaged& salvaged, Status written) {
  if (!written.ok() && written.code() != StatusCode::Corruption) return written;
  for (const std::string& line : damage_lines(salvaged)) {
    fmt::print(stderr, "perennial dump: {}\n", line);
  }
  if (salvaged.is_whole()) return written;
  return {
      StatusCode::Corruption,
      fmt::format("the dump has what can be read: of the whole directory these are {} jobs, and "
                  "{} are lost; to load it: perennial load --data-dir NEW-DIR --from FILE{}",
                  salvaged.whole_jobs(), salvaged.lost_jobs(),
                  salvaged.bodies_lost.count > 0 ? " --skip-damaged" : "")};
}

}  // namespace

Status dump_directory(const std::string& path, const DumpOptions& options, int fd) {
  if (Status sensible = check_options(options); !sensible.ok()) return sensible;
  const Result<Source> source = open_any(path, options);
  if (!source.ok()) return source.status();
  Output out(fd);
  Status written = write_source(*source, options, out);
  const store::Salvaged* const salvaged = source->reader->salvaged();
  return salvaged == nullptr ? written : report_damage(*salvaged, std::move(written));
}

Subcommand dump_command() {
  const auto options = std::make_shared<DumpOptions>();
  return {
      .name = "dump",
      .summary = "Show every job of a data directory or a checkpoint, with all its fields",
      .about =
          "Reads a data directory that no server uses, or a checkpoint, and changes nothing in it. "
          "With --server it reads a copy that a running server makes for it alone and removes when "
          "it has ended, however it ends. That is no checkpoint: checkpoint list does not show it, "
          "and no schedule counts it. It works on the server's machine and as its user.\n\n"
          "The default format, jsonl, is one job a line, in the order of ids, and can be given to "
          "perennial load. The first line says what is in it: \"jobs\" by state, \"tubes\", "
          "\"pauses\", \"settings\" of tubes, \"next_id\", \"commit\", and \"selection\" if not "
          "everything was asked for. "
          "A job is id, tube, state, pri, delay, ttr, created, deadline (delayed jobs only), "
          "bury_order (buried jobs only), reserves, timeouts, releases, buries, kicks, bytes and "
          "its body: \"body\" if that is UTF-8, otherwise \"body_base64\". Where they are set, it "
          "has "
          "attempts, tries, backoff with backoff_cap, dead, from, expires, idp with idp_until, "
          "idp_ttl and idp_given_up, con with con_max, delay_rest and ttr_rest. After the jobs "
          "each "
          "key that is held is a line: idp, tube, job, until and expires. Before them each "
          "schedule is "
          "one, with the body of its jobs and how far it is. Times and "
          "durations are nanoseconds; delay, ttr and idp_ttl are seconds. The last line has the "
          "number of jobs and a "
          "hash of all bytes before it, so that a dump that is cut off is noticed. The same "
          "directory gives the same bytes. --format yaml is the same in YAML, --format table is "
          "for "
          "reading.\n\n"
          "A body that is not what was written is marked: \"body_damaged\" beside the bytes that "
          "are there, or \"body_missing\". A damaged note is left out. "
          "The dump goes on, warns, and ends with exit code 1.\n\n"
          "Of a damaged directory it writes all that can be read: a damaged block of a table costs "
          "the rows in that block. It says which files, bytes and jobs are concerned, how many "
          "jobs "
          "are lost, and how many may be in another state or deleted; it ends with exit code 1. "
          "What a checkpoint has of these rows and bodies is taken from it, as perennial repair "
          "does. "
          "Jobs of a tube whose name is lost are in tube-NUMBER. Where the log is damaged, jobs "
          "may be in the dump that were deleted, so that it must be asked for: --salvage.",
      .examples =
          "  perennial dump --data-dir /var/lib/perennial > jobs.jsonl\n"
          "  perennial dump --server 127.0.0.1:11300 > jobs.jsonl\n"
          "  # What is in there? What is stuck?\n"
          "  perennial dump --data-dir /var/lib/perennial --summary\n"
          "  perennial dump --data-dir /var/lib/perennial --state buried --format table\n"
          "  # The body of one job, as it was put.\n"
          "  perennial dump --data-dir /var/lib/perennial --id 12 | jq -rj 'select(.id).body'\n",
      .flags = with_server_flags(
          options->server,
          {
              {"--data-dir", "DIR", "The data directory, or a checkpoint", &options->data_dir},
              {"--server", "ADDR", "A running server instead: HOST:PORT or unix:PATH",
               &options->server.address},
              {"--format",
               "FORMAT",
               "How to write it",
               &options->format,
               false,
               {"jsonl", "yaml", "table"}},
              {"--tube", "TUBE", "Only the jobs of this tube", &options->tube},
              {"--state",
               "STATE",
               "Only the jobs in this state",
               &options->state,
               false,
               {"ready", "reserved", "delayed", "buried"}},
              {"--id", "ID", "Only this job", &options->id},
              {"--limit", "COUNT", "Only the first so many of those", &options->limit},
              {"--no-body", "", "Without bodies, which are then not read", &options->no_body},
              {"--summary", "", "A line for each tube instead: jobs by state, bytes, oldest job",
               &options->summary},
              {"--json", "", "With --summary: as JSON", &options->json},
              {"--recover-point-in-time", "",
               "Where the log is damaged, show what is before the damage",
               &options->recover_point_in_time},
              {"--salvage", "", "Where the log is damaged, too, write all that can be read",
               &options->salvage},
              {"--checkpoint", "DIR",
               "Of a damaged directory: its checkpoint for what cannot be read, or none",
               &options->checkpoint},
          }),
      .run =
          [options] {
            ignore_closed_pipes();
            return dump(*options);
          },
  };
}

}  // namespace perennial::tool
