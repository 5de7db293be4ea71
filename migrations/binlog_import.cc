#include "migrations/binlog_import.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "store/offline/builder.h"

namespace perennial::migrations {
namespace {

namespace fs = std::filesystem;

// Returns the number in "binlog.12", as beanstalkd writes it. Without a value for any other name.
std::optional<uint64_t> file_number(std::string_view name) {
  constexpr std::string_view prefix = "binlog.";
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool whole = error == std::errc() && end == name.data() + name.size();
  if (!whole || number == 0 || name.starts_with('0')) return std::nullopt;
  return number;
}

}  // namespace

Result<std::unique_ptr<Binlog>> Binlog::open(const std::string& dir) {
  std::unique_ptr<Binlog> binlog(new Binlog(dir));
  if (Status found = binlog->find_files(); !found.ok()) return found;
  if (Status locked = binlog->lock(); !locked.ok()) return locked;
  return binlog;
}

Binlog::~Binlog() {
  if (lock_ >= 0) ::close(lock_);
}

Status Binlog::find_files() {
  std::map<uint64_t, std::string> paths;
  std::error_code error;
  for (fs::directory_iterator entry(dir_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::optional<uint64_t> number = file_number(entry->path().filename().native());
    if (number) paths[*number] = entry->path();
  }
  if (error) return {StatusCode::Io, "read directory " + dir_ + ": " + error.message()};
  if (paths.empty()) return {StatusCode::NotFound, "there is no binlog of beanstalkd in " + dir_};
  for (const auto& [number, path] : paths) {
    Result<std::unique_ptr<BinlogFile>> file = BinlogFile::open(path);
    if (!file.ok()) return file.take_status();
    files_.push_back(file.take());
  }
  return {};
}

// beanstalkd takes a write lock on the file. A read lock excludes a write lock as well, and needs
// no permission to write.
Status Binlog::lock() {
  const std::string path = dir_ + "/lock";
  lock_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  // beanstalkd creates the lock file before any other file, so no server uses the directory.
  if (lock_ < 0 && errno == ENOENT) return {};
  if (lock_ < 0) return {StatusCode::Io, "open " + path + ": " + std::strerror(errno)};
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(lock_, F_SETLK, &lock) == 0) return {};
  if (errno != EACCES && errno != EAGAIN) {
    return {StatusCode::Io, "lock " + path + ": " + std::strerror(errno)};
  }
  return {StatusCode::Locked, "a beanstalkd is using " + dir_ + ": stop it first"};
}

void Binlog::replay(Nanos now) {
  for (const std::unique_ptr<BinlogFile>& file : files_) replay_file(*file);
  finish_jobs(now);
}

void Binlog::replay_file(BinlogFile& file) {
  ++summary_.files;
  for (BinlogRecord record; file.next(record);) {
    ++summary_.records;
    replay_record(record);
  }
  const std::string where = file.path() + " at byte " + std::to_string(file.offset());
  if (file.end() == BinlogFile::End::Torn) summary_.torn.push_back(where);
  if (file.end() == BinlogFile::End::Damaged) {
    summary_.damaged.push_back(where + ": " + file.problem());
  }
}

void Binlog::replay_record(const BinlogRecord& record) {
  using State = BinlogRecord::State;
  // The ids of deleted jobs count, too: no id is used again.
  highest_id_ = std::max(highest_id_, record.row.id);
  if (record.state == State::Deleted) {
    jobs_.erase(record.row.id);
    return;
  }
  if (!record.full && !jobs_.contains(record.row.id)) {
    ++summary_.orphans;
    return;
  }
  Job& job = jobs_[record.row.id];
  const uint32_t body_bytes = record.full ? record.row.body_bytes : job.row.body_bytes;
  const bool was_buried = job.row.state == JobState::Buried && !job.tube.empty();
  const uint64_t bury_order = job.row.order;
  job.row = record.row;
  job.row.body_bytes = body_bytes;
  if (record.full) {
    job.tube = record.tube;
    job.body = record.body;
  }
  // Also for a reserved job, because its connection no longer exists.
  job.row.state = JobState::Ready;
  if (record.state == State::Delayed) {
    job.row.state = JobState::Delayed;
    job.row.order = static_cast<uint64_t>(record.deadline);
  }
  if (record.state == State::Buried) {
    job.row.state = JobState::Buried;
    // A full record of a known job is its copy into a newer file, and not a new burial.
    job.row.order = record.full && was_buried ? bury_order : next_bury_++;
  }
}

// The end of a delay is not in the binlog. beanstalkd, too, decides it by the clock.
void Binlog::finish_jobs(Nanos now) {
  std::unordered_map<std::string_view, uint64_t> tubes;
  for (auto& [id, job] : jobs_) {
    if (job.row.state == JobState::Delayed && job.row.order <= static_cast<uint64_t>(now)) {
      job.row.state = JobState::Ready;
      job.row.order = 0;
    }
    summary_.jobs.ready += job.row.state == JobState::Ready;
    summary_.jobs.delayed += job.row.state == JobState::Delayed;
    summary_.jobs.buried += job.row.state == JobState::Buried;
    summary_.body_bytes += job.row.body_bytes;
    ++tubes[job.tube];
  }
  summary_.tubes = tubes.size();
  summary_.next_id = highest_id_ + 1;
}

Status Binlog::write_to(const std::string& dir, Nanos now) const {
  std::error_code error;
  if (fs::exists(dir, error)) {
    return {StatusCode::InvalidArgument, dir + " is there already: name a directory that is not"};
  }
  Result<std::unique_ptr<store::Builder>> builder = store::Builder::begin({.path = dir});
  if (!builder.ok()) return builder.take_status();
  if (Status written = write_jobs(**builder); !written.ok()) return written;
  return (*builder)->publish({.epoch = 1, .index = 1, .now = now}, summary_.next_id);
}

Status Binlog::write_jobs(store::Builder& builder) const {
  std::vector<JobId> ids;
  ids.reserve(jobs_.size());
  for (const auto& [id, job] : jobs_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  for (const JobId id : ids) {
    const Job& job = jobs_.at(id);
    const Result<TubeId> tube = builder.tube(job.tube);
    if (!tube.ok()) return tube.status();
    JobRow row = job.row;
    row.tube = *tube;
    if (Status added = builder.add_job(row, job.body); !added.ok()) return added;
  }
  return {};
}

}  // namespace perennial::migrations
