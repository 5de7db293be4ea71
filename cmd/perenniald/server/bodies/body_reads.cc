#include "cmd/perenniald/server/bodies/body_reads.h"

#include <memory>
#include <optional>
#include <utility>

#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

// Copying and hashing a body up to this size takes the loop no longer than handing it to the pool.
constexpr size_t at_once_bytes_max = 16 << 10;

}  // namespace

struct BodyReads::Work {
  BodyReads* owner;
  const store::Store* store;
  core::BodyRead read;
  std::optional<store::Snapshot> snapshot = std::nullopt;  // From before the body's deletion.
  bool under_snapshot = false;                             // Whether the pool reads under it.
  uv_work_t request{};
  std::optional<Result<Body>> body = std::nullopt;
};

BodyReads::BodyReads(uv_loop_t& loop, Done done, std::function<void(const Status&)> failed)
    : loop_(loop), done_(std::move(done)), failed_(std::move(failed)) {}

BodyReads::~BodyReads() {
  CHECK(under_way_.empty());
}

void BodyReads::start(const store::Store& store, const core::BodyRead& read) {
  if (read.body_bytes <= at_once_bytes_max) {
    std::optional<Body> body = store.body_in_memory(read.job);
    if (body) return done_(read, *std::move(body));
  }
  auto* const work = new Work{.owner = this, .store = &store, .read = read};
  work->request.data = work;
  CHECK(under_way_.emplace(read.job, work).second);
  queue(*work);
}

void BodyReads::queue(Work& work) {
  const auto on_pool = [](uv_work_t* request) {
    auto& self = *static_cast<Work*>(request->data);
    self.body.emplace(
        self.store->read_body(self.read.job, self.under_snapshot ? &*self.snapshot : nullptr));
  };
  const auto on_loop = [](uv_work_t* request, int /*status*/) {
    auto& self = *static_cast<Work*>(request->data);
    self.owner->on_read(self);
  };
  CHECK(uv_queue_work(&loop_, &work.request, on_pool, on_loop) == 0);
}

// The loop may add a snapshot while the pool reads: the pool uses a snapshot only if it was there
// when the read was queued.
void BodyReads::before_write(const store::Batch& batch) {
  if (under_way_.empty()) return;
  for (const store::JobEffect& job : batch.jobs()) {
    if (job.after) continue;
    const auto found = under_way_.find(job.id);
    if (found == under_way_.end()) continue;
    Work& work = *found->second;
    if (!work.snapshot) work.snapshot.emplace(work.store->snapshot());
  }
}

void BodyReads::on_read(Work& work) {
  const StatusCode code = work.body->ok() ? StatusCode::Ok : work.body->status().code();
  if (code == StatusCode::NotFound && work.snapshot && !work.under_snapshot) {
    work.under_snapshot = true;
    return queue(work);
  }
  const std::unique_ptr<Work> ended(&work);
  under_way_.erase(work.read.job);
  const bool is_result =
      code == StatusCode::Ok || code == StatusCode::NotFound || code == StatusCode::Corruption;
  if (!is_result) return failed_(work.body->status());
  done_(work.read, std::move(*work.body));
}

}  // namespace perennial::perenniald
