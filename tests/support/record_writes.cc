// A library for LD_PRELOAD. It appends to the file RECORD_TO, in one order, every change that the
// process makes to the directory RECORD_DIR, with its data, and what the process receives from
// clients and sends to them. So a reader of the file knows what the disk had been told when an
// answer left. The format is in recording_format.h.
//
// One mutex is held during each call and while it is recorded. Only syncs run outside of it: a sync
// covers what was written before its SyncBegin, and nobody may rely on it before its SyncEnd.
//
// It sees what goes through libc: strace finds no other calls of RocksDB 7.8, libuv 1.44 and this
// server. It forbids io_uring, so that sockets are read and written by calls, too. It does not see
// writes through a shared mapping, and ends the process if one is made.

#include <array>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/support/recording_format.h"

namespace {

using perennial::support::EventHead;
using perennial::support::EventKind;

constexpr size_t descriptors_max = 65'536;

enum class Use : uint8_t { Other, File, Client };

struct Descriptor {
  Use use = Use::Other;
  uint32_t handle = 0;
};

[[noreturn]] void give_up(const char* why) {
  ::dprintf(STDERR_FILENO, "record_writes: %s\n", why);
  ::_exit(125);
}

// Everything here is used under the mutex. It is never destroyed, because threads of libraries
// still write while the process ends.
struct Recorder {
  // Recursive: an allocator may open or map a file in the middle of a call.
  std::recursive_mutex mutex;
  std::string dir;
  int file = -1;
  uint32_t last_handle = 0;
  uint64_t last_sync = 0;
  std::array<Descriptor, descriptors_max> descriptors{};

