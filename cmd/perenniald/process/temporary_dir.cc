#include "cmd/perenniald/process/temporary_dir.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
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

void remove_if_left(const std::string& path) {
  const int dir = open_dir(path);
  if (dir < 0) return;
  if (is_own(dir) && ::flock(dir, LOCK_EX | LOCK_NB) == 0 && is_there(dir, path)) {
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
    if (dir >= 0 && ::flock(dir, LOCK_EX) == 0 && is_there(dir, path))
      return TemporaryDir(path, dir);
    const int problem = errno;
    const bool is_gone = dir < 0 ? problem == ENOENT : !is_there(dir, path);
    if (dir >= 0) ::close(dir);
    if (is_gone) continue;
    remove_all(path);
    return failed_to("lock " + path, problem);
  }
}

TemporaryDir::TemporaryDir(TemporaryDir&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::exchange(other.lock_, -1)) {}

TemporaryDir::~TemporaryDir() {
  if (path_.empty()) return;
  remove_all(path_);
  ::close(lock_);
}

}  // namespace perennial::perenniald
