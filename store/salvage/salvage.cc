#include "store/salvage/salvage.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "store/damage/damage_record.h"
#include "store/disk/durable_mark.h"
#include "store/format/skipped_ids.h"
#include "store/recovery/log_scan.h"
#include "store/recovery/recovery.h"
#include "store/recovery/repeated_records.h"
#include "store/rocks/log_env.h"
#include "store/rocks/meta_rows.h"
#include "store/types/file_system_of.h"

namespace perennial::store {

// An id, and what is known of it.
struct Salvage::Visit {
  JobId id = 0;
  JobFinding finding;
  std::optional<JobRow> row;  // There if the job is found.
  std::string_view body;      // Its value, if it has one.
  bool has_body = false;
  // Whether the row and the body are those of the checkpoint.
  bool row_is_copied = false;
  bool body_is_copied = false;
  std::optional<TubeId> copied_tube;  // Where the job was in the checkpoint.
  // The job has ended, and is none of `finding`. Its row is there if it can be read.
  bool has_ended = false;
  std::optional<EndedJob> ended;
};

namespace {

// Later than any entry.
constexpr uint64_t in_a_block_left_out = std::numeric_limits<uint64_t>::max();

using LogView = Salvage::LogView;

// All records that can be read, each once.
LogView view_of_refused_log(const std::string& db_path, const Options& options,
                            const Manifest& manifest, const std::string& problem) {
  RepeatedRecords repeated =
      find_repeated_records(file_system_of(options.env), db_path, manifest.needed_from());
  LogView log;
  log.view.ends = std::move(repeated.ends);
  const bool has_both = !problem.empty() && !repeated.problem.empty();
  log.problem = problem + (has_both ? "; " : "") + repeated.problem;
  return log;
}

LogView view_of_log(const std::string& db_path, const Options& options, StoreFailure& failure,
                    const Manifest& manifest) {
  const Result<RecoveryPlan> plan = plan_recovery(db_path, options, failure);
  if (plan.ok()) return {.view = plan->view(), .problem = {}};
  return view_of_refused_log(db_path, options, manifest, plan.status().message());
}

// Where the log is damaged, without the row that says where it begins; empty: nowhere.
std::string first_damage(const std::string& db_path, const Options& options,
                         const Manifest& manifest) {
  rocksdb::FileSystem& fs = file_system_of(options.env);
  const auto files = list_logs(fs, db_path, manifest.needed_from());
  if (!files.ok()) return files.status().message();
  const Result<std::optional<std::string>> found = find_unreadable_record(fs, db_path, *files);
  if (!found.ok()) return found.status().message();
  return found->value_or(std::string());
}

// RocksDB may join pieces of two records around the damage, and refuse what it gets. Then the log
// is read up to the damage, as a forced start would, or not at all where that is no state.
Result<Database> open_without_damage(const std::string& db_path, const Options& options,
                                     StoreFailure& failure) {
  Options forced = options;
  forced.recover = Recover::PointInTime;
  const Result<RecoveryPlan> plan = plan_recovery(db_path, forced, failure);
  if (plan.ok()) {
    Result<Database> cut = Database::open_leniently(db_path, options, failure, plan->view());
    if (cut.ok()) return cut;
  }
  View tables_only;
  tables_only.has_logs = false;
  return Database::open_leniently(db_path, options, failure, std::move(tables_only));
}

// Whatever was judged of the log before, RocksDB may refuse what it finds there.
Result<Database> open_whole(const std::string& db_path, const Options& options,
                            StoreFailure& failure, LogView& log) {
  Result<Database> all = Database::open_leniently(db_path, options, failure, std::move(log.view));
  if (all.ok()) return all;
  if (log.problem.empty()) log.problem = all.status().message();
  if (log.cut) {
    Result<Database> cut = Database::open_leniently(db_path, options, failure, *log.cut);
    if (cut.ok()) return cut;
  }
  return open_without_damage(db_path, options, failure);
}

// A commit row for a database whose own cannot be read.
CommitRow commit_without_row(const Options& options, Nanos now) {
  const auto mark = read_durable_mark(options.env, options.data_dir);
  CommitRow commit = {.epoch = 1, .index = 1, .known_durable = 0, .now = now};
  if (!mark.ok() || !*mark) return commit;
  commit.epoch = std::max(commit.epoch, (*mark)->epoch);
  commit.index = std::max(commit.index, (*mark)->index);
  return commit;
}

}  // namespace

Result<std::unique_ptr<Salvage>> Salvage::open(const std::string& db_path, const Options& options,
                                               StoreFailure& failure,
                                               const std::string& checkpoint) {
  std::unique_ptr<Salvage> salvage(new Salvage);
  if (Status opened = salvage->open_database(db_path, options, failure); !opened.ok())
    return opened;
  const bool is_damaged =
      !salvage->damage_.tables.empty() || salvage->account_.log_may_be_damaged();
  if (!checkpoint.empty() && is_damaged) {
    Status opened = salvage->open_copy(checkpoint, db_path, options, failure);
    if (!opened.ok()) return std::move(opened).with("read the checkpoint " + checkpoint);
  }
  if (Status read = salvage->read_meta(); !read.ok()) return read;
  if (salvage->format_ &&
      (*salvage->format_ < options.format_min || *salvage->format_ > options.format)) {
    return Status(StatusCode::Unsupported,
                  fmt::format("its format is {}, and this program salvages format {}",
                              *salvage->format_, served_formats(options)));
  }
  if (Status read = salvage->read_schedules(); !read.ok()) return read;
  if (Status read = salvage->read_jobs(); !read.ok()) return read;
  if (Status read = salvage->read_rest(options); !read.ok()) return read;
  return salvage;
}

Status Salvage::open_database(const std::string& db_path, const Options& given,
                              StoreFailure& failure) {
  const Result<Manifest> manifest = read_manifest(file_system_of(given.env), db_path);
  if (!manifest.ok()) return manifest.status();
  if (manifest->damage && !manifest->names_all(families_of(given.format_min, given.families))) {
    return {StatusCode::Corruption, manifest->damage_text()};
  }
  const bool has_current = manifest->current_problem.empty();
  const std::unique_ptr<rocksdb::Env> shown =
      make_view_env(given.env, View{.current = has_current ? std::string() : manifest->name});
  Options options = given;
  options.env = shown.get();
  Result<TableDamage> damage = find_damaged_tables(db_path, options, failure, *manifest);
  if (!damage.ok()) return damage.take_status();
  damage_ = damage.take();
  const Result<std::vector<DamagedBlock>> blocks = read_damage_record(options.env, db_path);
  if (blocks.ok()) without_blocks_ = DamagedIds(*blocks, Family::Bodies);
  account_.manifest_problem = damage_.manifest_problem;
  bool is_meta_damaged = false;
  for (const OpenedTable& table : damage_.tables) {
    is_meta_damaged = is_meta_damaged || table.found.family == Family::Meta;
    account_.tables_unlisted += table.found.is_unlisted ? 1 : 0;
    if (!table.found.problem.empty()) account_.tables.push_back(table.found);
  }
  const std::unique_ptr<rocksdb::Env> rest = make_view_env(options.env, damage_.rest);
  Options how = options;
  how.env = rest.get();
  LogView log = view_of_log(db_path, how, failure, *manifest);
  if (is_meta_damaged && !log.problem.empty()) {
    if (Status judged = judge_log_again(db_path, how, failure, *manifest, log); !judged.ok()) {
      return judged;
    }
  }
  Result<Database> whole = open_whole(db_path, how, failure, log);
  if (!whole.ok()) return whole.take_status();
  account_.log_problem = std::move(log.problem);
  if (!account_.log_problem.empty()) find_lost_commits(db_path, how, failure, *manifest);
  whole_ = std::make_unique<Database>(whole.take());
  for (const std::string_view name : families_of(options.format_min, options.families)) {
    if (whole_->has_family(name)) continue;
    return {StatusCode::Unsupported, fmt::format("the family {} is missing", name)};
  }
  return {};
}

// Without a table of meta the log does not seem to join the tables, which is no damage of the log.
// What is left of the damaged table may have the commit row by which that can be said.
Status Salvage::judge_log_again(const std::string& db_path, const Options& options,
                                StoreFailure& failure, const Manifest& manifest, LogView& log) {
  Result<std::optional<CommitRow>> flushed = flushed_commit(db_path, options, failure);
  if (!flushed.ok()) return flushed.take_status();
  LogEvidence evidence = {.flushed = *flushed, .durable = {}};
  log = LogView();
  account_.log_is_judged = evidence.flushed.has_value();
  if (!account_.log_is_judged) {
    log = view_of_refused_log(db_path, options, manifest, first_damage(db_path, options, manifest));
    return {};
  }
  const auto mark = read_durable_mark(options.env, options.data_dir);
  if (mark.ok()) evidence.durable = *mark;
  Result<LogJudgement> judged =
      judge_log(file_system_of(options.env), db_path, manifest, evidence, Recover::Strict);
  RecoveryPlan plan;
  if (judged.ok()) {
    plan.log = judged.take();
    log.view = plan.view();
    return {};
  }
  log = view_of_refused_log(db_path, options, manifest, judged.status().message());
  Result<LogJudgement> forced =
      judge_log(file_system_of(options.env), db_path, manifest, evidence, Recover::PointInTime);
  if (!forced.ok()) return {};
  plan.log = forced.take();
  log.cut = plan.view();
  return {};
}

// The commit row in the tables, also where a table of meta is damaged.
Result<std::optional<CommitRow>> Salvage::flushed_commit(const std::string& db_path,
                                                         const Options& options,
                                                         StoreFailure& failure) const {
  View no_logs;
  no_logs.has_logs = false;
  const Result<Database> tables =
      Database::open_leniently(db_path, options, failure, std::move(no_logs));
  if (!tables.ok()) return tables.status();
  std::optional<CommitRow> out;
  FamilyMerge rows(*tables, damage_.tables, {}, Family::Meta);
  for (auto lowest = rows.lowest(); lowest; lowest = rows.lowest()) {
    const std::string key(*lowest);
    const FamilyMerge::Key found = rows.take(key);
    if (!found.trace.is_put() || static_cast<MetaTag>(key.front()) != MetaTag::Commit) continue;
    if (const auto commit = decode_commit(found.value); commit.ok()) out = *commit;
  }
  return out;
}

// Which commits the damaged part of the log may have had: those behind the last one before it, up
// to the newest of which anything is left.
void Salvage::find_lost_commits(const std::string& db_path, const Options& options,
                                StoreFailure& failure, const Manifest& manifest) {
  const Result<std::optional<CommitRow>> flushed = flushed_commit(db_path, options, failure);
  rocksdb::FileSystem& fs = file_system_of(options.env);
  const auto files = list_logs(fs, db_path, manifest.needed_from());
  if (!flushed.ok() || !*flushed || !files.ok()) return;
  const Result<LogHistory> history = scan_logs(fs, db_path, *files, {.flushed = *flushed});
  // Of a file that is missing nobody knows how many it had.
  if (!history.ok() || !history->last || !history->damage) return;
  const auto mark = read_durable_mark(options.env, options.data_dir);
  const BatchIndex synced = mark.ok() && *mark ? (*mark)->index : 0;
  const BatchIndex last = std::max(history->index_max, synced);
  if (last <= history->last->index) return;
  account_.commits_lost_first = history->last->index + 1;
  account_.commits_lost_last = last;
}

// What the log had when the checkpoint was made is in the checkpoint's own log files, which have
// the same names. A family needs those that it was not flushed up to.
Status Salvage::find_lost_log(const std::string& copy_path, const std::string& db_path,
                              const Options& options) {
  rocksdb::FileSystem& fs = file_system_of(options.env);
  const Result<Manifest> manifest = read_manifest(fs, db_path);
  if (!manifest.ok()) return manifest.status();
  if (manifest->damage || !account_.log_may_be_damaged()) return {};
  for (const auto& [id, name] : manifest->names) {
    const auto place = std::ranges::find(family_names, name) - family_names.begin();
    const auto flushed_to = manifest->flushed_to.find(id);
    const bool is_known = flushed_to != manifest->flushed_to.end() && flushed_to->second;
    if (static_cast<size_t>(place) == family_count || !is_known) continue;
    const auto first = first_sequence(fs, copy_path, *flushed_to->second);
    if (!first.ok()) return first.status();
    if (*first) copies_[place].lost_from = **first + 1;
  }
  return {};
}

Status Salvage::open_copy(const std::string& checkpoint, const std::string& db_path,
                          const Options& options, StoreFailure& failure) {
  Options how = options;
  how.data_dir = checkpoint;
  how.recover = Recover::Strict;
  const std::string path = checkpoint + "/db";
  const Result<RecoveryPlan> plan = plan_recovery(path, how, failure);
  if (!plan.ok()) return plan.status();
  Result<Database> view = open_view(path, how, failure, *plan);
  if (!view.ok()) return view.take_status();
  copy_ = std::make_unique<Database>(view.take());
  for (FamilyMerge::Copy& copy : copies_) copy.db = copy_.get();
  account_.checkpoint = checkpoint;
  return find_lost_log(path, db_path, options);
}

FamilyMerge Salvage::rows_of(Family family) const {
  return {*whole_, damage_.tables, copies_[place_of(family)], family};
}

namespace {

constexpr size_t body_place = job_families.size() - 1;
constexpr size_t ended_place = job_families.size();

// What is known of a job that may have ended. That is its last state, so that a row which says so
// counts more than any other.
struct EndedFinding {
  bool has_ended = false;  // It is kept, as far as can be said.
  bool is_gone = false;    // It is not kept any more.
};

EndedFinding find_ended(const std::array<KeyTrace, job_states.size()>& states, const KeyTrace& body,
                        const KeyTrace& ended) {
  if (ended.newest == KeyTrace::Newest::Removal) return {.is_gone = true};
  if (body.newest == KeyTrace::Newest::Removal) return {};  // find_job() says the same.
  if (ended.is_put()) return {.has_ended = true};
  // Nothing but its row as an ended job can be where it cannot be read.
  const bool is_elsewhere = std::ranges::any_of(
      states, [](const KeyTrace& state) { return state.is_put() || state.may_hide_newer(); });
  return {.has_ended = body.is_put() && ended.hidden_time > 0 && !is_elsewhere};
}

}  // namespace

// Calls `visit` for each id of which anything can be read, in their order.
Status Salvage::each_id(bool with_bodies, const std::function<Status(Visit&)>& visit) const {
  std::vector<FamilyMerge> families;
  families.reserve(std::size(job_families) + 1);
  for (const Family family : job_families) families.push_back(rows_of(family));
  families.push_back(rows_of(Family::Ended));
  while (true) {
    std::optional<std::string> key;
    for (FamilyMerge& family : families) {
      const std::optional<std::string_view> lowest = family.lowest();
      if (lowest && (!key || *lowest < *key)) key = *lowest;
    }
    if (!key) break;
    std::array<FamilyMerge::Key, job_families.size() + 1> found;
    for (size_t place = 0; place < families.size(); ++place) {
      found[place] = families[place].take(*key);
    }
    const Result<JobId> id = decode_job_key(Family::Bodies, *key);
    if (!id.ok()) continue;
    std::array<KeyTrace, job_states.size()> states;
    for (size_t place = 0; place < states.size(); ++place) states[place] = found[place].trace;
    FamilyMerge::Key& body = found[body_place];
    const FamilyMerge::Key& ended_row = found[ended_place];
    // Its deletion may have been in a block that is damaged and was left out of its table.
    if (without_blocks_.contains(*id)) body.trace.hidden_time = in_a_block_left_out;
    Visit one;
    one.id = *id;
    const EndedFinding ended = find_ended(states, body.trace, ended_row.trace);
    one.has_ended = ended.has_ended;
    if (!ended.has_ended && !ended.is_gone) one.finding = find_job(states, body.trace);
    if (ended_row.trace.is_put()) {
      if (Result<EndedJob> row = decode_ended(*key, ended_row.value); row.ok())
        one.ended = row.take();
    }
    one.has_body = body.trace.is_put();
    one.body_is_copied = body.trace.is_of_copy;
    if (one.has_body && with_bodies) one.body = body.value;
    for (size_t place = 0; place < states.size(); ++place) {
      if (!found[place].copied) continue;
      const Result<JobRow> row = decode_job(job_states[place], *key, *found[place].copied);
      if (row.ok()) one.copied_tube = row->tube;
    }
    if (one.finding.fate == JobFinding::Fate::Found) {
      const JobState state = one.finding.state;
      const FamilyMerge::Key& source = found[static_cast<size_t>(state)];
      Result<JobRow> row = decode_job(state, *key, source.value);
      if (row.ok()) one.row = row.take();
      if (!one.row) one.finding.fate = JobFinding::Fate::RowLost;
      one.row_is_copied = one.row && source.trace.is_of_copy;
      const auto place =
          one.row_is_copied ? copied_places_.find(one.row->tube) : copied_places_.end();
      if (place != copied_places_.end()) one.row->tube = place->second;
    }
    if (Status visited = visit(one); !visited.ok()) return visited;
  }
  for (const FamilyMerge& family : families) {
    if (!family.status().ok()) return family.status();
  }
  return {};
}

// Also finds names for tubes that have lost theirs.
Status Salvage::read_jobs() {
  Notes notes(*this);
  Status read = each_id(true, [&](Visit& visit) {
    count(visit);
    return visit.row ? count_notes(*visit.row, notes) : Status();
  });
  account_.tubes_renamed = renamed_.size();
  return read;
}

Status Salvage::read_rest(const Options& options) {
  account_.meta_rows_dropped +=
      std::erase_if(pauses_, [&](const TubePaused& pause) { return !tubes_.contains(pause.tube); });
  commit_ = found_commit_ ? *found_commit_ : commit_without_row(options, created_max_);
  Status read = merge_keys([](const KeyStored&) { return Status(); }, account_);
  if (!read.ok()) return read;
  const auto mark = read_durable_mark(options.env, options.data_dir);
  if (mark.ok() && *mark) next_id_ = std::max(next_id_, (*mark)->next_id_min);
  next_id_ = std::max(next_id_, id_max_ + 1);
  if (account_.is_whole()) return {};
  const Result<JobId> skipped = skip_ids(next_id_);
  if (!skipped.ok()) return skipped.status();
  next_id_ = *skipped;
  return {};
}

void Salvage::count(const Visit& visit) {
  id_max_ = std::max(id_max_, visit.id);
  if (visit.has_ended) return count_ended(visit);
  if (visit.finding.fate == JobFinding::Fate::Absent) return;
  if (visit.finding.is_uncertain) account_.uncertain.add(visit.id);
  if (!visit.row) return account_.rows_lost.add(visit.id);
  ++account_.jobs[static_cast<size_t>(visit.row->state)];
  created_max_ = std::max(created_max_, visit.row->created);
  name_tube(visit);
  if (visit.row_is_copied) {
    account_.rows_copied.add(visit.id);
  } else if (visit.finding.may_be_older && !visit.finding.is_uncertain) {
    account_.rows_older.add(visit.id);
  }
  if (!whole_body(visit)) {
    account_.bodies_lost.add(visit.id);
  } else if (visit.body_is_copied) {
    account_.bodies_copied.add(visit.id);
  }
  claim_key(*visit.row);
}

void Salvage::count_ended(const Visit& visit) {
  if (!visit.ended || !whole_body(visit)) return account_.ended_lost.add(visit.id);
  ++account_.ended;
  const uint64_t place = visit.ended->place;
  const auto [span, is_first] =
      ended_spans_.try_emplace(visit.ended->tube, EndedSpan{.first = place, .next = place + 1});
  span->second.first = std::min(span->second.first, place);
  span->second.next = std::max(span->second.next, place + 1);
}

Status Salvage::count_notes(const JobRow& row, Notes& notes) {
  const uint32_t had = row.fields ? row.fields->notes : 0;
  if (had == 0) return {};
  const Result<std::vector<Note>> found = notes.find(row.id, had);
  if (!found.ok()) return found.status();
  account_.notes += found->size();
  account_.notes_lost += notes_kept(had) - found->size();
  return {};
}

std::optional<std::string_view> Salvage::whole_body(const Visit& visit) {
  if (!visit.has_body) return std::nullopt;
  const Result<std::string_view> body = decode_body(visit.id, visit.body);
  if (!body.ok() || (visit.row && body->size() != visit.row->body_bytes)) return std::nullopt;
  if (visit.has_ended && visit.ended && body->size() != visit.ended->row.body_bytes) {
    return std::nullopt;
  }
  return *body;
}

// The number of a tube that has ended is given to another one. A job that was in the tube when the
// checkpoint was made, and still is, shows that this did not happen.
std::optional<std::string> Salvage::copied_name(const Visit& visit) const {
  const TubeId tube = visit.row->tube;
  for (const auto& [number, place] : copied_places_) {
    if (visit.row_is_copied && place == tube) return copied_tubes_.at(number);
  }
  const auto found = copied_tubes_.find(tube);
  const bool is_same = visit.copied_tube == tube && found != copied_tubes_.end();
  const bool is_taken = is_same && std::ranges::any_of(tubes_, [&](const auto& other) {
                          return other.first != tube && other.second == found->second;
                        });
  return is_same && !is_taken ? std::optional(found->second) : std::nullopt;
}

void Salvage::name_tube(const Visit& visit) {
  const JobRow& row = *visit.row;
  if (renamed_.contains(row.tube)) account_.jobs_in_renamed.add(row.id);
  if (tubes_.contains(row.tube)) return;
  if (const std::optional<std::string> copied = copied_name(visit)) {
    tubes_[row.tube] = *copied;
    ++account_.tubes_copied;
    return;
  }
  std::string name = row.tube == 0 ? "default" : fmt::format("tube-{}", row.tube);
  const auto is_taken = [&] {
    return std::ranges::any_of(tubes_, [&](const auto& tube) { return tube.second == name; });
  };
  while (is_taken()) name += "-lost";
  tubes_[row.tube] = std::move(name);
  if (row.tube == 0) return;  // Its name is always the same.
  renamed_.insert(row.tube);
  account_.jobs_in_renamed.add(row.id);
}

// Two jobs cannot hold one key: claim_key().
void Salvage::drop_key(Visit& visit) const {
  if (!visit.row || !without_key_.contains(visit.id)) return;
  JobFields fields = *visit.row->fields;
  fields.key->given_up = true;
  visit.row->fields = std::move(fields);
}

Status Salvage::each_job(const std::function<Status(const JobRow&)>& take) const {
  return each_id(false, [&](Visit& visit) {
    if (!visit.row) return Status();
    drop_key(visit);
    return take(*visit.row);
  });
}

Status Salvage::each_left(const TakeLeft& take, const TakeEnded& take_ended) const {
  return each_id(true, [&](Visit& visit) {
    if (visit.has_ended) {
      const std::optional<std::string_view> body = whole_body(visit);
      return visit.ended && body ? take_ended(*visit.ended, *body) : Status();
    }
    if (visit.finding.fate == JobFinding::Fate::Absent) return Status();
    drop_key(visit);
    return take(visit.id, visit.row ? &*visit.row : nullptr, whole_body(visit));
  });
}

Status Salvage::each_ended(const TakeEnded& take) const {
  const auto pass = [](JobId, const JobRow*, std::optional<std::string_view>) { return Status(); };
  return each_left(pass, take);
}

Salvage::Bodies::Bodies(const Salvage& salvage) : merge_(salvage.rows_of(Family::Bodies)) {}

Result<std::optional<std::string_view>> Salvage::Bodies::find(JobId id) {
  const Bytes<8> wanted = job_key(id);
  for (auto lowest = merge_.lowest(); lowest && *lowest <= view(wanted); lowest = merge_.lowest()) {
    const std::string key(*lowest);
    FamilyMerge::Key found = merge_.take(key);
    if (key != view(wanted)) continue;
    if (!found.trace.is_put()) return std::optional<std::string_view>();
    value_ = std::move(found.value);
    return std::optional<std::string_view>(value_);
  }
  if (!merge_.status().ok()) return merge_.status();
  return std::optional<std::string_view>();
}

Salvage::Notes::Notes(const Salvage& salvage) : merge_(salvage.rows_of(Family::Notes)) {}

// A row that does not decode counts as lost. One that does not fit the job is not from the same
// time as the job's row.
Result<std::vector<Note>> Salvage::Notes::find(JobId id, uint32_t had) {
  const std::string first(view(note_key(id, 0)));
  const std::string last(view(note_key(id, notes_max - 1)));
  std::vector<Note> out;
  for (auto lowest = merge_.lowest(); lowest && *lowest <= last; lowest = merge_.lowest()) {
    const std::string key(*lowest);
    const FamilyMerge::Key found = merge_.take(key);
    if (key < first || !found.trace.is_put()) continue;
    Result<NoteStored> row = decode_note(key, found.value);
    if (row.ok() && is_kept(row->note.number, had)) out.push_back(std::move(row->note));
  }
  if (!merge_.status().ok()) return merge_.status();
  std::ranges::sort(out, {}, &Note::number);
  return out;
}

}  // namespace perennial::store
