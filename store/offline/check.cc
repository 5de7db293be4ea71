#include "store/offline/check.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rocksdb/metadata.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>

#include "store/disk/durable_mark.h"
#include "store/offline/check_parts.h"
#include "store/reader.h"
#include "store/recovery/manifest.h"
#include "store/recovery/recovery.h"
#include "store/recovery/repeated_records.h"
#include "store/rocks/database.h"
#include "store/rocks/log_env.h"
#include "store/rocks/meta_rows.h"
#include "store/rocks/observer.h"
#include "store/types/file_system_of.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return out;
}

// Returns whether the error is a fault of the directory, and not of the request or the moment.
bool is_fault(const Status& status) {
  return status.code() == StatusCode::Corruption || status.code() == StatusCode::Unsupported;
}

// Returns the error that a reader of the directory would get. The later steps open it again and
// read less strictly, to find more faults.
Status open_once(const CheckOptions& options) {
  const auto reader =
      Reader::open({.path = options.path, .events = options.events, .env = options.env});
  return reader.ok() ? Status() : reader.status();
}

// Opens the database as a start would see it. If a start would refuse it, opens what RocksDB can
// read.
Result<Database> open_database(const std::string& db_path, const Options& how,
                               StoreFailure& failure) {
  const Result<RecoveryPlan> plan = plan_recovery(db_path, how, failure);
  if (plan.ok()) return open_view(db_path, how, failure, *plan);
  const Result<Manifest> manifest = read_manifest(file_system_of(how.env), db_path);
  if (!manifest.ok()) return manifest.status();
  View view;
  if (!manifest->current_problem.empty()) view.current = manifest->name;
  view.ends = find_repeated_records(file_system_of(how.env), db_path, manifest->needed_from()).ends;
  Result<Database> db = Database::open_to_read(db_path, how, failure, view);
  if (!db.ok()) return db;
  const Result<StoredFormat> found = read_format(*db);
  const uint32_t format = found.ok() ? found->version : how.format_min;
  for (const std::string_view name : families_of(format, how.families)) {
    if (db->has_family(name)) continue;
    return Status(StatusCode::Corruption, fmt::format("the family {} is missing", name));
  }
  return db;
}

Status check_rows(const CheckOptions& options, CheckSummary& summary, FaultList& faults) {
  const Result<ReadLock> lock = ReadLock::take(options.path);
  if (!lock.ok()) return lock.status();
  Options how;
  how.data_dir = options.path;
  how.events = options.events;
  how.env = options.env;
  StoreFailure failure(how.events);
  const Result<Database> db = open_database(options.path + "/db", how, failure);
  if (!db.ok()) return db.status();
  const Result<Manifest> manifest = read_manifest(file_system_of(how.env), options.path + "/db");
  if (manifest.ok() && !manifest->current_problem.empty()) {
    faults.add_contained("directory", "",
                         fmt::format("{}; a start writes it again, for {} is the only one",
                                     manifest->current_problem, manifest->name));
  }
  std::string mark_damage;
  const auto mark = read_durable_mark(how.env, how.data_dir, &mark_damage);
  if (mark.ok() && !mark_damage.empty()) {
    faults.add_contained("directory", "", mark_damage + "; a start writes it again");
  }
  check_tables(*db, options, summary, faults);
  const MetaFacts meta = check_meta(*db, summary, faults);
  const bool has_all_ended = check_jobs(*db, options, meta, summary, faults);
  check_keys(*db, meta, summary, faults);
  check_notes(*db, options, summary, faults);
  check_ended_order(*db, options, summary, has_all_ended, faults);
  check_schedules(*db, meta, summary, faults);
  return {};
}

}  // namespace

Result<CheckSummary> check_directory(const CheckOptions& options) {
  CheckSummary summary;
  FaultList faults(options, summary);
  const Status opened = open_once(options);
  if (!opened.ok() && !is_fault(opened)) return opened;
  // In another format every row would be a fault.
  if (opened.code() != StatusCode::Unsupported) {
    const Status checked = check_rows(options, summary, faults);
    if (!checked.ok() && !is_fault(checked)) return checked;
    if (!checked.ok() && opened.ok()) faults.add("directory", "", checked.message());
  }
  // If a row is the reason that the directory does not open, that row is already listed.
  if (!opened.ok() && faults.count() == 0) faults.add("directory", "", opened.message());
  summary.starts = opened.ok() && !faults.stops_start();
  return summary;
}

void FaultList::add(std::string_view where, std::string key, std::string what) {
  ++summary_.faults;
  if (is_loaded(where)) stops_start_ = true;
  if (options_.fault) options_.fault({std::string(where), std::move(key), std::move(what)});
}

void FaultList::add_contained(std::string_view where, std::string key, std::string what) {
  const bool stopped = stops_start_;
  add(where, std::move(key), std::move(what));
  stops_start_ = stopped;
}

void FaultList::add_contained(Family family, std::string_view key, std::string what) {
  add_contained(name_of(family), hex(key), std::move(what));
}

void FaultList::add(Family family, std::string_view key, std::string what) {
  add(name_of(family), hex(key), std::move(what));
}

void FaultList::add_contained(Family family, std::string_view key, const Status& status) {
  const bool stopped = stops_start_;
  add(family, key, status);
  stops_start_ = stopped;
}

// The message begins with family and key, which Fault has as separate fields.
void FaultList::add(Family family, std::string_view key, const Status& status) {
  const std::string& message = status.message();
  const size_t head = message.find(": ");
  add(family, key, head == std::string::npos ? message : message.substr(head + 2));
}

void FaultList::check_name(Family family, std::string_view key, std::string_view name,
                           std::string_view what) {
  if (!options_.is_tube_name || options_.is_tube_name(name)) return;
  add(family, key, std::string(what));
}

// Checks each file separately, so that one damaged file does not hide another.
void check_tables(const Database& db, const CheckOptions& options, CheckSummary& summary,
                  FaultList& faults) {
  rocksdb::Options how;
  if (options.env != nullptr) how.env = options.env;
  std::vector<rocksdb::LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  for (const rocksdb::LiveFileMetaData& file : files) {
    ++summary.tables;
    // The blocks of bodies are checked when check_jobs() reads and counts them.
    if (file.column_family_name == name_of(Family::Bodies) && !options.deep) continue;
    rocksdb::SstFileReader table(how);
    rocksdb::Status status = table.Open(file.db_path + file.name);
    if (status.ok()) status = table.VerifyChecksum();
    if (status.ok()) continue;
    const bool is_meta = file.column_family_name == family_names[place_of(Family::Meta)];
    faults.add(is_meta ? name_of(Family::Meta) : file.column_family_name, file.name.substr(1),
               "the table file is damaged: " + status.ToString());
  }
}

}  // namespace perennial::store
