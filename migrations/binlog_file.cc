#include "migrations/binlog_file.h"

#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace perennial::migrations {
namespace {

static_assert(std::endian::native == std::endian::little);

// The offsets in beanstalkd's struct Jobrec as a 64-bit compiler lays it out. Version 5 ends
// without the padding.
namespace at {
constexpr size_t id = 0, priority = 8, delay = 16, ttr = 24, body_bytes = 32, created = 40,
                 deadline = 48, reserves = 56, timeouts = 60, releases = 64, buries = 68,
                 kicks = 72, state = 76, end_5 = 77, end_7 = 80;
}  // namespace at

constexpr size_t version_bytes = 4;
constexpr uint64_t body_bytes_max = uint64_t{1} << 30;
constexpr Nanos nanos_per_micro = 1000;
// The year 2100, which is later than any correct clock. The sum with the longest delay still fits
// into Nanos.
constexpr Nanos time_max = Nanos{4'102'444'800} * nanos_per_second;
constexpr Nanos duration_max = Nanos{UINT32_MAX} * nanos_per_second;

template <typename T>
T get(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

Status from_errno(const std::string& doing) {
  return {StatusCode::Io, doing + ": " + std::strerror(errno)};
}

bool is_name(std::string_view name) {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-+/;.$_()";
  return !name.starts_with('-') && name.find_first_not_of(letters) == std::string_view::npos;
}

}  // namespace

Result<std::unique_ptr<BinlogFile>> BinlogFile::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return from_errno("open " + path);
  struct stat stat {};
  const bool sized = ::fstat(file, &stat) == 0;
  const auto bytes = static_cast<size_t>(stat.st_size);
  void* mapping = nullptr;
  if (sized && bytes > 0) mapping = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  ::close(file);
  if (!sized || mapping == MAP_FAILED) return from_errno("read " + path);
  std::unique_ptr<BinlogFile> out(
      new BinlogFile(path, {static_cast<const char*>(mapping), mapping == nullptr ? 0 : bytes}));
  if (Status known = out->read_version(); !known.ok()) return known;
  return out;
}

BinlogFile::~BinlogFile() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

// Version 0 is that of a file which was allocated and never written to. It holds no records.
Status BinlogFile::read_version() {
  if (bytes_.size() < version_bytes) return {};
  version_ = get<uint32_t>(bytes_, 0);
  offset_ = version_bytes;
  if (version_ == 0 || version_ == 5 || version_ == 7) return {};
  if (version_ == uint32_t{5} << 24 || version_ == uint32_t{7} << 24) {
    return {StatusCode::Unsupported, path_ + " was written by a machine of the other byte order"};
  }
  return {StatusCode::Unsupported, path_ + " has the unknown version " + std::to_string(version_)};
}

bool BinlogFile::stop(End end, std::string problem) {
  end_ = end;
  problem_ = std::move(problem);
  return false;
}

bool BinlogFile::next(BinlogRecord& record) {
  if (version_ == 0) return stop(bytes_.empty() ? End::Clean : End::Zeros);
  const size_t length_bytes = version_ == 7 ? 4 : 8;
  const size_t job_bytes = version_ == 7 ? at::end_7 : at::end_5;
  const std::string_view rest = bytes_.substr(offset_);
  if (rest.empty()) return stop(End::Clean);
  if (rest.size() < length_bytes) return stop(End::Torn);
  const uint64_t name_bytes = version_ == 7 ? get<uint32_t>(rest, 0) : get<uint64_t>(rest, 0);
  if (name_bytes > tube_name_bytes_max) {
    return stop(End::Damaged, "a tube's name of " + std::to_string(name_bytes) + " bytes");
  }
  const size_t job_at = length_bytes + name_bytes;
  if (rest.size() < job_at + job_bytes) return stop(End::Torn);
  const std::string_view job = rest.substr(job_at, job_bytes);
  if (name_bytes == 0 && get<JobId>(job, at::id) == 0) return stop(End::Zeros);

  record = {};
  record.full = name_bytes > 0;
  record.tube = rest.substr(length_bytes, name_bytes);
  if (!is_name(record.tube)) return stop(End::Damaged, "a tube's name with a wrong letter");
  if (!read_job(job, record)) return false;
  const size_t end = job_at + job_bytes;
  const size_t body_bytes = record.full ? record.row.body_bytes + size_t{2} : 0;
  if (record.full && !read_body(offset_ + end, body_bytes, record)) return false;
  offset_ += end + body_bytes;
  return true;
}

bool BinlogFile::read_job(std::string_view job, BinlogRecord& record) {
  const Nanos unit = version_ == 7 ? 1 : nanos_per_micro;
  const auto state = get<uint8_t>(job, at::state);
  const auto with_crlf = get<int32_t>(job, at::body_bytes);
  const auto time = [&](size_t offset, Nanos most, Nanos& value) {
    const auto stored = get<Nanos>(job, offset);
    if (stored < 0 || stored > most / unit) return false;
    value = stored * unit;
    return true;
  };
  Nanos delay = 0;
  Nanos ttr = 0;
  JobRow& row = record.row;
  row.id = get<JobId>(job, at::id);
  if (row.id == 0 || row.id > foreign_id_max) {
    return stop(End::Damaged, "job " + std::to_string(row.id));
  }
  if (state > 4) return stop(End::Damaged, "the unknown state " + std::to_string(state));
  if (with_crlf < 2 || static_cast<uint64_t>(with_crlf) > body_bytes_max + 2) {
    return stop(End::Damaged, "a body of " + std::to_string(with_crlf) + " bytes");
  }
  const bool timely = time(at::delay, duration_max, delay) && time(at::ttr, duration_max, ttr) &&
                      time(at::created, time_max, row.created);
  if (!timely || ttr < nanos_per_second) return stop(End::Damaged, "a time out of range");
  record.state = static_cast<BinlogRecord::State>(state);
  // Only a delayed job needs a valid deadline. Other jobs keep whatever deadline they had before.
  const bool due = time(at::deadline, time_max + duration_max, record.deadline);
  if (record.state == BinlogRecord::State::Delayed && !due) {
    return stop(End::Damaged, "a deadline out of range");
  }
  row.priority = get<uint32_t>(job, at::priority);
  row.delay_s = static_cast<uint32_t>(delay / nanos_per_second);
  row.ttr_s = static_cast<uint32_t>(ttr / nanos_per_second);
  row.body_bytes = static_cast<uint32_t>(with_crlf - 2);
  row.reserves = get<uint32_t>(job, at::reserves);
  row.timeouts = get<uint32_t>(job, at::timeouts);
  row.releases = get<uint32_t>(job, at::releases);
  row.buries = get<uint32_t>(job, at::buries);
  row.kicks = get<uint32_t>(job, at::kicks);
  return true;
}

bool BinlogFile::read_body(size_t at, size_t bytes, BinlogRecord& record) {
  if (bytes_.size() - at < bytes) return stop(End::Torn);
  const std::string_view body = bytes_.substr(at, bytes);
  if (!body.ends_with("\r\n")) return stop(End::Damaged, "a body that does not end in CRLF");
  record.body = body.substr(0, bytes - 2);
  return true;
}

}  // namespace perennial::migrations
