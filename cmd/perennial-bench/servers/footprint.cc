#include "cmd/perennial-bench/servers/footprint.h"

#include <charconv>
#include <fstream>
#include <memory>
#include <string_view>

#include <fmt/format.h>
#include <fts.h>
#include <sys/stat.h>

#include "cmd/common/socket.h"
#include "cmd/perennial-bench/servers/fresh_server.h"

namespace perennial::bench {

Result<uint64_t> resident_bytes(pid_t process) {
  constexpr std::string_view key = "VmRSS:";
  std::ifstream file(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const size_t digits = line.find_first_of("0123456789");
    uint64_t kibibytes = 0;
    if (digits != std::string::npos)
      std::from_chars(line.data() + digits, line.data() + line.size(), kibibytes);
    if (kibibytes > 0) return kibibytes * 1024;
  }
  return Status(StatusCode::Io, fmt::format("/proc/{}/status tells no {}", process, key));
}

Result<DiskBytes> disk_bytes(const std::string& dir) {
  constexpr std::string_view ballast_name = "ballast";
  std::string root = dir;
  char* const roots[] = {root.data(), nullptr};
  const std::unique_ptr<FTS, int (*)(FTS*)> walk(::fts_open(roots, FTS_PHYSICAL, nullptr),
                                                 ::fts_close);
  if (walk == nullptr) return common::system_error("fts_open").with(dir);
  DiskBytes bytes;
  while (const FTSENT* const entry = ::fts_read(walk.get())) {
    const bool is_there = entry->fts_info == FTS_D || entry->fts_info == FTS_F;
    if (!is_there) continue;
    const std::string_view name = entry->fts_name;
    if (entry->fts_level == 1 && name == FreshServer::log_name) continue;
    const uint64_t blocks = static_cast<uint64_t>(entry->fts_statp->st_blocks) * S_BLKSIZE;
    (name == ballast_name ? bytes.ballast : bytes.used) += blocks;
  }
  return bytes;
}

}  // namespace perennial::bench
