#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/common/tool/progress.h"
#include "cmd/perennial/arguments/copied_schedules.h"
#include "cmd/perennial/dump/commands.h"
#include "cmd/perennial/dump/dump_lines.h"
#include "cmd/perennial/dump/dump_parser.h"
#include "cmd/perennial/output/output.h"
#include "store/offline/builder.h"

namespace perennial::tool {
namespace {

// Names the known kind of file that was given instead of a dump, if any.
std::string_view guess(std::string_view beginning) {
  if (beginning.empty()) return "it is empty";
  if (beginning.starts_with("\x1f\x8b")) return "it is compressed with gzip: zcat it first";
  if (beginning.starts_with("\x28\xb5\x2f\xfd"))
    return "it is compressed with zstd: zstdcat it first";
  if (beginning.starts_with("---")) return "it is YAML: perennial load takes --format jsonl";
  if (beginning.starts_with("id  ")) return "it is a table: perennial load takes --format jsonl";
  return beginning.front() == '{' ? "" : "it is no dump of perennial";
}

class Loader {
 public:
  Loader(const LoadOptions& options, DumpLines& lines) : options_(options), lines_(lines) {}

  Status run();
  uint64_t loaded() const { return read_ - skipped_; }
  uint64_t skipped() const { return skipped_; }
  const DumpHeader& header() const { return header_; }
  uint64_t body_bytes() const { return body_bytes_; }
  uint64_t keys() const { return keys_loaded_; }
  uint64_t notes() const { return notes_loaded_; }
  uint64_t schedules() const { return schedules_; }
  uint64_t schedules_paused() const { return schedules_paused_; }

 private:
  Status read_header();
  Status begin();
  Status read_jobs();
  Status add(const DumpJob& job);
  Status read_schedule(std::string_view line);
  Status read_note(std::string_view line);
  Status read_key(std::string_view line);
  Status check_held_keys() const;
  Status check_place(const DumpJob& job) const;
  Status check_footer(const DumpFooter& footer) const;
  Status at_line(const Status& status) const;
  Status refuse(std::string_view what) const {
    return at_line({StatusCode::Corruption, std::string(what)});
  }

