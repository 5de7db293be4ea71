#include "tests/disk_full/small_disk.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "engine/types/check.h"

namespace perennial::disk_full {
namespace {

bool entered = false;  // Set once, before other threads exist.

// Becomes root of a user namespace that has no other user.
bool become_own_root() {
  const uid_t user = ::getuid();
  const gid_t group = ::getgid();
  if (::unshare(CLONE_NEWUSER) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << fmt::format("0 {} 1", user);
  std::ofstream("/proc/self/gid_map") << fmt::format("0 {} 1", group);
  return ::geteuid() == 0;
}

}  // namespace

bool enter_own_mounts() {
  if (::geteuid() != 0 && !become_own_root()) return false;
  if (::unshare(CLONE_NEWNS) != 0) return false;
  entered = ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  return entered;
}

bool has_own_mounts() {
  return entered;
}

SmallDisk::SmallDisk(uint64_t bytes, uint64_t files) {
  std::string options = fmt::format("size={},mode=0700", bytes);
  if (files > 0) options += fmt::format(",nr_inodes={}", files);
  CHECK(::mount("perennial", path().c_str(), "tmpfs", 0, options.c_str()) == 0);
  is_mounted_ = true;
}

std::unique_ptr<SmallDisk> SmallDisk::in_a_file(uint64_t bytes) {
  std::unique_ptr<SmallDisk> disk(new SmallDisk());
  const std::string image = disk->image_dir_.path() + "/image";
  const std::string command = fmt::format(
      "{{ truncate -s {} {} && PATH=$PATH:/usr/sbin:/sbin mkfs.ext4 -q -m 0 -F {} && "
      "mount -o loop {} {}; }} >/dev/null 2>&1",
      bytes, image, image, image, disk->path());
  disk->is_mounted_ = std::system(command.c_str()) == 0;
  return disk->is_mounted_ ? std::move(disk) : nullptr;
}

SmallDisk::~SmallDisk() {
  if (is_mounted_) CHECK(::umount2(path().c_str(), MNT_DETACH) == 0);
}

uint64_t SmallDisk::free_bytes() const {
  struct statvfs disk = {};
  CHECK(::statvfs(path().c_str(), &disk) == 0);
  return uint64_t{disk.f_bavail} * disk.f_frsize;
}

uint64_t SmallDisk::free_files() const {
  struct statvfs disk = {};
  CHECK(::statvfs(path().c_str(), &disk) == 0);
  return disk.f_favail;
}

// The server makes and removes files meanwhile.
void SmallDisk::fill_files_but(uint64_t files_left) const {
  ::mkdir(foreign_dir().c_str(), 0700);
  while (free_files() > files_left) {
    const std::string name = fmt::format("{}/{}", foreign_dir(), files_made_++);
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return;
    ::close(file);
  }
}

void SmallDisk::clear_files() const {
  std::filesystem::remove_all(foreign_dir());
}

void SmallDisk::fill() const {
  fill_but(0);
}

void SmallDisk::fill_but(uint64_t bytes_left) const {
  const int file = ::open(foreign_path().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  CHECK(file >= 0);
  struct stat before = {};
  CHECK(::fstat(file, &before) == 0);
  // The server uses and frees space meanwhile, so the loop tries ever smaller sizes.
  const auto takes = [this, bytes_left] {
    return free_bytes() - std::min(free_bytes(), bytes_left);
  };
  for (uint64_t bytes = takes(); bytes > 0; bytes = std::min(bytes / 2, takes())) {
    if (::posix_fallocate(file, before.st_size, static_cast<off_t>(bytes)) == 0) break;
  }
  ::close(file);
}

void SmallDisk::clear() const {
  CHECK(::unlink(foreign_path().c_str()) == 0);
}

}  // namespace perennial::disk_full
