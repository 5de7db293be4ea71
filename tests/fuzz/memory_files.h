#pragma once

#include <map>
#include <string>
#include <vector>

#include <rocksdb/file_system.h>

namespace perennial::fuzz {

// One read-only directory in memory. Other files do not exist.
class MemoryFiles : public rocksdb::FileSystemWrapper {
 public:
  using Content = std::map<std::string, std::string>;  // By name.

  MemoryFiles(std::string dir, Content content)
      : FileSystemWrapper(rocksdb::FileSystem::Default()),
        dir_(std::move(dir)),
        content_(std::move(content)) {}

  const char* Name() const override { return "MemoryFiles"; }
  rocksdb::IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                      rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus GetChildren(const std::string& dir, const rocksdb::IOOptions& options,
                                std::vector<std::string>* names,
                                rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus GetFileSize(const std::string& path, const rocksdb::IOOptions& options,
                                uint64_t* bytes, rocksdb::IODebugContext* context) override;

 private:
  // Null if the file does not exist.
  const std::string* find(const std::string& path) const;

  const std::string dir_;
  const Content content_;
};

}  // namespace perennial::fuzz
