#include "tests/support/power_loss.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "engine/types/check.h"

namespace perennial::support {
namespace {

constexpr uint64_t sector_bytes = 512;

// One sector may have reached the disk, or never have been written, or hold what was there before.
void tear_sector(int file, uint64_t from, uint64_t to, std::mt19937_64& random) {
  const uint64_t drawn = random() % 4;
  if (drawn < 2) return;  // Kept.
  std::array<char, sector_bytes> bytes{};
  if (drawn == 3) {
    for (char& byte : bytes) byte = static_cast<char>(random());
  }
  CHECK(::pwrite(file, bytes.data(), to - from, static_cast<off_t>(from)) ==
        static_cast<ssize_t>(to - from));
}

void tear(const std::string& path, uint64_t synced, uint64_t end, std::mt19937_64& random) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  CHECK(file >= 0);
  for (uint64_t from = synced; from < end;) {
    const uint64_t to = std::min(end, (from / sector_bytes + 1) * sector_bytes);
    tear_sector(file, from, to, random);
    from = to;
  }
  ::close(file);
}

}  // namespace

void lose_bytes(const std::string& path, uint64_t synced, uint64_t written, Loss loss,
                std::mt19937_64& random) {
  if (written <= synced) return;
  const uint64_t end = loss == Loss::Whole ? synced : synced + random() % (written - synced + 1);
  const int cut = ::truncate(path.c_str(), static_cast<off_t>(end));
  CHECK(cut == 0 || errno == ENOENT);
  if (cut == 0 && loss == Loss::Torn) tear(path, synced, end, random);
}

}  // namespace perennial::support
