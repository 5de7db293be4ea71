#include "store/forced_start.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <rocksdb/iterator.h>

#include "store/disk/set_aside.h"
#include "store/load.h"
#include "store/rocks/database.h"
#include "store/store_impl.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

// How many rows are removed in one batch.
constexpr size_t rows_per_batch = 10'000;

// Compares the ids of bodies with those of jobs. Both come in the order of ids.
class BodyMatch {
 public:
  BodyMatch(const Database& view, ForcedOutcome& outcome) : outcome_(outcome) {
    rocksdb::ReadOptions how;
    how.fill_cache = false;
    how.readahead_size = 2 << 20;
    at_.reset(view->NewIterator(how, view.family(Family::Bodies)));
    at_->SeekToFirst();
  }

  // False: the job has no body. One with this id is no orphan.
  bool take(JobId id) {
    const auto key = job_key(id);
    pass_until(view(key));
    if (!at_->Valid() || view(at_->key()) != view(key)) return false;
    at_->Next();
    return true;
  }
  Status finish() {
    pass_until({});
    return from_rocksdb(at_->status());
  }

 private:
  // Takes the bodies before `key`, or all that are left.
  void pass_until(std::string_view key) {
    for (; at_->Valid() && (key.empty() || view(at_->key()) < key); at_->Next()) {
      const Result<JobId> id = decode_job_key(Family::Bodies, view(at_->key()));
      if (id.ok()) outcome_.put_later.push_back(*id);
    }
  }

  ForcedOutcome& outcome_;
  std::unique_ptr<rocksdb::Iterator> at_;
};

// Compares the notes with what jobs count. Both come in the order of ids. The rows of notes are
// read, but a damaged one stops no start: it is left where it is.
class NoteMatch {
 public:
  NoteMatch(const Database& view, ForcedOutcome& outcome) : outcome_(outcome) {
    rocksdb::ReadOptions how;
    how.fill_cache = false;
    how.readahead_size = 2 << 20;
    rocksdb::ColumnFamilyHandle* const family = view.family(Family::Notes);
    at_.reset(family == nullptr ? rocksdb::NewEmptyIterator() : view->NewIterator(how, family));
    at_->SeekToFirst();
  }

  // `had`: how many notes the job counts. 0 also of a job that is left out. None: nobody knows, and
  // all stay.
  void take(JobId id, std::optional<uint32_t> had) {
    for (; at_->Valid(); at_->Next()) {
      const std::string_view key = view(at_->key());
      const Result<JobId> job = decode_note_key(key);
      if (job.ok() && *job > id) return;
      const bool is_of_job = job.ok() && *job == id && had != 0U;
      const Result<NoteStored> row = decode_note(key, view(at_->value()));
      const bool stays = is_of_job && (!row.ok() || !had || is_kept(row->note.number, *had));
      if (job.ok() && !stays) outcome_.notes_written_later.emplace_back(key);
    }
  }
  void finish() { take(std::numeric_limits<JobId>::max(), 0); }

 private:
  ForcedOutcome& outcome_;
  std::unique_ptr<rocksdb::Iterator> at_;
};

uint32_t notes_of(const JobRow& row) {
  return row.fields ? row.fields->notes : 0;
}

// Compares bodies and notes with jobs, and with those that have ended.
class Matches {
 public:
  Matches(const Database& view, ForcedOutcome& outcome)
      : bodies_(view, outcome), notes_(view, outcome), outcome_(outcome) {
    rocksdb::ReadOptions how;
    how.fill_cache = false;
    how.readahead_size = 2 << 20;
    rocksdb::ColumnFamilyHandle* const family = view.family(Family::Ended);
    ended_.reset(family == nullptr ? rocksdb::NewEmptyIterator() : view->NewIterator(how, family));
    ended_->SeekToFirst();
  }

  void take(const JobRow& row) {
    const auto key = job_key(row.id);
    take_ended_until(store::view(key));
    const bool has_body = bodies_.take(row.id);
    if (!has_body) outcome_.deleted_later.push_back({.id = row.id, .state = row.state});
    notes_.take(row.id, has_body ? notes_of(row) : 0);
  }
  Status finish() {
    take_ended_until({});
    if (!ended_->status().ok()) return from_rocksdb(ended_->status());
    notes_.finish();
    return bodies_.finish();
  }

