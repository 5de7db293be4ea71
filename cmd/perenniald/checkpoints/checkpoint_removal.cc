#include "cmd/perenniald/checkpoints/checkpoint_removal.h"

#include <memory>
#include <utility>

#include "cmd/perenniald/process/log.h"
#include "engine/types/check.h"
#include "store/checkpoint/checkpoint.h"

namespace perennial::perenniald {
namespace {

struct Removal {
  uv_work_t request = {};
  std::vector<std::string> paths;
  std::vector<Status> failed = {};
};

void remove_all(uv_work_t* request) {
  auto& removal = *static_cast<Removal*>(request->data);
  for (const std::string& path : removal.paths) {
    Status removed = store::remove_checkpoint(path);
    if (removed.ok() || removed.code() == StatusCode::NotFound) continue;
    removal.failed.push_back(std::move(removed));
  }
}

void report(uv_work_t* request, int /*status*/) {
  const std::unique_ptr<Removal> removal(static_cast<Removal*>(request->data));
  for (const Status& failed : removal->failed) {
    log(Level::Warning, "checkpoint.removed", {{"error", failed.message()}});
  }
}

}  // namespace

void remove_in_background(uv_loop_t& loop, std::vector<std::string> paths) {
  auto removal = std::make_unique<Removal>(Removal{.paths = std::move(paths)});
  removal->request.data = removal.get();
  CHECK(uv_queue_work(&loop, &removal->request, remove_all, report) == 0);
  static_cast<void>(removal.release());  // report() deletes it.
}

}  // namespace perennial::perenniald
