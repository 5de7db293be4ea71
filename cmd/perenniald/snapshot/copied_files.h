#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "engine/types/status.h"
#include "store/disk/hash.h"

namespace perennial::perenniald {

// New files that are written one after the other, hashed meanwhile, and made durable together.
//
// The disk begins to write each of them while more comes. A sync of each file at its end would let
// the disk wait for the sender, and then the sender for the disk. A file stays open until it is
// synced, because the kernel reports only then to this process that a part could not be written.
class CopiedFiles {
 public:
  // The most files that are open. Before one more begins the oldest is synced.
  static constexpr size_t open_max = 64;

  // Begins a file that does not exist. What is written next belongs to it. Like the functions
  // below: Io, or NoSpace: the disk is full.
  Status begin(const std::string& path);
  // REQUIRES: a file has begun.
  Status write(std::string_view bytes);
  // Ends the file, and returns the hash of what was written: store/disk/hash.h.
  std::string finish();
  // Makes all files durable, but not their names. Io also if `cancelled` returned true.
  Status sync(const std::function<bool()>& cancelled);

 private:
  // An open file that is written from its beginning to its end.
  class File {
   public:
    explicit File(const std::string& path);
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    Status opened() const;
    Status write(std::string_view bytes);
    std::string finish();
    Status sync();

   private:
    void begin_writeback(uint64_t bytes_min);

    const std::string path_;
    const int fd_;
    const int open_error_;
    store::Hasher hasher_;
    uint64_t bytes_ = 0;
    uint64_t bytes_at_disk_ = 0;  // How many have been handed to the disk.
  };

  std::deque<File> files_;  // Those that are not yet synced, the oldest first.
};

}  // namespace perennial::perenniald
