#include "tests/simulation/log_loss.h"

#include <filesystem>
#include <memory>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "engine/types/check.h"
#include "store/disk/durable_mark.h"
#include "store/reader.h"
#include "store/rocks/log_files.h"
#include "tests/store/child.h"
#include "tests/store/dir_state.h"
#include "tests/store/log_ends.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"

namespace perennial::simulation {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> log_paths(const std::string& data_dir) {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(data_dir + "/db")) {
    if (store::log_index_of(entry.path().filename().native()) != 0) paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

void damage(const std::string& path, std::mt19937_64& random) {
  std::string content = store::content_of(path);
  const size_t bytes = content.size();
  const std::vector<uint64_t> ends = store::record_ends(path);
  const uint64_t kept = random() % 4 == 0 || ends.empty() ? 0 : ends[random() % ends.size()];
  content.resize(kept);
  if (random() % 2 == 0) content.resize(bytes, '\0');
  store::write_file(path, content);
}

struct Found {
  Status status;
  BatchIndex index = 0;
  store::Image image = {};
};

Found look(const std::string& data_dir) {
  const auto reader = store::Reader::open({.path = data_dir});
  if (!reader.ok()) return {.status = reader.status()};
  Result<store::Image> image = store::read_image(**reader);
  if (!image.ok()) return {.status = image.status()};
  return {.status = {}, .index = (*reader)->commit().index, .image = image.take()};
}

// The directory itself may be refused, because an injected fault may have damaged it.
std::string compare(const std::string& data_dir, const std::string& copy, bool& is_refused) {
  const Found whole = look(data_dir);
  if (!whole.status.ok()) return "";
  const auto mark = store::read_durable_mark(nullptr, data_dir);
  if (!mark.ok()) return mark.status().message();
  const Found left = look(copy);
  is_refused = !left.status.ok();
  if (is_refused) {
    const bool is_corruption = left.status.code() == StatusCode::Corruption;
    return is_corruption ? "" : "refused with: " + left.status.message();
  }
  if (*mark && left.index < (*mark)->index) {
    return fmt::format("commit {} is the last of {}, {} is synced, and nothing was said",
                       left.index, whole.index, (*mark)->index);
  }
  if (left.index == whole.index && left.image != whole.image) return "the rows are others";
  return "";
}

}  // namespace

std::string lose_log(const LogLoss& loss, bool& is_refused) {
  std::mt19937_64 random(loss.seed);
  if (!fs::exists(loss.data_dir + "/db")) return "";
  fs::remove_all(loss.copy);
  fs::copy(loss.data_dir, loss.copy, fs::copy_options::recursive);
  const std::vector<std::string> logs = log_paths(loss.copy);
  std::string problem;
  if (!logs.empty()) {
    const std::string& log = logs[random() % logs.size()];
    damage(log, random);
    const store::ChildEnd child = store::run_child([&](const store::Pipe& pipe) {
      bool refused = false;
      const std::string wrong = compare(loss.data_dir, loss.copy, refused);
      pipe.send(refused);
      pipe.send_bytes(wrong.data(), wrong.size());
    });
    // RocksDB aborts on an error in some places of DB::Open. Such an abort counts as a refusal.
    is_refused = child.sent.empty() || child.sent[0] != 0;
    if (child.sent.size() > 1) problem = fmt::format("{}: {}", log, child.sent.substr(1));
  }
  fs::remove_all(loss.copy);
  return problem;
}

}  // namespace perennial::simulation
