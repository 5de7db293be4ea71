#include "cmd/perenniald/net/socket_file.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace perennial::perenniald {
namespace {

Status failed(std::string_view what, int error) {
  return {StatusCode::InvalidArgument, fmt::format("{}: {}", what, std::strerror(error))};
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// chown(2): this one stays as it is. Users and groups have the same.
constexpr uid_t keeps_id = std::numeric_limits<uid_t>::max();

bool parse_id(const std::string& text, uint32_t& out) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, out);
  return error == std::errc() && at == end && out != keeps_id;
}

bool find_owner(const std::string& text, uid_t& out) {
  if (parse_id(text, out)) return true;
  const passwd* const user = getpwnam(text.c_str());
  if (user != nullptr) out = user->pw_uid;
  return user != nullptr;
}

bool find_group(const std::string& text, gid_t& out) {
  if (parse_id(text, out)) return true;
  const ::group* const found = getgrnam(text.c_str());
  if (found != nullptr) out = found->gr_gid;
  return found != nullptr;
}

}  // namespace

SocketFile::SocketFile(const std::string& path) : path_(path) {}

SocketFile::SocketFile(SocketFile&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      lock_fd_(std::exchange(other.lock_fd_, -1)),
      bound_(std::exchange(other.bound_, false)),
      device_(other.device_),
      inode_(other.inode_) {}

// The lock file is removed last: until then no other server binds here.
SocketFile::~SocketFile() {
  if (lock_fd_ < 0) return;
  if (place() == Place::Ours) unlink(path_.c_str());
  unlink(lock_path().c_str());
  close(lock_fd_);
}

Result<SocketFile> SocketFile::claim(const std::string& path) {
  SocketFile file(path);
  if (Status status = file.lock(); !status.ok()) return status;
  if (Status status = file.clear(); !status.ok()) return status;
  return file;
}

// A server that ends removes its lock file, perhaps after this function has opened it. A lock on
// that file would exclude nobody, so the function checks that the path still leads to it, and tries
// again otherwise.
Status SocketFile::lock() {
  const std::string path = lock_path();
  for (;;) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0) return failed(path, errno);
    struct stat opened {};
    const bool is_lock = fstat(fd, &opened) == 0 && S_ISREG(opened.st_mode) && opened.st_size == 0;
    const int error = !is_lock ? EEXIST : flock(fd, LOCK_EX | LOCK_NB) != 0 ? errno : 0;
    struct stat there {};
    const bool is_there = lstat(path.c_str(), &there) == 0 && is_same(opened, there);
    if (error == 0 && is_there) {
      lock_fd_ = fd;
      return {};
    }
    close(fd);
    if (!is_lock) return failed(path + " is no lock file", error);
    if (error == EWOULDBLOCK) return failed("another server has locked " + path, EADDRINUSE);
    if (error != 0) return failed(path, error);
  }
}

// Removes a socket file that no server answers at: a killed server has left it. Any other file
// stays.
Status SocketFile::clear() const {
  struct stat info {};
  if (lstat(path_.c_str(), &info) != 0) return errno == ENOENT ? Status() : failed("stat", errno);
  if (!S_ISSOCK(info.st_mode)) return failed("a file that is no socket is there", EEXIST);
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return failed("socket", errno);
  const sockaddr_un where = address();
  const int connected = connect(probe, reinterpret_cast<const sockaddr*>(&where), sizeof where);
  const bool alive = connected == 0 || errno == EAGAIN;
  close(probe);
  if (alive) return failed("another server answers there", EADDRINUSE);
  return unlink(path_.c_str()) == 0 ? Status() : failed("unlink", errno);
}

Status SocketFile::bind(int fd, const SocketAccess& access) {
  const sockaddr_un where = address();
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) {
    return failed("bind", errno);
  }
  struct stat info {};
  if (lstat(path_.c_str(), &info) != 0) return failed("stat", errno);
  bound_ = true;
  device_ = info.st_dev;
  inode_ = info.st_ino;
  return give(access);
}

Status SocketFile::give(const SocketAccess& access) const {
  uid_t owner = keeps_id;
  gid_t group = keeps_id;
  if (!access.owner.empty() && !find_owner(access.owner, owner)) {
    return {StatusCode::InvalidArgument, "there is no user " + access.owner};
  }
  if (!access.group.empty() && !find_group(access.group, group)) {
    return {StatusCode::InvalidArgument, "there is no group " + access.group};
  }
  const bool is_given = owner == keeps_id && group == keeps_id;
  if (!is_given && lchown(path_.c_str(), owner, group) != 0) {
    return failed("give the socket file to its owner and group", errno);
  }
  if (access.mode && chmod(path_.c_str(), *access.mode) != 0) {
    return failed("set the mode of the socket file", errno);
  }
  return {};
}

Status SocketFile::check_in_place() const {
  if (place() != Place::Lost) return {};
  return {StatusCode::InvalidArgument, "its socket file is gone: somebody removed or replaced it"};
}

// The bound socket keeps its inode, so no other file has the same number.
SocketFile::Place SocketFile::place() const {
  struct stat info {};
  if (lstat(path_.c_str(), &info) != 0) return errno == ENOENT ? Place::Lost : Place::Unknown;
  const bool ours = bound_ && info.st_dev == device_ && info.st_ino == inode_;
  return ours ? Place::Ours : Place::Lost;
}

sockaddr_un SocketFile::address() const {
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  path_.copy(where.sun_path, sizeof where.sun_path - 1);
  return where;
}

}  // namespace perennial::perenniald
