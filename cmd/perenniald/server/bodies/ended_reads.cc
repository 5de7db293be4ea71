#include "cmd/perenniald/server/bodies/ended_reads.h"

#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

// Reads what is asked for, and waits for the disk.
struct Read {
  const store::Store& store;

  Result<core::EndedResult> operator()(const core::EndedJobRead& read) const {
    auto found = store.read_ended(read.id, true);
    return found.ok() ? Result(core::EndedResult(found.take())) : found.take_status();
  }
  Result<core::EndedResult> operator()(const store::EndedQuery& query) const {
    auto page = store.read_ended(query);
    return page.ok() ? Result(core::EndedResult(page.take())) : page.take_status();
  }
  Result<core::EndedResult> operator()(const EndedGroupsQuery& query) const {
    auto page = store.read_ended_groups(query);
    return page.ok() ? Result(core::EndedResult(page.take())) : page.take_status();
  }
  Result<core::EndedResult> operator()(const core::EndedPlacesRead& read) const {
    const auto rows = store.read_ended_order(read.tube, read.first, read.count);
    if (!rows.ok()) return rows.status();
    std::vector<core::EndedPlace> places;
    places.reserve(rows->size());
    for (const auto& row : *rows) places.push_back({row.place, row.job, row.at, row.notes});
    return core::EndedResult(std::move(places));
  }
};

}  // namespace

struct EndedReads::Work {
  EndedReads* owner;
  const store::Store* store;
  core::EndedRead read;
  uv_work_t request{};
  std::optional<Result<core::EndedResult>> result = std::nullopt;
};

EndedReads::EndedReads(uv_loop_t& loop, Done done, std::function<void(const Status&)> failed)
    : loop_(loop), done_(std::move(done)), failed_(std::move(failed)) {}

EndedReads::~EndedReads() {
  CHECK(under_way_ == 0);
}

void EndedReads::start(const store::Store& store, core::EndedRead read) {
  const auto on_pool = [](uv_work_t* request) {
    auto& self = *static_cast<Work*>(request->data);
    self.result.emplace(std::visit(Read{*self.store}, self.read.what));
  };
  const auto on_loop = [](uv_work_t* request, int /*status*/) {
    auto& self = *static_cast<Work*>(request->data);
    self.owner->on_read(self);
  };
  auto* const work = new Work{.owner = this, .store = &store, .read = std::move(read)};
  work->request.data = work;
  ++under_way_;
  CHECK(uv_queue_work(&loop_, &work->request, on_pool, on_loop) == 0);
}

void EndedReads::on_read(Work& work) {
  const std::unique_ptr<Work> ended(&work);
  --under_way_;
  if (!work.result->ok()) return failed_(work.result->status());
  done_(work.read.ticket, work.result->take());
}

}  // namespace perennial::perenniald
