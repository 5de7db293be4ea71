#include "cmd/perenniald/process/temporary_dir.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/perenniald/process/log.h"

namespace perennial::perenniald {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view letters = "XXXXXX";
constexpr const char* data_name = "/data";
constexpr const char* mark_name = "/ephemeral";

Status failed_to(const std::string& doing, int error) {
  return {StatusCode::Io, fmt::format("{}: {}", doing, std::generic_category().message(error))};
}

int open_dir(const std::string& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// Whether the directory still has its name: whoever looks for leftovers may have locked and removed
// it before its maker locked it.
bool is_there(int dir, const std::string& path) {
  struct stat info = {};
  struct stat named = {};
  return ::fstat(dir, &info) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         info.st_dev == named.st_dev && info.st_ino == named.st_ino;
}

bool is_own(int dir) {
  struct stat info = {};
  return ::fstat(dir, &info) == 0 && info.st_uid == ::geteuid();
}

void remove_all(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) return;
  log(Level::Warning, "ephemeral.left", {{"data_dir", path}, {"error", error.message()}});
}

// Says of which directory it is the mark. A copy, and one that was given another name, is somebody
// else's by that.
std::string mark_of(int dir, const std::string& path) {
  struct stat info = {};
  if (::fstat(dir, &info) != 0) return {};
  return fmt::format("{} {}\n", fs::path(path).filename().string(), info.st_ino);
}

bool has_mark(int dir, const std::string& path) {
  struct stat info = {};
  const std::string file = path + mark_name;
  if (::lstat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  std::ifstream in(file);
  const std::string written((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return !written.empty() && written == mark_of(dir, path);
}

Status make_mark(int dir, const std::string& path) {
  std::ofstream(path + mark_name) << mark_of(dir, path);
  if (has_mark(dir, path)) return {};
  return failed_to("write " + path + mark_name, errno);
}

// Whether no server works in it, whatever has become of the directory around.
bool is_unused(const std::string& path) {
  const std::string file = path + data_name + "/lock";
  const int lock = ::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (lock < 0) return errno == ENOENT;
  const bool is_free = ::flock(lock, LOCK_EX | LOCK_NB) == 0;
  ::close(lock);
  return is_free;
}

void remove_if_left(const std::string& path) {
  const int dir = open_dir(path);
  if (dir < 0) return;
  if (is_own(dir) && ::flock(dir, LOCK_EX | LOCK_NB) == 0 && is_there(dir, path) &&
      has_mark(dir, path) && is_unused(path)) {
    log(Level::Info, "ephemeral.removed", {{"data_dir", path}});
    remove_all(path);
  }
  ::close(dir);
}

void remove_leftovers(const std::string& pattern) {
  const fs::path wanted(pattern.substr(0, pattern.size() - letters.size()));
  const std::string beginning = wanted.filename().string();
  const fs::path folder = wanted.has_parent_path() ? wanted.parent_path() : fs::path(".");
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.size() == beginning.size() + letters.size() && name.starts_with(beginning))
      remove_if_left(entry->path().string());
  }
}

}  // namespace

Result<TemporaryDir> TemporaryDir::create(const std::string& pattern) {
  remove_leftovers(pattern);
  for (;;) {
    std::string path = pattern;
    if (::mkdtemp(path.data()) == nullptr)
      return failed_to("make a directory such as " + pattern, errno);
    const int dir = open_dir(path);
    if (dir >= 0 && ::flock(dir, LOCK_EX) == 0 && is_there(dir, path)) {
      Status made = make_mark(dir, path);
      if (made.ok() && ::mkdir((path + data_name).c_str(), 0700) != 0)
        made = failed_to("make " + path + data_name, errno);
      if (made.ok()) return TemporaryDir(path, dir);
      remove_all(path);
      ::close(dir);
      return made;
    }
    const int problem = errno;
    const bool is_gone = dir < 0 ? problem == ENOENT : !is_there(dir, path);
    if (dir >= 0) ::close(dir);
    if (is_gone) continue;
    remove_all(path);
    return failed_to("lock " + path, problem);
  }
}

std::string TemporaryDir::path() const {
  return path_ + data_name;
}

TemporaryDir::TemporaryDir(TemporaryDir&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::exchange(other.lock_, -1)) {}

TemporaryDir::~TemporaryDir() {
  if (path_.empty()) return;
  remove_all(path_);
  ::close(lock_);
}

}  // namespace perennial::perenniald
