#include "tests/store/temp_dir.h"

#include <fstream>

#include "engine/types/check.h"

namespace perennial::store {

void write_file(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  CHECK(file.good());
}

}  // namespace perennial::store
