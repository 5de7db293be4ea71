
#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmd/perennial/dump/commands.h"
#include "engine/types/check.h"
#include "store/disk/hash.h"
#include "tests/fuzz/targets.h"
#include "tests/support/temp_dir.h"

namespace perennial::fuzz {
namespace {

// An unnamed file.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes = {}) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    CHECK(fd_ >= 0);
    CHECK(pwrite(fd_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int fd() const { return fd_; }
  std::string path() const { return fmt::format("/proc/self/fd/{}", fd_); }
  std::string bytes() const {
    std::string out(static_cast<size_t>(lseek(fd_, 0, SEEK_END)), '\0');
    CHECK(pread(fd_, out.data(), out.size(), 0) == static_cast<ssize_t>(out.size()));
    return out;
  }

 private:
  int fd_;
};

// No fuzzer guesses the hash in the last line, so a '?' in its place is replaced by the correct
// one.
std::string with_hash(std::string_view dump) {
  constexpr std::string_view field = "\"xxh3_128\":\"";
  std::string out(dump);
  const size_t found = out.rfind(std::string(field) + "?\"");
  if (found == std::string::npos) return out;
  const size_t line = out.rfind('\n', found) + 1;  // npos + 1 is 0.
  store::Hasher hasher;
  hasher.add(std::string_view(out).substr(0, line));
  return out.replace(found + field.size(), 1, hasher.hex());
}

Status load_from(const std::string& dump, const std::string& data_dir, bool skips_damaged) {
  const MemoryFile from(dump);
  const MemoryFile report;
  return tool::load({.data_dir = data_dir, .from = from.path(), .skip_damaged = skips_damaged},
                    report.fd());
}

std::string dump_of(const std::string& data_dir) {
  const MemoryFile out;
  CHECK(tool::dump({.data_dir = data_dir}, out.fd()).ok());
  return out.bytes();
}

}  // namespace

// A dump, preceded by 's' to skip damaged bodies.
void load(std::string_view input) {
  const bool skips_damaged = input.starts_with('s');
  if (skips_damaged) input.remove_prefix(1);
  const support::TempDir dir;
  const std::string first = dir.path() + "/first";
  const Status loaded = load_from(with_hash(input), first, skips_damaged);
  if (!loaded.ok()) {
    CHECK(!loaded.message().empty());
    CHECK(std::filesystem::is_empty(dir.path()));
    return;
  }
  const std::string dumped = dump_of(first);
  const std::string second = dir.path() + "/second";
  CHECK(load_from(dumped, second, false).ok());
  CHECK(dump_of(second) == dumped);
}

}  // namespace perennial::fuzz