 private:
  // Takes the ended jobs before `key`, or all that are left.
  void take_ended_until(std::string_view key) {
    for (; ended_->Valid() && (key.empty() || store::view(ended_->key()) < key); ended_->Next()) {
      take_ended(store::view(ended_->key()), store::view(ended_->value()));
    }
  }
  // An ended job without a body has gone behind the cut. A row that is damaged stays where it is.
  void take_ended(std::string_view key, std::string_view value) {
    const Result<JobId> id = decode_job_key(Family::Ended, key);
    if (!id.ok()) return;
    const bool has_body = bodies_.take(*id);
    const Result<EndedJob> job = decode_ended(key, value);
    if (!job.ok()) return notes_.take(*id, std::nullopt);
    if (!has_body) outcome_.ended_gone_later.push_back(order_of(*job));
    notes_.take(*id, has_body ? notes_of(job->row) : 0);
  }

  BodyMatch bodies_;
  NoteMatch notes_;
  ForcedOutcome& outcome_;
  std::unique_ptr<rocksdb::Iterator> ended_;
};

LoadSink empty_sink() {
  return {.tube = [](TubeId, std::string_view) { return Status(); },
          .pause = [](const TubePaused&) { return Status(); },
          .settings = [](const SettingsStored&) { return Status(); },
          .job = [](const JobRow&) { return Status(); },
          .key = [](const KeyStored&) { return Status(); }};
}

// Keys come after all jobs.
Status take_key(const KeyStored& key, const absl::flat_hash_set<JobId>& left_out,
                ForcedOutcome& outcome) {
  if (left_out.contains(key.job)) outcome.keys_of_deleted.push_back(key);
  return {};
}

}  // namespace

std::string ForcedOutcome::fields() const {
  const auto count = [this](JobState state) { return jobs[static_cast<size_t>(state)]; };
  return fmt::format(
      "ready={} reserved={} delayed={} buried={} tubes={} keys={} schedules={} "
      "deleted_later={} put_later={} ended_gone_later={}",
      count(JobState::Ready), count(JobState::Reserved), count(JobState::Delayed),
      count(JobState::Buried), tubes, keys, schedules, deleted_later.size(), put_later.size(),
      ended_gone_later.size());
}

absl::flat_hash_set<JobId> ForcedOutcome::left_out() const {
  absl::flat_hash_set<JobId> out;
  for (const JobPlace& job : deleted_later) out.insert(job.id);
  return out;
}

Result<ForcedOutcome> foresee(const Database& view, bool compares_bodies) {
  ForcedOutcome outcome;
  LoadSink sink = empty_sink();
  std::optional<Matches> matches;
  if (compares_bodies) matches.emplace(view, outcome);
  sink.job = [&](const JobRow& row) {
    if (matches) matches->take(row);
    return Status();
  };
  absl::flat_hash_set<JobId> left_out;
  bool has_key = false;
  sink.key = [&](const KeyStored& key) {
    if (!has_key) left_out = outcome.left_out();
    has_key = true;
    return take_key(key, left_out, outcome);
  };
  Loaded loaded;
  if (Status rows = load_rows(view, sink, loaded); !rows.ok()) return rows;
  if (Status same = check_states(view, loaded); !same.ok()) return same;
  if (Status compared = matches ? matches->finish() : Status(); !compared.ok()) return compared;
  for (size_t state = 0; state < outcome.jobs.size(); ++state) {
    outcome.jobs[state] = loaded.jobs[state];
  }
  for (const auto& job : outcome.deleted_later) --outcome.jobs[static_cast<size_t>(job.state)];
  outcome.tubes = loaded.tubes.size();
  outcome.schedules = loaded.schedules;
  outcome.keys = loaded.keys - outcome.keys_of_deleted.size();
  return outcome;
}

Status load_foreseen(const Database& view, bool compares_bodies, const LoadSink& sink) {
  const Result<ForcedOutcome> outcome = foresee(view, compares_bodies);
  if (!outcome.ok()) return outcome.status();
  const absl::flat_hash_set<JobId> left_out = outcome->left_out();
  LoadSink kept = sink;
  kept.job = [&](const JobRow& row) {
    return left_out.contains(row.id) ? Status() : sink.job(row);
  };
  kept.key = [&](const KeyStored& key) {
    return left_out.contains(key.job) ? Status() : sink.key(key);
  };
  Loaded loaded;
  return load_rows(view, kept, loaded);
}

