#include "tests/store/temp_dir.h"

#include <fstream>
#include <iterator>

#include "engine/types/check.h"

namespace perennial::store {

void write_file(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  CHECK(file.good());
}

uint64_t log_end(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return content.find_last_not_of('\0') + 1;
}

}  // namespace perennial::store
