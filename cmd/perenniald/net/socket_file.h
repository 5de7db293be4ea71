#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>
#include <sys/un.h>

#include "engine/types/status.h"

namespace perennial::perenniald {

// Who may connect to a unix socket: whoever may write to its file.
struct SocketAccess {
  std::optional<uint32_t> mode = {};  // None: by the mask of the process.
  std::string owner = {};             // A name or a number. Empty: the user of the process.
  std::string group = {};             // The same of groups.
};

// The file of a unix socket. A socket that is bound and does not listen yet cannot be told from one
// that a killed server left. So a lock is held on a file beside it, PATH.lock, from before the bind
// until this object is destroyed. Both files are removed then; the socket file stays if another
// program has replaced it.
class SocketFile {
 public:
  // Takes the lock, and removes a socket file that no server answers at. InvalidArgument: another
  // server holds the lock or answers, or the path holds no socket, or PATH.lock is no lock file.
  static Result<SocketFile> claim(const std::string& path);
  SocketFile(SocketFile&& other) noexcept;
  SocketFile& operator=(SocketFile&&) = delete;
  ~SocketFile();

  // Binds the socket to the file. InvalidArgument: also if there is no such owner or group, or the
  // process may not give the file to them. Nobody can connect before the socket listens.
  Status bind(int fd, const SocketAccess& access = {});
  // InvalidArgument: the path does not lead to the bound socket any more, so no client can reach
  // it.
  Status check_in_place() const;

 private:
  // Whether the path leads to the bound file. Unknown: the folder cannot be searched, which may
  // happen after a change of the user.
  enum class Place : uint8_t { Ours, Lost, Unknown };

  explicit SocketFile(const std::string& path);
  std::string lock_path() const { return path_ + ".lock"; }
  Status lock();
  Status clear() const;
  Status give(const SocketAccess& access) const;
  sockaddr_un address() const;
  Place place() const;

  std::string path_;  // Empty: moved from.
  int lock_fd_ = -1;
  bool bound_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace perennial::perenniald