// The outcome is announced before anything is changed. `unfinished` is there until finish_forced():
// a start in between is refused unless it is forced, too, and that one comes to the same outcome.
Status Store::Impl::begin_forced(const Database& view, RecoveryPlan& plan) {
  const Result<JobId> next_id = next_id_of(view, plan);
  if (!next_id.ok()) return next_id.status();
  Result<ForcedOutcome> found = foresee(view, plan.compares_bodies());
  if (!found.ok()) return found.take_status();
  promised = found.take();
  const BatchIndex last = plan.log.last ? plan.log.last->index : 0;
  const std::string announced = fmt::format("last_kept={} {}", last, promised->fields());
  inform("store.forced_start", announced);
  std::vector<std::string> files = {dir.path() + "/durable"};
  if (const auto& truncation = plan.log.truncation) {
    files.push_back(dir.db_path() + "/" + truncation->file);
    for (const std::string& name : truncation->later_files) {
      files.push_back(dir.db_path() + "/" + name);
    }
  }
  const SetAside aside(options.env, dir.path());
  if (Status begun = aside.begin(files, announced + "\n"); !begun.ok()) return begun;
  if (plan.log.losses.empty()) return {};
  plan.next_id_min = std::max(plan.next_id_min, *next_id);
  return set_durable_mark(plan, plan.next_id_min, options);
}

// Removes the rows that the outcome leaves out, in synced batches. Each batch has a commit row,
// like any other, and the first one is begun before anything is added. A crash in between leaves
// `unfinished`, and the next forced start removes the rest.
Status Store::Impl::finish_forced() {
  if (!promised) return {};
  size_t added = 0;
  const auto add = [&](const auto& remove) -> Status {
    if (added++ % rows_per_batch == 0) {
      if (Status written = added > 1 ? write(true) : Status(); !written.ok()) return written;
      writes.Clear();
      add_commit_row();
    }
    remove();
    return {};
  };
  for (const auto& job : promised->deleted_later) {
    const auto remove = [&] { remove_row(family_of(job.state), view(job_key(job.id))); };
    if (Status done = add(remove); !done.ok()) return done;
  }
  for (const JobId id : promised->put_later) {
    const auto remove = [&] { remove_row(Family::Bodies, view(job_key(id))); };
    if (Status done = add(remove); !done.ok()) return done;
  }
  for (const KeyStored& key : promised->keys_of_deleted) {
    const auto remove = [&] {
      must(writes.Delete(db->family(Family::Keys), slice(key_row_key(key.tube, key.key))));
    };
    if (Status done = add(remove); !done.ok()) return done;
  }
  for (const EndedOrder& ended : promised->ended_gone_later) {
    const auto remove = [&] {
      remove_row(Family::Ended, view(job_key(ended.job)));
      remove_row(Family::EndedOrder, ended_order_key(ended.tube, ended.place));
    };
    if (Status done = add(remove); !done.ok()) return done;
  }
  for (const std::string& key : promised->notes_written_later) {
    const auto remove = [&] { must(writes.Delete(db->family(Family::Notes), slice(key))); };
    if (Status done = add(remove); !done.ok()) return done;
  }
  if (Status written = added > 0 ? write(true) : Status(); !written.ok()) return written;
  return SetAside(options.env, dir.path()).finish();
}

// Whether the rows that were loaded are those that the forced start has announced.
Status Store::Impl::check_promise(const Loaded& loaded) const {
  if (!promised) return {};
  ForcedOutcome found;
  for (size_t state = 0; state < found.jobs.size(); ++state) found.jobs[state] = loaded.jobs[state];
  found.tubes = loaded.tubes.size();
  found.keys = loaded.keys;
  found.schedules = loaded.schedules;
  if (found.jobs == promised->jobs && found.tubes == promised->tubes &&
      found.keys == promised->keys && found.schedules == promised->schedules) {
    return {};
  }
  return {StatusCode::Corruption, fmt::format("the forced start has announced {}, and found {}",
                                              promised->fields(), found.fields())};
}

}  // namespace perennial::store
