#include "cmd/perennial-bench/servers/machine.h"

#include <cstddef>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmd/common/socket.h"
#include "cmd/perennial-bench/results/latencies.h"
#include "cmd/perennial-bench/servers/clock.h"

namespace perennial::bench {
namespace {

constexpr int syncs_count = 200;
constexpr size_t sync_bytes = 4096;

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
  return "unknown processor";
}

// The median time of appending a page and fdatasync, in an unnamed file.
std::string describe_disk(const std::string& dir) {
  const common::Socket file(::open(dir.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.fd() < 0) return {};
  const std::string page(sync_bytes, 'x');
  Latencies times;
  for (int i = 0; i < syncs_count; ++i) {
    const Nanos begun = now_nanos();
    const bool done = ::write(file.fd(), page.data(), page.size()) == ssize_t{sync_bytes} &&
                      ::fdatasync(file.fd()) == 0;
    if (!done) return {};
    times.add(now_nanos() - begun);
  }
  return fmt::format(", fdatasync of 4 KiB in {} takes {} us", dir, times.at(0.5) / 1000);
}

}  // namespace

std::string describe_machine(const std::string& dir) {
  utsname system{};
  ::uname(&system);
  struct sysinfo memory {};
  ::sysinfo(&memory);
  const double gib =
      static_cast<double>(memory.totalram) * memory.mem_unit / (1024.0 * 1024 * 1024);
  return fmt::format("{}, {} cores, {:.1f} GiB, {} {}{}", processor(),
                     std::thread::hardware_concurrency(), gib, system.sysname, system.release,
                     dir.empty() ? "" : describe_disk(dir));
}

}  // namespace perennial::bench
