#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tests/support/temp_dir.h"

namespace perennial::disk_full {

// Gives this process mounts of its own, which go with it however it ends. Without the right to that
// there are no small disks. REQUIRES: the process has one thread.
bool enter_own_mounts();
// Whether it has them.
bool has_own_mounts();

// A file system of a given size, mounted for as long as this object lives. REQUIRES:
// has_own_mounts().
class SmallDisk {
 public:
  // In memory.
  explicit SmallDisk(uint64_t bytes);
  // Ext4 in a sparse file, for more than memory should hold. None without mkfs.ext4 or the right to
  // a loop device.
  static std::unique_ptr<SmallDisk> in_a_file(uint64_t bytes);
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
  SmallDisk() = default;
  std::string foreign_path() const { return dir_.path() + "/foreign"; }

  const support::TempDir dir_;
  const support::TempDir image_dir_;  // Of one in a file; else it is empty.
  bool is_mounted_ = false;
};

}  // namespace perennial::disk_full
