#include "cmd/perennial/stats/disk_use.h"

#include <array>
#include <cerrno>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "cmd/perennial/output/readable.h"
#include "cmd/perennial/output/table.h"

namespace perennial::tool {
namespace {

namespace fs = std::filesystem;

struct KindRow {
  const char* kind;
  const char* what;
};
// In the order in which a file that has several names is counted: store/README.md says what each
// folder is.
constexpr std::array disk_kinds = {
    KindRow{"tables", "jobs, bodies and keys (tables)"},
    KindRow{"log", "log"},
    KindRow{"other", "other files of the database"},
    KindRow{"ballast", "ballast, given up when the disk is full"},
    KindRow{"copies", "copies between nodes of a cluster"},
    KindRow{"damaged", "damaged and replaced files: nobody reads them"},
    KindRow{"set_aside", "set aside by a forced start"},
    KindRow{"checkpoints", "checkpoints"},
};

std::string_view kind_of(const fs::path& file) {
  const std::string top = file.begin()->string();
  if (top == "ballast") return "ballast";
  if (top == "checkpoints") return "checkpoints";
  if (top == "set-aside") return "set_aside";
  if (top.starts_with("damaged")) return "damaged";
  if (top == "incoming" || top == "replacement" || top == "peer") return "copies";
  if (!top.starts_with("db")) return "other";
  if (file.extension() == ".sst") return "tables";
  return file.extension() == ".log" ? "log" : "other";
}

Status cannot_read(const fs::path& path, const std::error_code& error) {
  return {StatusCode::Io, fmt::format("read {}: {}", path.string(), error.message())};
}

using Files = std::vector<std::pair<std::string_view, struct stat>>;

// Every regular file, with its kind.
Status list_files(const fs::path& root, Files& files) {
  std::error_code error;
  fs::recursive_directory_iterator at(root, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    struct stat found {};
    if (::lstat(at->path().c_str(), &found) != 0) {
      if (errno == ENOENT) continue;
      return cannot_read(at->path(), {errno, std::generic_category()});
    }
    if (S_ISREG(found.st_mode))
      files.emplace_back(kind_of(at->path().lexically_relative(root)), found);
  }
  // A checkpoint or a table that the server has removed meanwhile.
  if (error && error != std::errc::no_such_file_or_directory) return cannot_read(root, error);
  return {};
}

}  // namespace

uint64_t DiskUse::total() const {
  uint64_t total = 0;
  for (const Row& row : rows) total += row.bytes;
  return total;
}

Result<DiskUse> read_disk_use(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error))
    return Status(StatusCode::NotFound, fmt::format("there is no directory {}", path));
  if (!fs::exists(fs::path(path) / "db", error)) {
    return Status(StatusCode::Corruption,
                  fmt::format("{} is no data directory: it has no folder db", path));
  }
  Files files;
  if (Status listed = list_files(path, files); !listed.ok()) return listed;
  DiskUse use = {.path = path};
  std::set<std::pair<dev_t, ino_t>> counted;
  for (const KindRow& kind : disk_kinds) {
    DiskUse::Row row = {.kind = kind.kind, .what = kind.what};
    for (const auto& [of, file] : files) {
      if (of != kind.kind) continue;
      const uint64_t bytes = static_cast<uint64_t>(file.st_blocks) * 512;
      ++row.files;
      (counted.emplace(file.st_dev, file.st_ino).second ? row.bytes : row.shared) += bytes;
    }
    if (row.files > 0) use.rows.push_back(std::move(row));
  }
  struct statvfs disk {};
  if (::statvfs(path.c_str(), &disk) != 0)
    return cannot_read(path, {errno, std::generic_category()});
  use.free_bytes = uint64_t{disk.f_bavail} * disk.f_frsize;
  use.disk_bytes = uint64_t{disk.f_blocks} * disk.f_frsize;
  return use;
}

std::string disk_table(const DiskUse& use) {
  std::vector<TableLine> lines = {{"what", "files", "bytes", "shared"}};
  for (const DiskUse::Row& row : use.rows) {
    lines.push_back({row.what, with_commas(row.files), with_commas(row.bytes),
                     row.shared == 0 ? "-" : with_commas(row.shared)});
  }
  lines.push_back({"all", "", with_commas(use.total()), ""});
  lines.push_back({"free on this disk", "", with_commas(use.free_bytes), ""});
  lines.push_back({"size of this disk", "", with_commas(use.disk_bytes), ""});
  return text_table(lines, {});
}

std::string disk_json(const DiskUse& use) {
  nlohmann::ordered_json kinds = nlohmann::ordered_json::object();
  for (const DiskUse::Row& row : use.rows) {
    kinds[row.kind] = {{"files", row.files}, {"bytes", row.bytes}, {"shared_bytes", row.shared}};
  }
  const nlohmann::ordered_json out = {{"data_dir", use.path},
                                      {"kinds", kinds},
                                      {"bytes", use.total()},
                                      {"disk_free_bytes", use.free_bytes},
                                      {"disk_bytes", use.disk_bytes}};
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace perennial::tool
