#include "cmd/perennial/bench/report.h"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>  // mkstemp is POSIX, not C++.
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmd/perennial/bench/put_load.h"

namespace perennial::bench {
namespace {

constexpr int syncs_count = 200;
constexpr size_t sync_bytes = 4096;
constexpr double busy_share = 0.9;  // Of one core: above this the client holds the server back.

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
  return "unknown processor";
}

// The median time of appending a page and fdatasync, in a file that is removed at once.
std::string describe_disk(const std::string& dir) {
  std::string path = dir + "/perennial-bench-XXXXXX";
  const common::Socket file(::mkstemp(path.data()));
  if (file.fd() < 0) return {};
  ::unlink(path.c_str());
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
  return fmt::format("machine  {}, {} cores, {:.1f} GiB, {} {}{}\n", processor(),
                     std::thread::hardware_concurrency(), gib, system.sysname, system.release,
                     dir.empty() ? "" : describe_disk(dir));
}

std::string describe_options(const PutOptions& options) {
  std::string text =
      fmt::format("options  put, {} connections, {} in flight each, {} byte bodies, {} s",
                  options.connections, options.in_flight, options.body_bytes, options.seconds);
  if (!options.against.empty()) text += fmt::format(" x {} rounds in turn", options.rounds);
  if (options.tubes > 0) text += fmt::format(", {} tubes with a job each", options.tubes);
  if (options.idle > 0) text += fmt::format(", {} idle connections", options.idle);
  return text + fmt::format("\nseed     {}\n", options.seed);
}

std::string format_table(const std::vector<PutResult>& results) {
  std::string text =
      fmt::format("\n{:<24} {:>9} {:>19} {:>8} {:>8} {:>8} {:>8} {:>7} {:>6}\n", "server", "puts/s",
                  "lowest..highest", "p50 us", "p99 us", "p99.9 us", "max us", "client", "ratio");
  const double first = median(results.front().puts_per_second);
  bool client_was_busy = false;
  for (const PutResult& result : results) {
    const auto [low, high] = std::ranges::minmax(result.puts_per_second);
    const Latencies& times = result.latencies;
    const double middle = median(result.puts_per_second);
    text += fmt::format("{:<24} {:>9.0f} {:>19} {:>8} {:>8} {:>8} {:>8} {:>6.0f}% {:>6.2f}\n",
                        result.name, middle, fmt::format("{:.0f}..{:.0f}", low, high),
                        times.at(0.5) / 1000, times.at(0.99) / 1000, times.at(0.999) / 1000,
                        times.max() / 1000, result.client_cpu * 100, middle / first);
    client_was_busy = client_was_busy || result.client_cpu > busy_share;
  }
  if (client_was_busy)
    text += "warning: this client was busy all the time; the server could have done more\n";
  return text;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  const bool odd = values.size() % 2 == 1;
  return odd ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace perennial::bench
