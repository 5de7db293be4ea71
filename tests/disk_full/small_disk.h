#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tests/support/temp_dir.h"

namespace perennial::disk_full {

// Gives this process its own mounts, which disappear with it however it ends. Returns false without
// the right to do so; then there are no small disks. REQUIRES: the process has one thread.
bool enter_own_mounts();
// Whether the process has its own mounts.
bool has_own_mounts();

// A file system of a given size, which is mounted while this object exists. REQUIRES:
// has_own_mounts().
class SmallDisk {
 public:
  // Makes it in memory. `files`: how many it can hold; 0: so many that they do not matter.
  explicit SmallDisk(uint64_t bytes, uint64_t files = 0);
  // Makes ext4 in a sparse file, for sizes that should not be in memory. Returns null without
  // mkfs.ext4 or the right to a loop device.
  static std::unique_ptr<SmallDisk> in_a_file(uint64_t bytes);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  const std::string& path() const { return dir_.path(); }
  uint64_t free_bytes() const;
  uint64_t free_files() const;
  // Makes empty files that do not belong to the server, until so many more can be made.
  void fill_files_but(uint64_t files_left) const;
  // Removes these files again.
  void clear_files() const;
  // Fills all free space with a file that does not belong to the server.
  void fill() const;
  // Fills the free space up to this rest.
  void fill_but(uint64_t bytes_left) const;
  // Removes the file again.
  void clear() const;

 private:
  SmallDisk() = default;
  std::string foreign_path() const { return dir_.path() + "/foreign"; }
  std::string foreign_dir() const { return dir_.path() + "/files"; }

  const support::TempDir dir_;
  const support::TempDir image_dir_;  // Holds the sparse file. Empty for a disk in memory.
  bool is_mounted_ = false;
  mutable uint64_t files_made_ = 0;
};

}  // namespace perennial::disk_full