  Recorder() {
    const char* const recorded = ::getenv("RECORD_DIR");
    const char* const to = ::getenv("RECORD_TO");
    if (recorded == nullptr || to == nullptr) give_up("RECORD_DIR and RECORD_TO must be set");
    dir = recorded;
    file = static_cast<int>(
        ::syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (file < 0) give_up("cannot open RECORD_TO");
    record({.kind = EventKind::Begin});
  }

  void record(EventHead head, std::string_view path = {}, std::string_view data = {}) const {
    head.path_bytes = static_cast<uint32_t>(path.size());
    head.data_bytes = static_cast<uint32_t>(data.size());
    const std::array<iovec, 3> parts = {iovec{&head, sizeof head},
                                        iovec{const_cast<char*>(path.data()), path.size()},
                                        iovec{const_cast<char*>(data.data()), data.size()}};
    const long total = static_cast<long>(sizeof head + path.size() + data.size());
    if (::syscall(SYS_writev, file, parts.data(), parts.size()) != total) {
      give_up("cannot write RECORD_TO");
    }
  }

  Descriptor* of(int fd) {
    const bool known = fd >= 0 && static_cast<size_t>(fd) < descriptors_max;
    return known ? &descriptors[static_cast<size_t>(fd)] : nullptr;
  }
  Descriptor* of(int fd, Use use) {
    Descriptor* const found = of(fd);
    return found != nullptr && found->use == use ? found : nullptr;
  }
};

Recorder& recorder() {
  static Recorder* const one = new Recorder;
  return *one;
}

// The path relative to the recorded directory.
bool is_recorded(int at, const char* name, std::string& path) {
  path = name;
  if (path.empty() || path.front() != '/') {
    std::array<char, PATH_MAX> target{};
    const std::string link =
        at == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/" + std::to_string(at);
    const long bytes = ::syscall(SYS_readlink, link.c_str(), target.data(), target.size());
    if (bytes < 0) return false;
    path = std::string(target.data(), static_cast<size_t>(bytes)) + "/" + name;
  }
  for (size_t twice = 0; (twice = path.find("//")) != std::string::npos;) path.erase(twice, 1);
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::string& dir = recorder().dir;
  if (path == dir) {
    path.clear();
    return true;
  }
  if (!path.starts_with(dir) || path[dir.size()] != '/') return false;
  path.erase(0, dir.size() + 1);
  return true;
}

int open_file(int at, const char* name, int flags, unsigned mode) {
  Recorder& all = recorder();
  std::string path;
  if (!is_recorded(at, name, path)) {
    const auto fd = static_cast<int>(::syscall(SYS_openat, at, name, flags, mode));
    const std::lock_guard lock(all.mutex);
    if (Descriptor* const opened = all.of(fd)) *opened = {};
    return fd;
  }
  const std::lock_guard lock(all.mutex);
  struct stat before {};
  const bool was_there = ::fstatat(at, name, &before, 0) == 0;
  const auto fd = static_cast<int>(::syscall(SYS_openat, at, name, flags, mode));
  Descriptor* const opened = all.of(fd);
  if (opened == nullptr) return fd;
  *opened = {.use = Use::File, .handle = ++all.last_handle};
  all.record({.kind = was_there ? EventKind::Open : EventKind::Create, .handle = opened->handle},
             path);
  if (was_there && (flags & O_TRUNC) != 0 && before.st_size > 0) {
    all.record({.kind = EventKind::Resize, .handle = opened->handle});
  }
  return fd;
}

// A call that writes to a file at `offset`, or at its position if that is -1, or to a client.
template <typename Call>
ssize_t write_to(int fd, const iovec* parts, int count, off_t offset, const Call& call) {
  Recorder& all = recorder();
  const std::lock_guard lock(all.mutex);
  const ssize_t written = call();
  Descriptor* const to = all.of(fd);
  if (written <= 0 || to == nullptr || to->use == Use::Other) return written;
  std::string data;
  for (int i = 0; i < count; ++i) {
    data.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
  }
  data.resize(static_cast<size_t>(written));
  if (to->use == Use::Client) {
    all.record({.kind = EventKind::Sent, .handle = to->handle}, {}, data);
    return written;
  }
  if (offset < 0) offset = ::lseek(fd, 0, SEEK_CUR) - written;
  all.record(
      {.kind = EventKind::Write, .handle = to->handle, .offset = static_cast<uint64_t>(offset)}, {},
      data);
  return written;
}

// A call that may read from a client.
template <typename Call>
ssize_t read_from(int fd, const iovec* parts, int count, const Call& call) {
  Recorder& all = recorder();
  {
    const std::lock_guard lock(all.mutex);
    const Descriptor* const from = all.of(fd, Use::Client);
    if (from != nullptr) {
      const ssize_t got = call();
      if (got <= 0) return got;
      std::string data;
      for (int i = 0; i < count; ++i) {
        data.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
      }
      data.resize(static_cast<size_t>(got));
      all.record({.kind = EventKind::Received, .handle = from->handle}, {}, data);
      return got;
    }
  }
  return call();
}

int sync_file(int fd, long number) {
  Recorder& all = recorder();
  EventHead head = {.kind = EventKind::SyncBegin};
  bool is_known = false;
  {
    const std::lock_guard lock(all.mutex);
    if (const Descriptor* const file = all.of(fd, Use::File)) {
      is_known = true;
      head.handle = file->handle;
      head.offset = ++all.last_sync;
      all.record(head);
    }
  }
  const auto result = static_cast<int>(::syscall(number, fd));
  if (result == 0 && is_known) {
    const std::lock_guard lock(all.mutex);
    head.kind = EventKind::SyncEnd;
    all.record(head);
  }
  return result;
}

int rename_file(int from_at, const char* from, int to_at, const char* to, EventKind kind,
                long number, int flags) {
  Recorder& all = recorder();
  const std::lock_guard lock(all.mutex);
  std::string old_path;
  std::string new_path;
  const bool old_is = is_recorded(from_at, from, old_path);
  const bool new_is = is_recorded(to_at, to, new_path);
  const auto result = static_cast<int>(::syscall(number, from_at, from, to_at, to, flags));
  if (result != 0) return result;
  if (old_is != new_is) give_up("a file moves into the recorded directory, or out of it");
  if (old_is) all.record({.kind = kind}, old_path, new_path);
  return result;
}

int change_name(int at, const char* name, EventKind kind, long number, unsigned argument) {
  Recorder& all = recorder();
  const std::lock_guard lock(all.mutex);
  std::string path;
  const bool is = is_recorded(at, name, path);
  const auto result = static_cast<int>(::syscall(number, at, name, argument));
  if (result == 0 && is && !path.empty()) all.record({.kind = kind}, path);
  return result;
}

int change_size(int fd, EventKind kind, uint64_t length, long result) {
  Recorder& all = recorder();
  if (const Descriptor* const file = all.of(fd, Use::File); result == 0 && file != nullptr) {
    all.record({.kind = kind, .handle = file->handle, .length = length});
  }
  return static_cast<int>(result);
}

unsigned mode_of(int flags, va_list& rest) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, unsigned) : 0;
}

}  // namespace

