#include "cmd/perenniald/process/descriptors.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <sys/resource.h>
#include <sys/stat.h>

#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

// RocksDB's files that are no tables, files of a checkpoint that is being made, libuv's own
// descriptors, and some further tables while many are read at once.
constexpr uint64_t own_files = 64;
constexpr uint64_t tables_min = 32;
constexpr uint64_t tables_max = 65'536;
constexpr uint64_t connections_min = 8;
constexpr uint64_t descriptors_highest = 1ull << 24;

}  // namespace

uint64_t raise_descriptors() {
  rlimit limit{};
  CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const rlim_t had = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = had;
  return std::min<uint64_t>(limit.rlim_cur, descriptors_highest);
}

uint64_t descriptors_max() {
  rlimit limit{};
  CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  return limit.rlim_cur;
}

// proc(5). A listing costs about a microsecond for each descriptor.
std::optional<uint64_t> descriptors_open() {
  constexpr uint64_t listed_max = 2'000;
  constexpr const char* path = "/proc/self/fd";
  struct stat folder {};
  if (::stat(path, &folder) != 0) return std::nullopt;
  if (folder.st_size > 0) return static_cast<uint64_t>(folder.st_size);
  std::error_code failed;
  uint64_t count = 0;
  for (std::filesystem::directory_iterator each(path, failed), end; !failed && each != end;
       each.increment(failed)) {
    if (++count > listed_max) return std::nullopt;
  }
  if (failed || count == 0) return std::nullopt;
  return count - 1;  // Without that of the listing.
}

std::optional<Descriptors> share_descriptors(uint64_t descriptors, uint64_t listeners,
                                             uint64_t wanted) {
  if (descriptors < descriptors_min(listeners)) return std::nullopt;
  const uint64_t shared = descriptors - own_files - listeners;
  const uint64_t rest = wanted == 0 ? shared / 4 : shared - std::min(shared, wanted);
  const uint64_t tables = std::clamp(rest, tables_min, tables_max);
  const uint64_t left = shared - tables;
  return Descriptors{.connections = wanted == 0 ? left : std::min(left, wanted),
                     .tables = static_cast<uint32_t>(tables)};
}

uint64_t descriptors_min(uint64_t listeners) {
  return own_files + listeners + tables_min + connections_min;
}

}  // namespace perennial::perenniald
