#include "tests/linear_time/growth.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <ctime>

#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

// The time of this thread alone is measured, so that a loaded machine does not count, and the
// quickest of several runs counts. What is quadratic costs 64 times as much for 8 times the bytes.
namespace perennial::linear_time {
namespace {

constexpr double growth_max = 28;
constexpr int attempts_max = 5;
constexpr size_t step = 8;
constexpr size_t bytes_min = 1024;
// What costs less cannot be measured well, and stops nobody.
constexpr int64_t quick_ns = 1'000'000;

// Memory that is freed stays with the process. Else each run of a large input would touch new pages
// first, which on some machines takes longer than the parser, and is not linear. AddressSanitizer's
// allocator knows no such settings: it maps what is larger than 256 KB anew each time.
[[maybe_unused]] const bool keeps_memory =
    mallopt(M_MMAP_MAX, 0) == 1 && mallopt(M_TRIM_THRESHOLD, INT_MAX) == 1;

int64_t thread_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

int64_t new_pages() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_minflt;
}

// What the kernel takes for a new page, and to take it back.
int64_t page_ns() {
  constexpr size_t bytes = 1 << 20;
  constexpr size_t page_bytes = 4096;
  const int64_t pages = new_pages();
  const int64_t begun = thread_ns();
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  for (size_t at = 0; at < bytes; at += page_bytes) static_cast<volatile char*>(memory)[at] = 1;
  munmap(memory, bytes);
  return (thread_ns() - begun) / std::max<int64_t>(new_pages() - pages, 1);
}

// Without what the kernel takes for new pages, which is not the parser's. At least a tenth, because
// both are measured. Blind to a parser of which only the memory grows too fast, where each run
// touches new pages: with AddressSanitizer.
int64_t run_ns(const Case& parser, const std::string& input) {
  const int64_t pages = new_pages();
  const int64_t begun = thread_ns();
  parser.parse(input);
  const int64_t took = thread_ns() - begun;
  const int64_t touched = new_pages() - pages;  // Before page_ns(), which touches some.
  const int64_t of_pages = touched * page_ns();
  return std::max(took - of_pages, took / 10);
}

int64_t cost_of(const Case& parser, const std::string& input) {
  int64_t best = INT64_MAX;
  for (int run = 0; run < 3; ++run) {
    best = std::min(best, run_ns(parser, input));
    // A slow one is slow enough. The first run is the one that touches new pages.
    if (run > 0 && best > 200 * quick_ns) break;
  }
  return best;
}

std::string compare(const Case& parser, size_t bytes) {
  const int64_t large = cost_of(parser, parser.input(bytes));
  if (large < quick_ns) return {};
  const int64_t small = std::max<int64_t>(cost_of(parser, parser.input(bytes / step)), 1);
  const double growth = static_cast<double>(large) / static_cast<double>(small);
  if (growth <= growth_max) return {};
  return fmt::format("{}: {} bytes cost {} us, {} cost {} us, which is {:.0f} times as much",
                     parser.name, bytes / step, small / 1000, bytes, large / 1000, growth);
}

}  // namespace

std::string problem_of(const Case& parser) {
  for (size_t bytes = std::min(bytes_min * step, parser.bytes_max);;
       bytes = std::min(bytes * step, parser.bytes_max)) {
    std::string problem;
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
      problem = compare(parser, bytes);
      if (problem.empty()) break;
    }
    if (!problem.empty() || bytes == parser.bytes_max) return problem;
  }
}

}  // namespace perennial::linear_time