// The names with 64 are those of programs that were compiled with large offsets.
extern "C" {

int open(const char* name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = mode_of(flags, rest);
  va_end(rest);
  return open_file(AT_FDCWD, name, flags, mode);
}
int open64(const char* name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = mode_of(flags, rest);
  va_end(rest);
  return open_file(AT_FDCWD, name, flags, mode);
}
int openat(int at, const char* name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = mode_of(flags, rest);
  va_end(rest);
  return open_file(at, name, flags, mode);
}
int openat64(int at, const char* name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = mode_of(flags, rest);
  va_end(rest);
  return open_file(at, name, flags, mode);
}
int __open_2(const char* name, int flags) {
  return open_file(AT_FDCWD, name, flags, 0);
}
int __open64_2(const char* name, int flags) {
  return open_file(AT_FDCWD, name, flags, 0);
}
int creat(const char* name, mode_t mode) {
  return open_file(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int close(int fd) {
  Recorder& all = recorder();
  const std::lock_guard lock(all.mutex);
  if (Descriptor* const closed = all.of(fd)) {
    if (closed->use == Use::File) all.record({.kind = EventKind::Close, .handle = closed->handle});
    *closed = {};
  }
  return static_cast<int>(::syscall(SYS_close, fd));
}

int accept4(int listener, sockaddr* address, socklen_t* bytes, int flags) {
  Recorder& all = recorder();
  const std::lock_guard lock(all.mutex);
  const auto fd = static_cast<int>(::syscall(SYS_accept4, listener, address, bytes, flags));
  if (Descriptor* const client = all.of(fd)) {
    *client = {.use = Use::Client, .handle = ++all.last_handle};
    all.record({.kind = EventKind::Accept, .handle = client->handle});
  }
  return fd;
}

ssize_t write(int fd, const void* bytes, size_t count) {
  const iovec part = {const_cast<void*>(bytes), count};
  return write_to(fd, &part, 1, -1, [&] { return ::syscall(SYS_write, fd, bytes, count); });
}
ssize_t writev(int fd, const iovec* parts, int count) {
  return write_to(fd, parts, count, -1, [&] { return ::syscall(SYS_writev, fd, parts, count); });
}
ssize_t pwrite(int fd, const void* bytes, size_t count, off_t offset) {
  const iovec part = {const_cast<void*>(bytes), count};
  return write_to(fd, &part, 1, offset,
                  [&] { return ::syscall(SYS_pwrite64, fd, bytes, count, offset); });
}
ssize_t pwrite64(int fd, const void* bytes, size_t count, off64_t offset) {
  return pwrite(fd, bytes, count, offset);
}
ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  return write_to(fd, parts, count, offset,
                  [&] { return ::syscall(SYS_pwritev, fd, parts, count, offset, 0); });
}
ssize_t pwritev64(int fd, const iovec* parts, int count, off64_t offset) {
  return pwritev(fd, parts, count, offset);
}
ssize_t send(int fd, const void* bytes, size_t count, int flags) {
  const iovec part = {const_cast<void*>(bytes), count};
  return write_to(fd, &part, 1, -1,
                  [&] { return ::syscall(SYS_sendto, fd, bytes, count, flags, nullptr, 0); });
}
ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  return write_to(fd, message->msg_iov, static_cast<int>(message->msg_iovlen), -1,
                  [&] { return ::syscall(SYS_sendmsg, fd, message, flags); });
}

ssize_t read(int fd, void* bytes, size_t count) {
  const iovec part = {bytes, count};
  return read_from(fd, &part, 1, [&] { return ::syscall(SYS_read, fd, bytes, count); });
}
ssize_t readv(int fd, const iovec* parts, int count) {
  return read_from(fd, parts, count, [&] { return ::syscall(SYS_readv, fd, parts, count); });
}
ssize_t recv(int fd, void* bytes, size_t count, int flags) {
  const iovec part = {bytes, count};
  return read_from(fd, &part, 1, [&] {
    return ::syscall(SYS_recvfrom, fd, bytes, count, flags, nullptr, nullptr);
  });
}
ssize_t recvmsg(int fd, msghdr* message, int flags) {
  return read_from(fd, message->msg_iov, static_cast<int>(message->msg_iovlen),
                   [&] { return ::syscall(SYS_recvmsg, fd, message, flags); });
}

int fsync(int fd) {
  return sync_file(fd, SYS_fsync);
}
int fdatasync(int fd) {
  return sync_file(fd, SYS_fdatasync);
}

int ftruncate(int fd, off_t length) {
  const std::lock_guard lock(recorder().mutex);
  return change_size(fd, EventKind::Resize, static_cast<uint64_t>(length),
                     ::syscall(SYS_ftruncate, fd, length));
}
int ftruncate64(int fd, off64_t length) {
  return ftruncate(fd, length);
}
int fallocate(int fd, int mode, off_t offset, off_t length) {
  const std::lock_guard lock(recorder().mutex);
  const long result = ::syscall(SYS_fallocate, fd, mode, offset, length);
  if ((mode & ~FALLOC_FL_KEEP_SIZE) != 0) give_up("fallocate() with a mode that is not recorded");
  if (mode == FALLOC_FL_KEEP_SIZE) return static_cast<int>(result);
  return change_size(fd, EventKind::Allocate, static_cast<uint64_t>(offset + length), result);
}
int fallocate64(int fd, int mode, off64_t offset, off64_t length) {
  return fallocate(fd, mode, offset, length);
}
int posix_fallocate(int fd, off_t offset, off_t length) {
  return fallocate(fd, 0, offset, length) == 0 ? 0 : errno;
}
int posix_fallocate64(int fd, off64_t offset, off64_t length) {
  return posix_fallocate(fd, offset, length);
}

int rename(const char* from, const char* to) {
  return rename_file(AT_FDCWD, from, AT_FDCWD, to, EventKind::Rename, SYS_renameat2, 0);
}
int renameat(int from_at, const char* from, int to_at, const char* to) {
  return rename_file(from_at, from, to_at, to, EventKind::Rename, SYS_renameat2, 0);
}
int link(const char* from, const char* to) {
  return rename_file(AT_FDCWD, from, AT_FDCWD, to, EventKind::Link, SYS_linkat, 0);
}
int linkat(int from_at, const char* from, int to_at, const char* to, int flags) {
  return rename_file(from_at, from, to_at, to, EventKind::Link, SYS_linkat, flags);
}
int unlink(const char* name) {
  return change_name(AT_FDCWD, name, EventKind::Remove, SYS_unlinkat, 0);
}
int unlinkat(int at, const char* name, int flags) {
  return change_name(at, name, EventKind::Remove, SYS_unlinkat, static_cast<unsigned>(flags));
}
int rmdir(const char* name) {
  return change_name(AT_FDCWD, name, EventKind::Remove, SYS_unlinkat, AT_REMOVEDIR);
}
int remove(const char* name) {
  const int result = unlink(name);
  return result != 0 && errno == EISDIR ? rmdir(name) : result;
}
int mkdir(const char* name, mode_t mode) {
  return change_name(AT_FDCWD, name, EventKind::MakeDir, SYS_mkdirat, mode);
}
int mkdirat(int at, const char* name, mode_t mode) {
  return change_name(at, name, EventKind::MakeDir, SYS_mkdirat, mode);
}

void* mmap(void* at, size_t bytes, int protection, int flags, int fd, off_t offset) {
  const bool writes = (flags & MAP_SHARED) != 0 && (protection & PROT_WRITE) != 0;
  if (writes && fd >= 0 && recorder().of(fd, Use::File) != nullptr) {
    give_up("a file of the recorded directory is mapped for writing");
  }
  return reinterpret_cast<void*>(::syscall(SYS_mmap, at, bytes, protection, flags, fd, offset));
}
void* mmap64(void* at, size_t bytes, int protection, int flags, int fd, off64_t offset) {
  return mmap(at, bytes, protection, flags, fd, offset);
}

struct io_uring;
int io_uring_queue_init(unsigned /*entries*/, io_uring* /*ring*/, unsigned /*flags*/) {
  return -EPERM;
}
}
