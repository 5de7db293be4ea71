#include "store/offline/repair.h"

#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>

#include "store/disk/data_dir.h"
#include "store/disk/file_tree.h"
#include "store/disk/replacement.h"
#include "store/offline/builder.h"
#include "store/offline/lost_jobs.h"
#include "store/rocks/observer.h"
#include "store/salvage/salvage.h"

namespace perennial::store {

struct Repair::Impl {
  Impl(DataDir locked, rocksdb::Env* env) : dir(std::move(locked)), tree(env), failure(events) {
    options.data_dir = dir.path();
    options.env = env;
    options.open_tables_max = 16;
  }

  Status build(const std::string& to, LostJobs& lost);
  Status add_tubes();
  Status add_schedules();
  Status add_job(JobRow row, std::string_view body, std::vector<Note> notes);
  Status add_jobs(LostJobs& lost);
  Status add_ended(EndedJob job, std::string_view body, std::vector<Note> notes);
  Status add_keys();
  Status check_counts() const;
  Status keep_aside(const std::string& aside, const LostJobs& lost);

  DataDir dir;
  FileTree tree;
  const Events events;
  StoreFailure failure;
  store::Options options;
  std::unique_ptr<Salvage> salvage;
  std::unique_ptr<Builder> builder;
  std::map<TubeId, TubeId> tubes;  // In the new database, by number in the old one.
  uint64_t jobs = 0;
  uint64_t ended = 0;
  uint64_t schedules = 0;
  uint64_t lost_count = 0;
  std::set<JobId> lost_with_key;
};

Repair::Repair(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Repair::~Repair() = default;

const Salvaged& Repair::account() const {
  return impl_->salvage->account();
}
JobId Repair::next_id() const {
  return impl_->salvage->next_id();
}

Result<std::unique_ptr<Repair>> Repair::open(const std::string& path, const std::string& checkpoint,
                                             rocksdb::Env* env) {
  ::umask(0077);  // Applies to all files that are made from here on, also by RocksDB.
  const Result<bool> is_there = FileTree(env).exists(path + "/db");
  if (!is_there.ok()) return is_there.status();
  if (!*is_there) {
    return Status(StatusCode::NotFound, path + " is no data directory: it holds no db");
  }
  Result<DataDir> dir = DataDir::open(path);
  if (!dir.ok()) return dir.take_status();
  auto impl = std::make_unique<Impl>(dir.take(), env);
  Result<std::unique_ptr<Salvage>> salvage =
      Salvage::open(impl->dir.db_path(), impl->options, impl->failure, checkpoint);
  if (!salvage.ok()) return salvage.take_status().with("repair " + path);
  impl->salvage = salvage.take();
  if (impl->salvage->account().has_cluster) {
    return Status(StatusCode::InvalidArgument,
                  path +
                      " belongs to a cluster: move it away, and the node gets its jobs from the "
                      "others when it starts");
  }
  return std::unique_ptr<Repair>(new Repair(std::move(impl)));
}

Result<std::string> Repair::run(const std::string& time) {
  Impl& impl = *impl_;
  const std::string& path = impl.dir.path();
  const std::string incoming = path + "/" + std::string(incoming_name);
  const std::string made = incoming + "/new";
  const std::string aside = std::string(aside_prefix) + time;
  LostJobs lost(impl.salvage->tubes());
  Status done = impl.tree.remove(incoming);
  if (done.ok()) done = impl.tree.make_dir(incoming);
  if (done.ok()) done = impl.build(made, lost);
  // Inside of what becomes replacement/, so that one rename decides about all of it.
  if (done.ok()) done = impl.keep_aside(made + "/" + aside, lost);
  if (!done.ok()) {
    impl.builder.reset();
    ignore(impl.tree.remove(incoming), "there is a failure to report already");
    return std::move(done).with("repair " + path);
  }
  impl.salvage.reset();  // It has the old database open.
  if (Status replaced = replace_database(path, made); !replaced.ok()) return replaced;
  return path + "/" + aside;
}

Status Repair::Impl::build(const std::string& to, LostJobs& lost) {
  Result<std::unique_ptr<Builder>> begun = Builder::begin({.path = to, .env = options.env});
  if (!begun.ok()) return begun.take_status();
  builder = begun.take();
  Status done = add_tubes();
  if (done.ok()) done = add_schedules();
  if (done.ok()) done = add_jobs(lost);
  if (done.ok()) done = add_keys();
  if (done.ok()) done = check_counts();
  if (done.ok()) done = builder->publish(salvage->commit(), salvage->next_id());
  builder.reset();
  return done;
}

Status Repair::Impl::add_tubes() {
  for (const auto& [number, name] : salvage->tubes()) {
    const Result<TubeId> tube = builder->tube(name);
    if (!tube.ok()) return tube.status();
    tubes[number] = *tube;
  }
  // The builder has given the tubes new numbers.
  for (TubePaused pause : salvage->pauses()) {
    pause.tube = tubes.at(pause.tube);
    if (Status added = builder->add_pause(pause); !added.ok()) return added;
  }
  for (const SettingsStored& settings : salvage->settings()) {
    if (Status added = builder->add_settings(settings); !added.ok()) return added;
  }
  return {};
}

Status Repair::Impl::add_schedules() {
  return salvage->each_schedule([&](const ScheduleStored& stored, std::string_view body) {
    ++schedules;
    return builder->add_schedule(stored, body);
  });
}

namespace {

// Lets the job count the notes that are left, as if it never had the others: a job without some of
// its notes would be a fault.
void count_again(JobRow& row, std::vector<Note>& notes) {
  if (notes.size() == notes_kept(row.fields->notes)) return;
  JobFields fields = *row.fields;
  fields.notes = 0;
  for (Note& note : notes) note.number = ++fields.notes;
  if (fields == JobFields{}) {
    row.fields.reset();
  } else {
    row.fields = std::move(fields);
  }
}

}  // namespace

Status Repair::Impl::add_job(JobRow row, std::string_view body, std::vector<Note> notes) {
  if (row.fields && row.fields->notes > 0) count_again(row, notes);
  row.tube = tubes.at(row.tube);
  ++jobs;
  Status added = builder->add_job(row, body);
  for (const Note& note : notes) {
    if (added.ok()) added = builder->add_note(row.id, note);
  }
  return added;
}

Status Repair::Impl::add_ended(EndedJob job, std::string_view body, std::vector<Note> notes) {
  if (job.row.fields && job.row.fields->notes > 0) count_again(job.row, notes);
  ++ended;
  Status added = builder->add_ended(job, body);
  for (const Note& note : notes) {
    if (added.ok()) added = builder->add_note(job.row.id, note);
  }
  return added;
}

Status Repair::Impl::add_jobs(LostJobs& lost) {
  Salvage::Notes left(*salvage);
  const auto notes_of = [&](const JobRow& row) -> Result<std::vector<Note>> {
    if (!row.fields || row.fields->notes == 0) return std::vector<Note>();
    return left.find(row.id, row.fields->notes);
  };
  const auto take = [&](JobId id, const JobRow* row, std::optional<std::string_view> body) {
    Result<std::vector<Note>> notes = row != nullptr ? notes_of(*row) : std::vector<Note>();
    if (!notes.ok()) return notes.take_status();
    if (row == nullptr || !body) {
      if (row != nullptr && row->fields && row->fields->key) lost_with_key.insert(id);
      ++lost_count;
      lost.add(id, row, body, *notes);
      return Status();
    }
    return add_job(*row, *body, std::move(*notes));
  };
  const auto take_ended = [&](const EndedJob& job, std::string_view body) {
    Result<std::vector<Note>> notes = notes_of(job.row);
    if (!notes.ok()) return notes.take_status();
    return add_ended(job, body, std::move(*notes));
  };
  return salvage->each_left(take, take_ended);
}

// A key whose job is lost is free again.
Status Repair::Impl::add_keys() {
  return salvage->each_key([&](const KeyStored& key) {
    const bool is_free = key.expires_at == 0 && lost_with_key.contains(key.job);
    return is_free ? Status() : builder->add_key(key);
  });
}

// The database was read twice: when it was opened, for the account that was announced, and
// now. A disk that fails may read differently.
Status Repair::Impl::check_counts() const {
  const Salvaged& said = salvage->account();
  const bool has_rest = ended == said.ended && schedules == said.schedules;
  if (jobs == said.whole_jobs() && lost_count == said.lost_jobs() && has_rest) return {};
  return {StatusCode::Corruption,
          fmt::format("{} jobs can be read now and {} cannot, where {} and {} were announced; "
                      "nothing was changed",
                      jobs, lost_count, said.whole_jobs(), said.lost_jobs())};
}

// Writes what is kept beside the old database. Its durable mark is copied, because the exchange
// removes the mark in the data directory.
Status Repair::Impl::keep_aside(const std::string& aside, const LostJobs& lost) {
  const std::string mark = dir.path() + "/durable";
  Status done = tree.make_dir(aside);
  if (done.ok()) done = tree.write(aside + "/" + std::string(lost_jobs_name), lost.lines());
  const Result<bool> has_mark = tree.exists(mark);
  if (done.ok() && !has_mark.ok()) done = has_mark.status();
  if (done.ok() && *has_mark) done = tree.copy(mark, aside + "/durable");
  if (done.ok()) done = tree.sync_dir(aside);
  if (done.ok()) done = tree.sync_dir(parent_of(aside));
  return done.ok() ? tree.sync_dir(parent_of(parent_of(aside))) : done;
}

}  // namespace perennial::store
