#include "cmd/perenniald/server/history_file.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <system_error>
#include <utility>

#include "cmd/perenniald/process/log.h"
#include "engine/types/check.h"
#include "engine/types/later.h"

namespace perennial::perenniald {
namespace {

namespace fs = std::filesystem;

// Ten times what there is to save. A larger file is none of ours, and would hold the loop.
constexpr uintmax_t bytes_max = 4 << 20;

}  // namespace

struct HistoryFile::Work {
  HistoryFile* owner;
  http::SavedHistory history;
  uv_work_t request{};
  Status saved = {};
};

HistoryFile::HistoryFile(uv_loop_t& loop, const std::string& data_dir)
    : loop_(loop), path_(data_dir + "/db/history.json") {}

HistoryFile::~HistoryFile() {
  CHECK(!is_writing_);
}

std::optional<http::SavedHistory> HistoryFile::read() const {
  std::error_code failed;
  const uintmax_t bytes = fs::file_size(path_, failed);
  if (failed == std::errc::no_such_file_or_directory) return std::nullopt;
  std::optional<http::SavedHistory> history;
  if (!failed && bytes <= bytes_max) {
    std::ostringstream text;
    text << std::ifstream(path_, std::ios::binary).rdbuf();
    history = http::parse_history(text.str());
  }
  if (!history) log(Level::Warning, "history.unreadable", {{"path", path_}});
  return history;
}

bool HistoryFile::is_due(Nanos now) {
  if (saved_at_ == 0) saved_at_ = now;
  if (now < later(saved_at_, interval)) return false;
  saved_at_ = now;
  return true;
}

void HistoryFile::save(http::SavedHistory history) {
  if (is_writing_) return;
  is_writing_ = true;
  auto* const work = new Work{.owner = this, .history = std::move(history)};
  work->request.data = work;
  const auto on_pool = [](uv_work_t* request) {
    auto& self = *static_cast<Work*>(request->data);
    self.saved = self.owner->write(self.history);
  };
  const auto on_loop = [](uv_work_t* request, int /*status*/) {
    const std::unique_ptr<Work> self(static_cast<Work*>(request->data));
    self->owner->on_saved(*self);
  };
  CHECK(uv_queue_work(&loop_, &work->request, on_pool, on_loop) == 0);
}

void HistoryFile::save_now(const http::SavedHistory& history) {
  if (is_writing_) return;  // What is being written is seconds old.
  if (const Status saved = write(history); !saved.ok()) {
    log(Level::Warning, "history.save", {{"error", saved.message()}});
  }
}

Status HistoryFile::write(const http::SavedHistory& history) const {
  const std::string unfinished = path_ + ".new";
  std::error_code failed;
  std::ofstream out(unfinished, std::ios::binary | std::ios::trunc);
  out << http::text_of(history);
  out.close();
  if (out) fs::rename(unfinished, path_, failed);
  if (out && !failed) return {};
  const std::string why = failed ? failed.message() : "it cannot be written whole";
  fs::remove(unfinished, failed);
  return {StatusCode::Io, path_ + ": " + why};
}

void HistoryFile::on_saved(const Work& work) {
  is_writing_ = false;
  if (!work.saved.ok()) {
    log(Level::Warning, "history.save", {{"error", work.saved.message()}});
  }
}

}  // namespace perennial::perenniald
