#include "tests/support/power_loss.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "engine/types/check.h"

namespace perennial::support {
namespace {

constexpr uint64_t sector_bytes = 512;

// One sector may have reached the disk, never have been written, or hold its earlier content.
void tear_sector(int file, uint64_t from, uint64_t to, std::mt19937_64& random) {
  const uint64_t drawn = random() % 4;
  if (drawn < 2) return;  // The sector is kept.
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

void write_at(int file, std::string_view bytes, uint64_t offset) {
  CHECK(::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset)) ==
        static_cast<ssize_t>(bytes.size()));
}

// Each overwritten sector keeps the new bytes, gets its earlier bytes, or becomes garbage. If
// several writes met in one sector, the first write knows its earlier bytes.
void tear_overwrites(int file, const std::vector<Overwrite>& overwrites, std::mt19937_64& random) {
  std::map<uint64_t, uint64_t> drawn;
  for (auto write = overwrites.rbegin(); write != overwrites.rend(); ++write) {
    const uint64_t end = write->offset + write->before.size();
    for (uint64_t from = write->offset; from < end;) {
      const uint64_t sector = from / sector_bytes;
      const uint64_t to = std::min(end, (sector + 1) * sector_bytes);
      const uint64_t fate = drawn.try_emplace(sector, random() % 4).first->second;
      std::string before = write->before.substr(from - write->offset, to - from);
      if (fate == 3) {
        for (char& byte : before) byte = static_cast<char>(random());
      }
      if (fate >= 2) write_at(file, before, from);
      from = to;
    }
  }
}

}  // namespace

void lose_overwrites(const std::string& path, const std::vector<Overwrite>& overwrites, Loss loss,
                     std::mt19937_64& random) {
  if (overwrites.empty()) return;
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return;
  CHECK(file >= 0);
  if (loss == Loss::Torn) {
    tear_overwrites(file, overwrites, random);
  } else {
    const size_t kept = loss == Loss::Whole ? 0 : random() % (overwrites.size() + 1);
    for (size_t i = overwrites.size(); i-- > kept;) {
      write_at(file, overwrites[i].before, overwrites[i].offset);
    }
    if (kept > 0) {  // The last kept sector is partial.
      const Overwrite& last = overwrites[kept - 1];
      const uint64_t part = random() % (last.before.size() + 1);
      write_at(file, std::string_view(last.before).substr(part), last.offset + part);
    }
  }
  ::close(file);
}

void lose_bytes(const std::string& path, uint64_t synced, uint64_t written, Loss loss,
                std::mt19937_64& random) {
  if (written <= synced) return;
  const uint64_t end = loss == Loss::Whole ? synced : synced + random() % (written - synced + 1);
  const int cut = ::truncate(path.c_str(), static_cast<off_t>(end));
  CHECK(cut == 0 || errno == ENOENT);
  if (cut == 0 && loss == Loss::Torn) tear(path, synced, end, random);
}

}  // namespace perennial::support