  const LoadOptions& options_;
  DumpLines& lines_;
  DumpHeader header_;
  std::unique_ptr<store::Builder> builder_;
  std::map<std::string, TubeId, std::less<>> tubes_;
  std::array<uint64_t, store::job_states.size()> jobs_ = {};  // By state.
  uint64_t read_ = 0;
  uint64_t skipped_ = 0;
  std::set<JobId> skipped_with_key_;
  uint64_t keys_read_ = 0;
  uint64_t keys_loaded_ = 0;
  std::string last_key_;                  // As key_row_key() writes it.
  uint64_t held_keys_ = 0;                // Keys that are held as long as their job says.
  uint64_t key_holders_ = 0;              // Jobs that hold such a key.
  std::optional<JobFields> last_fields_;  // Of the job that was added last, if it is loaded.
  uint32_t last_note_ = 0;                // The number of its last note.
  uint64_t notes_read_ = 0;
  uint64_t notes_loaded_ = 0;
  uint64_t schedules_ = 0;
  uint64_t schedules_paused_ = 0;  // By this load.
  std::string last_schedule_;
  uint64_t bytes_read_ = 0;
  uint64_t body_bytes_ = 0;
  JobId last_id_ = 0;
};

Status Loader::run() {
  if (Status read = read_header(); !read.ok()) return read;
  if (Status begun = begin(); !begun.ok()) return begun;
  Status read = read_jobs();
  if (read.ok()) return builder_->publish(header_.commit, header_.next_id);
  builder_.reset();
  return Status(read.code(), read.message() + "; nothing was loaded");
}

Status Loader::read_header() {
  const Result<std::string_view> beginning = lines_.peek(4);
  if (!beginning.ok()) return beginning.status();
  const std::string_view other = guess(*beginning);
  if (!other.empty()) return {StatusCode::Corruption, std::string(other)};
  std::string_view line;
  const Result<bool> got = lines_.next(line);
  if (!got.ok()) return got.status();
  Result<DumpHeader> header = parse_header(line);
  if (!header.ok()) return at_line(header.status());
  header_ = header.take();
  if (!header_.selection.no_body) return {};
  return refuse("the dump has no bodies: make one without --no-body");
}

Status Loader::begin() {
  Result<std::unique_ptr<store::Builder>> builder =
      store::Builder::begin({.path = options_.data_dir});
  if (!builder.ok()) return builder.take_status();
  builder_ = builder.take();
  for (const std::string& name : header_.tubes) {
    const Result<TubeId> tube = builder_->tube(name);
    if (!tube.ok()) return tube.status();
    tubes_[name] = *tube;
  }
  for (const DumpPause& pause : header_.pauses) {
    Status added = builder_->add_pause(
        {.tube = tubes_[pause.tube], .pause = pause.duration, .until = pause.end});
    if (!added.ok()) return added;
  }
  for (const SettingsStored& stored : header_.settings) {
    if (Status added = builder_->add_settings(stored); !added.ok()) return added;
  }
  return {};
}

Status Loader::read_jobs() {
  Progress progress("jobs loaded", header_.job_count());
  std::string_view line;
  while (true) {
    const Result<bool> got = lines_.next(line);
    if (!got.ok()) return got.status();
    if (!*got) return refuse("the dump is cut off here: its last line is missing");
    if (is_footer(line)) break;
    if (header_.version >= dump_version_with_schedules && is_schedule(line)) {
      if (Status read = read_schedule(line); !read.ok()) return read;
      continue;
    }
    if (header_.version > dump_version_of_1_0 && is_note(line)) {
      if (Status read = read_note(line); !read.ok()) return read;
      continue;
    }
    if (header_.version > 1 && is_key(line)) {
      if (Status read = read_key(line); !read.ok()) return read;
      continue;
    }
    const Result<DumpJob> job = parse_job(line, header_.version);
    if (!job.ok()) return at_line(job.status());
    if (keys_read_ > 0) return refuse("a job comes after the keys");
    if (Status added = add(*job); !added.ok()) return added;
    progress.at(++read_);
  }
  const Result<DumpFooter> footer = parse_footer(line, header_.version);
  if (!footer.ok()) return at_line(footer.status());
  if (Status whole = check_footer(*footer); !whole.ok()) return whole;
  if (Status fits = check_held_keys(); !fits.ok()) return fits;
  const Result<bool> more = lines_.next(line);
  if (!more.ok()) return more.status();
  return *more ? refuse("something comes after the last line of the dump") : Status();
}

Status Loader::add(const DumpJob& job) {
  if (Status fits = check_place(job); !fits.ok()) return fits;
  last_id_ = job.row.id;
  ++jobs_[static_cast<size_t>(job.row.state)];
  bytes_read_ += job.row.body_bytes;
  last_note_ = 0;
  last_fields_.reset();
  const bool has_key = job.row.fields && job.row.fields->key;
  if (job.body_kind != DumpBody::Kind::Whole) {
    ++skipped_;
    if (has_key) skipped_with_key_.insert(job.row.id);
    if (options_.skip_damaged) return {};
    return refuse(
        fmt::format("the body of job {} was damaged or missing when it was dumped; "
                    "--skip-damaged leaves such jobs out",
                    job.row.id));
  }
  JobRow row = job.row;
  row.tube = tubes_.find(job.tube)->second;
  body_bytes_ += row.body_bytes;
  if (has_key && !row.fields->key->given_up && row.fields->key->until != KeyUntil::Ttl) {
    ++key_holders_;
  }
  last_fields_ = row.fields ? *row.fields : JobFields();
  return builder_->add_job(row, job.body);
}

Status Loader::read_schedule(std::string_view line) {
  Result<DumpSchedule> schedule = parse_schedule(line);
  if (!schedule.ok()) return at_line(schedule.status());
  ScheduleStored& stored = schedule->stored;
  if (read_ > 0 || keys_read_ > 0) return refuse("a schedule comes after the jobs");
  if (stored.schedule->name <= last_schedule_) {
    return refuse("schedules are not sorted, or one is there twice");
  }
  last_schedule_ = stored.schedule->name;
  if (stored.progress.last_job >= header_.next_id) {
    return refuse(fmt::format("job {} of the schedule is not below next_id, which is {}",
                              stored.progress.last_job, header_.next_id));
  }
  ++schedules_;
  if (options_.schedules == "paused" && !stored.progress.is_paused) {
    stored.progress.is_paused = true;
    ++schedules_paused_;
  }
  return builder_->add_schedule(stored, schedule->body);
}

Status Loader::read_note(std::string_view line) {
  const Result<NoteStored> stored = parse_note(line);
  if (!stored.ok()) return at_line(stored.status());
  const Note& note = stored->note;
  if (stored->job != last_id_ || keys_read_ > 0) {
    return refuse(
        fmt::format("note {} of job {} does not follow its job", note.number, stored->job));
  }
  if (note.number <= last_note_) return refuse("notes are not sorted, or one is there twice");
  last_note_ = note.number;
  ++notes_read_;
  if (!last_fields_) return {};  // Its job is left out.
  if (!store::is_kept(note.number, last_fields_->notes)) {
    return refuse(fmt::format("job {} had {} notes, so it does not keep note {}", stored->job,
                              last_fields_->notes, note.number));
  }
  ++notes_loaded_;
  return builder_->add_note(stored->job, note);
}

Status Loader::read_key(std::string_view line) {
  const Result<KeyStored> key = parse_key(line);
  if (!key.ok()) return at_line(key.status());
  if (key->job >= header_.next_id) {
    return refuse(fmt::format("job {} of the key is not below next_id, which is {}", key->job,
                              header_.next_id));
  }
  const std::string place = store::key_row_key(key->tube, key->key);
  if (place <= last_key_) return refuse("keys are not sorted, or one is there twice");
  last_key_ = place;
  ++keys_read_;
  const bool is_held = key->expires_at == 0;
  if (is_held && skipped_with_key_.contains(key->job)) return {};  // Its job is left out.
  held_keys_ += is_held;
  ++keys_loaded_;
  return builder_->add_key(*key);
}

// perennial check compares each job with its key. Here only their numbers are compared, which needs
// no memory.
Status Loader::check_held_keys() const {
  if (held_keys_ == key_holders_) return {};
  return refuse(fmt::format("{} jobs hold a key, and {} keys are held", key_holders_, held_keys_));
}

Status Loader::check_place(const DumpJob& job) const {
  const JobId id = job.row.id;
  if (id == last_id_) return refuse(fmt::format("job {} is there twice", id));
  if (id < last_id_) return refuse(fmt::format("job {} comes after job {}", id, last_id_));
  if (id >= header_.next_id) {
    return refuse(fmt::format("job {} is not below next_id, which is {}", id, header_.next_id));
  }
  if (tubes_.contains(job.tube)) return {};
  return refuse(fmt::format("the tube of job {} is not among those of line 1", id));
}

Status Loader::check_footer(const DumpFooter& footer) const {
  if (lines_.hash_before() != footer.hash) {
    return refuse("the dump was altered: the hash of the last line is not that of those before it");
  }
  if (footer.jobs != read_) {
    return refuse(
        fmt::format("the last line counts {} jobs, and there are {}", footer.jobs, read_));
  }
  if (footer.keys != keys_read_) {
    return refuse(
        fmt::format("the last line counts {} keys, and there are {}", footer.keys, keys_read_));
  }
  if (footer.notes != notes_read_) {
    return refuse(
        fmt::format("the last line counts {} notes, and there are {}", footer.notes, notes_read_));
  }
  if (footer.schedules != schedules_) {
    return refuse(fmt::format("the last line counts {} schedules, and there are {}",
                              footer.schedules, schedules_));
  }
  if (footer.body_bytes != bytes_read_) {
    return refuse(fmt::format("the last line counts {} bytes of bodies, and there are {}",
                              footer.body_bytes, bytes_read_));
  }
  for (const JobState state : store::job_states) {
    const auto place = static_cast<size_t>(state);
    if (header_.jobs[place] == jobs_[place]) continue;
    return refuse(fmt::format("line 1 counts {} {} jobs, and there are {}", header_.jobs[place],
                              state_name(state), jobs_[place]));
  }
  return {};
}

Status Loader::at_line(const Status& status) const {
  return {status.code(), fmt::format("line {}: {}", lines_.number(), status.message())};
}

void report(Output& out, const Loader& loader, bool as_json) {
  const DumpHeader& header = loader.header();
  if (as_json) {
    const nlohmann::ordered_json counts = {{"jobs", loader.loaded()},
                                           {"skipped", loader.skipped()},
                                           {"tubes", header.tubes.size()},
                                           {"pauses", header.pauses.size()},
                                           {"settings", header.settings.size()},
                                           {"keys", loader.keys()},
                                           {"notes", loader.notes()},
                                           {"schedules", loader.schedules()},
                                           {"schedules_paused", loader.schedules_paused()},
                                           {"body_bytes", loader.body_bytes()},
                                           {"next_id", header.next_id},
                                           {"commit", header.commit.index}};
    return out.add(counts.dump(2) + "\n");
  }
  out.add(fmt::format("jobs                {}\n", loader.loaded()));
  if (loader.skipped() > 0) out.add(fmt::format("left out, damaged   {}\n", loader.skipped()));
  out.add(
      fmt::format("tubes               {}\npauses              {}\nsettings of tubes   {}\n"
                  "keys                {}\nnotes               {}\nschedules           {}\n"
                  "bytes of bodies     {}\n"
                  "next id             {}\ncommit              {}\n",
                  header.tubes.size(), header.pauses.size(), header.settings.size(), loader.keys(),
                  loader.notes(), loader.schedules(), loader.body_bytes(), header.next_id,
                  header.commit.index));
  if (loader.schedules_paused() > 0) {
    out.add(fmt::format("\n{}", schedules_paused_text(loader.schedules_paused(), "load")));
  }
}

}  // namespace

Status load(const LoadOptions& options, int fd) {
  if (Status checked = check_copied_schedules(options.schedules); !checked.ok()) return checked;
  Result<std::unique_ptr<DumpLines>> lines = DumpLines::open(options.from);
  if (!lines.ok()) return lines.take_status();
  Loader loader(options, **lines);
  if (Status loaded = loader.run(); !loaded.ok()) return loaded;
  Output out(fd);
  report(out, loader, options.json);
  return out.finish();
}

Subcommand load_command() {
  const auto options = std::make_shared<LoadOptions>();
  return {
      .name = "load",
      .summary = "Make a data directory of a dump",
      .about =
          "Reads what perennial dump wrote (its format jsonl) and makes a data directory of it. "
          "Everything is kept: ids, states, the order of buried jobs, counters, deadlines, keys, "
          "tubes, their pauses and settings, the next id and the commit number, so that a dump of "
          "the new directory has the same bytes. A dump of some jobs (--tube, --state) loads as "
          "those jobs. A dump of an older version loads, too.\n\n"
          "But schedules are paused in the new directory, so that a copy beside the original puts "
          "no jobs of its own. If it takes the place of the original, --schedules=active leaves "
          "them as they were.\n\n"
          "The directory must be empty, or not be there. It grows as DIR.loading and gets its name "
          "when it is complete and on disk. A dump that is cut off or altered is refused, with the "
          "number of the line, and changes nothing.\n\n"
          "Run it as the user that the server runs as: the directory belongs to whoever made it.",
      .examples =
          "  perennial load --data-dir /var/lib/perennial-new --from jobs.jsonl\n"
          "  zcat jobs.jsonl.gz | perennial load --data-dir /var/lib/perennial-new\n",
      .flags =
          {
              {"--data-dir", "DIR", "The data directory to make; empty, or not there yet",
               &options->data_dir, true},
              {"--from", "FILE", "The dump; - is standard input", &options->from},
              {"--skip-damaged", "", "Leave jobs out whose bodies the dump marks as damaged",
               &options->skip_damaged},
              copied_schedules_flag(options->schedules),
              {"--json", "", "Report as JSON", &options->json},
          },
      .run =
          [options] {
            ignore_closed_pipes();
            return load(*options);
          },
  };
}

}  // namespace perennial::tool
