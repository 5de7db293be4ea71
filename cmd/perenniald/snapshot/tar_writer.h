#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/status.h"

struct archive;

namespace perennial::perenniald {

// Files as the bytes of a tar, in pieces.
class TarWriter {
 public:
  // Takes the next bytes. Returns false if no more are wanted, which ends the writing.
  using Take = std::function<bool(std::string piece)>;

  explicit TarWriter(Take take);
  ~TarWriter();
  TarWriter(const TarWriter&) = delete;
  TarWriter& operator=(const TarWriter&) = delete;

  // Adds a small file with this content.
  Status add(const std::string& name, std::string_view content);
  // Adds the file at `path`, which has so many bytes and keeps its size meanwhile. Returns the hash
  // of what it has read: store/disk/hash.h.
  Result<std::string> add_file(const std::string& path, const std::string& name, uint64_t bytes);
  Status finish();

 private:
  struct Free {
    void operator()(archive* tar) const;
  };

  Status begin(const std::string& name, uint64_t bytes);
  Status write(const std::string& name, std::string_view bytes);
  Status failure(const std::string& name) const;

  const Take take_;
  std::vector<char> buffer_;
  std::unique_ptr<archive, Free> tar_;
};

}  // namespace perennial::perenniald
