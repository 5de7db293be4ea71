#include "cmd/perenniald/process/process.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

Nanos to_nanos(const timeval& time) {
  return time.tv_sec * nanos_per_second + time.tv_usec * (nanos_per_ms / 1000);
}

uint64_t random_number() {
  uint64_t number = 0;
  CHECK(getrandom(&number, sizeof number, 0) == sizeof number);
  return number;
}

}  // namespace

ProcessFacts fixed_process_facts(uint64_t job_bytes_max) {
  ProcessFacts facts;
  facts.job_bytes_max = job_bytes_max;
  facts.pid = getpid();
  facts.version = PERENNIAL_VERSION;
  facts.instance_id = fmt::format("{:016x}", random_number());
  utsname host{};
  CHECK(uname(&host) == 0);
  facts.hostname = host.nodename;
  facts.os = host.version;
  facts.platform = host.machine;
  return facts;
}

void add_usage(ProcessFacts& facts) {
  rusage usage{};
  CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
  facts.user_time = to_nanos(usage.ru_utime);
  facts.system_time = to_nanos(usage.ru_stime);
}

// proc(5).
uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t size = 0;
  uint64_t resident = 0;
  if (!(file >> size >> resident)) return 0;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void apply_core_dumps(bool wanted) {
  rlimit limit{};
  CHECK(getrlimit(RLIMIT_CORE, &limit) == 0);
  limit.rlim_cur = wanted ? limit.rlim_max : std::min<rlim_t>(1, limit.rlim_max);
  CHECK(setrlimit(RLIMIT_CORE, &limit) == 0);
  if (wanted) CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
}

void hide_memory() {
  CHECK(prctl(PR_SET_DUMPABLE, 0) == 0);
}

}  // namespace perennial::perenniald
