#pragma once

#include <functional>
#include <memory>
#include <string>
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

  // Adds the file at `path`. It keeps its size meanwhile.
  Status add(const std::string& path, const std::string& name);
  Status finish();

 private:
  struct Free {
    void operator()(archive* tar) const;
  };

  Status failure(const std::string& name) const;

  const Take take_;
  std::vector<char> buffer_;
  std::unique_ptr<archive, Free> tar_;
};

}  // namespace perennial::perenniald
