#pragma once

#include <cstdint>
#include <string>

#include "tests/support/temp_dir.h"

namespace perennial::disk_full {

// Gives this process mounts of its own, which go with it however it ends. Without the right to that
// there are no small disks. REQUIRES: the process has one thread.
bool enter_own_mounts();

// A file system of a given size, in memory, mounted for as long as this object lives. REQUIRES:
// enter_own_mounts().
class SmallDisk {
 public:
  explicit SmallDisk(uint64_t bytes);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  const std::string& path() const { return dir_.path(); }
  uint64_t free_bytes() const;
  // Takes all room that is left for a file that is not the server's.
  void fill() const;
  // Takes all but this much of it.
  void fill_but(uint64_t bytes_left) const;
  // Gives it back.
  void clear() const;

 private:
  std::string foreign_path() const { return dir_.path() + "/foreign"; }

  const support::TempDir dir_;
};

}  // namespace perennial::disk_full
