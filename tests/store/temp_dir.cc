#include "tests/store/temp_dir.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "engine/types/check.h"

namespace perennial::store {

TempDir::TempDir() : path_("/dev/shm/perennial-store-XXXXXX") {
  CHECK(::mkdtemp(path_.data()) != nullptr);
}

TempDir::~TempDir() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  CHECK(file.good());
}

}  // namespace perennial::store
