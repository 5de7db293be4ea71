#include "tests/fuzz/memory_files.h"

#include <algorithm>
#include <memory>
#include <string_view>

namespace perennial::fuzz {
namespace {

using rocksdb::IOStatus;

class MemoryFile : public rocksdb::FSSequentialFile {
 public:
  explicit MemoryFile(std::string_view rest) : rest_(rest) {}

  IOStatus Read(size_t bytes, const rocksdb::IOOptions&, rocksdb::Slice* got, char* scratch,
                rocksdb::IODebugContext*) override {
    const std::string_view taken = rest_.substr(0, bytes);
    std::copy(taken.begin(), taken.end(), scratch);
    *got = rocksdb::Slice(scratch, taken.size());
    rest_.remove_prefix(taken.size());
    return IOStatus::OK();
  }
  IOStatus Skip(uint64_t bytes) override {
    rest_.remove_prefix(std::min<uint64_t>(bytes, rest_.size()));
    return IOStatus::OK();
  }

 private:
  std::string_view rest_;  // Refers to the file system's bytes, which outlive its files.
};

}  // namespace

const std::string* MemoryFiles::find(const std::string& path) const {
  if (!path.starts_with(dir_ + "/")) return nullptr;
  const auto found = content_.find(path.substr(dir_.size() + 1));
  return found == content_.end() ? nullptr : &found->second;
}

IOStatus MemoryFiles::NewSequentialFile(const std::string& path, const rocksdb::FileOptions&,
                                        std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                        rocksdb::IODebugContext*) {
  const std::string* const bytes = find(path);
  if (bytes == nullptr) return IOStatus::PathNotFound(path);
  *file = std::make_unique<MemoryFile>(*bytes);
  return IOStatus::OK();
}

IOStatus MemoryFiles::GetChildren(const std::string& dir, const rocksdb::IOOptions&,
                                  std::vector<std::string>* names, rocksdb::IODebugContext*) {
  if (dir != dir_) return IOStatus::PathNotFound(dir);
  names->clear();
  for (const auto& [name, bytes] : content_) names->push_back(name);
  return IOStatus::OK();
}

IOStatus MemoryFiles::GetFileSize(const std::string& path, const rocksdb::IOOptions&,
                                  uint64_t* bytes, rocksdb::IODebugContext*) {
  const std::string* const found = find(path);
  if (found == nullptr) return IOStatus::PathNotFound(path);
  *bytes = found->size();
  return IOStatus::OK();
}

}  // namespace perennial::fuzz
