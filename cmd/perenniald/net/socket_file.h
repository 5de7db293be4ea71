#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>
#include <sys/un.h>

#include "engine/types/status.h"

namespace perennial::perenniald {

// The file of a unix socket. A socket that is bound and does not listen yet looks to others like
// one that a killed server left, so a lock is held on a file beside it, PATH.lock, from before the
// socket is bound until this object goes. Both files go with it; the socket file not if somebody
// has put another in its place.
class SocketFile {
 public:
  // Takes the lock, and removes a socket file that nobody answers at. InvalidArgument: another
  // server has the lock or answers, or what is there is no socket, or no lock file.
  static Result<SocketFile> claim(const std::string& path);
  SocketFile(SocketFile&& other) noexcept;
  SocketFile& operator=(SocketFile&&) = delete;
  ~SocketFile();

  // Gives the file to this socket.
  Status bind(int fd);
  // InvalidArgument: the path does not lead to the bound socket any more, so nobody can reach it.
  Status check_in_place() const;

 private:
  // Of the bound file. Unknown: to whoever became another user since, the folder may be closed.
  enum class Place : uint8_t { Ours, Lost, Unknown };

  explicit SocketFile(const std::string& path);
  std::string lock_path() const { return path_ + ".lock"; }
  Status lock();
  Status clear() const;
  sockaddr_un address() const;
  Place place() const;

  std::string path_;  // Empty: moved from.
  int lock_fd_ = -1;
  bool bound_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace perennial::perenniald
