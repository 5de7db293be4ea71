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

void flip_byte(const std::string& path, uint64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const auto byte = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(byte);
  CHECK(file.good());
}

uint64_t log_end(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return content.find_last_not_of('\0') + 1;
}

}  // namespace perennial::store
