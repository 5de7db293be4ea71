#include "store/disk/identity.h"

#include <algorithm>

#include "store/disk/file_tree.h"

namespace perennial::store {

bool is_identity(std::string_view text) {
  constexpr size_t bytes_min = 8;
  constexpr size_t bytes_max = 64;
  const auto is_known = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  };
  return text.size() >= bytes_min && text.size() <= bytes_max &&
         std::ranges::all_of(text, is_known);
}

std::string identity_or_none(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return is_identity(text) ? text : std::string();
}

Result<std::string> read_identity(const std::string& data_dir, rocksdb::Env* env) {
  const FileTree tree(env);
  const std::string path = data_dir + "/db/" + std::string(identity_file);
  const Result<bool> is_there = tree.exists(path);
  if (!is_there.ok()) return is_there.status();
  if (!*is_there) return std::string();
  Result<std::string> text = tree.read(path);
  if (!text.ok()) return text;
  return identity_or_none(text.take());
}

}  // namespace perennial::store
