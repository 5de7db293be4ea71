#include "cmd/perenniald/tls/file_stamps.h"

#include <sys/stat.h>

namespace perennial::perenniald {
namespace {

int64_t nanos(const timespec& time) {
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

FileStamp stamp_of(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return {};
  return {.exists = true,
          .device = facts.st_dev,
          .inode = facts.st_ino,
          .bytes = facts.st_size,
          .content_changed_ns = nanos(facts.st_mtim),
          .facts_changed_ns = nanos(facts.st_ctim)};
}

}  // namespace perennial::perenniald
