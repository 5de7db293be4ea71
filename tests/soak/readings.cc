#include "tests/soak/readings.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <sys/stat.h>

#include "tests/support/reply_text.h"

namespace perennial::soak {
namespace {

namespace fs = std::filesystem;
constexpr double mib = 1 << 20;

uint64_t resident_bytes(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  std::string line;
  while (std::getline(file, line))
    if (line.starts_with("VmRSS:")) return std::stoull(line.substr(6)) * 1024;
  return 0;
}

void count_descriptors(pid_t pid, Reading& out) {
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", pid), gone)) {
    ++out.descriptors;
    const std::string target = fs::read_symlink(entry.path(), gone).string();
    out.sockets += target.starts_with("socket:") ? 1 : 0;
  }
}

// The bytes that the file system has allocated, not the sizes of the files.
uint64_t disk_bytes(const std::string& folder) {
  uint64_t bytes = 0;
  std::error_code gone;
  for (auto entry = fs::recursive_directory_iterator(folder, gone);
       entry != fs::recursive_directory_iterator(); entry.increment(gone)) {
    if (gone) break;
    struct stat info = {};
    const bool is_ballast = entry->path().filename() == "ballast";
    if (!is_ballast && ::lstat(entry->path().c_str(), &info) == 0)
      bytes += static_cast<uint64_t>(info.st_blocks) * 512;
  }
  return bytes;
}

}  // namespace

Reading read_server(const support::ServerProcess& server, const std::string& data_dir) {
  Reading out;
  out.resident_bytes = resident_bytes(server.pid());
  count_descriptors(server.pid(), out);
  out.disk_bytes = disk_bytes(data_dir);
  Result<support::ClientSocket> client = support::ClientSocket::connect(server.address());
  if (!client.ok()) return out;
  const Result<std::string> stats = client->ask("stats\r\n");
  if (!stats.ok()) return out;
  out.loop_lag_us = support::yaml_number(*stats, "loop-lag-us", 0);
  for (const char* state : {"ready", "reserved", "delayed", "buried"})
    out.jobs += support::yaml_number(*stats, fmt::format("current-jobs-{}", state), 0);
  out.state = support::yaml_value(*stats, "store-state");
  return out;
}

std::string table(const std::vector<Reading>& readings) {
  std::string out =
      fmt::format("{:>8} {:>9} {:>5} {:>8} {:>9} {:>7} {:>12} {:>7}  {}\n", "seconds", "rss MiB",
                  "fds", "sockets", "disk MiB", "p99 ms", "loop-lag us", "jobs", "state");
  for (const Reading& r : readings)
    out += fmt::format("{:8.1f} {:9.1f} {:5} {:8} {:9.1f} {:7} {:12} {:7}  {}\n", r.seconds,
                       static_cast<double>(r.resident_bytes) / mib, r.descriptors, r.sockets,
                       static_cast<double>(r.disk_bytes) / mib, r.p99_ms, r.loop_lag_us, r.jobs,
                       r.state);
  return out;
}

}  // namespace perennial::soak
