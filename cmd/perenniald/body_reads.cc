#include "cmd/perenniald/body_reads.h"

#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cmd/perenniald/failure.h"
#include "cmd/perenniald/log.h"
#include "engine/types/check.h"

namespace perennial::perenniald {

struct BodyReads::Work {
  BodyReads* owner;
  const store::Store* store;
  core::BodyRead read;
  store::Snapshot snapshot;
  uv_work_t request;
  std::optional<Result<Body>> body;
};

void BodyReads::start(const store::Store& store, const core::BodyRead& read) {
  auto* const work = new Work{this, &store, read, store.snapshot(), {}, std::nullopt};
  work->request.data = work;
  ++under_way_;
  const auto on_pool = [](uv_work_t* request) {
    auto& self = *static_cast<Work*>(request->data);
    self.body.emplace(self.store->read_body(self.read.job, self.snapshot));
  };
  const auto on_loop = [](uv_work_t* request, int /*status*/) {
    const std::unique_ptr<Work> self(static_cast<Work*>(request->data));
    self->owner->finish(*self);
  };
  CHECK(uv_queue_work(&loop_, &work->request, on_pool, on_loop) == 0);
}

void BodyReads::finish(Work& work) {
  --under_way_;
  Result<Body>& body = *work.body;
  const bool damaged = !body.ok() && (body.status().code() == StatusCode::NotFound ||
                                      body.status().code() == StatusCode::Corruption);
  // A disk that does not give back what it has taken is no disk to go on with.
  if (!body.ok() && !damaged) end_process(running_failure(body.status()));
  if (damaged) {
    log(Level::Error, "body.damaged",
        {{"job", fmt::format("{}", work.read.job)}, {"error", body.status().message()}});
  }
  core_.on_body(work.read.read, std::move(body), clock_.now());
}

}  // namespace perennial::perenniald
