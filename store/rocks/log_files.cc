#include "store/rocks/log_files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace perennial::store {
namespace {

namespace fs = std::filesystem;

}  // namespace

uint64_t log_index_of(std::string_view name) {
  constexpr std::string_view suffix = ".log";
  if (!name.ends_with(suffix)) return 0;
  name.remove_suffix(suffix.size());
  uint64_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  return error == std::errc() && end == name.data() + name.size() ? index : 0;
}

LogFiles list_log_files(const std::string& db_path) {
  LogFiles found;
  std::error_code error;
  for (fs::directory_iterator entry(db_path, error), end; !error && entry != end;
       entry.increment(error)) {
    const uint64_t index = log_index_of(entry->path().filename().native());
    if (index == 0) continue;
    std::error_code gone;  // RocksDB may delete a log file while the directory is listed.
    const uint64_t bytes = fs::file_size(entry->path(), gone);
    if (gone) continue;
    found.oldest_index = found.oldest_index == 0 ? index : std::min(found.oldest_index, index);
    found.newest_index = std::max(found.newest_index, index);
    found.bytes += bytes;
  }
  return found;
}

}  // namespace perennial::store
