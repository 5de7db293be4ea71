#include "cmd/perenniald/server/bodies/body_search.h"

#include <memory>
#include <utility>

#include "engine/types/check.h"

namespace perennial::perenniald {

struct BodySearch::Work {
  BodySearch* owner;
  const store::Store* store;
  std::vector<JobId> jobs;
  Test is_wanted;
  Done done;
  uv_work_t request{};
  std::vector<JobId> found = {};
  Status failed = {};

  void run() {
    for (const JobId job : jobs) {
      const Result<Body> body = store->read_body(job);
      if (body.ok()) {
        if (is_wanted(body->view())) found.push_back(job);
        continue;
      }
      const StatusCode code = body.status().code();
      if (code == StatusCode::NotFound || code == StatusCode::Corruption) continue;
      failed = body.status();
      return;
    }
  }
};

BodySearch::BodySearch(uv_loop_t& loop, std::function<void(const Status&)> failed)
    : loop_(loop), failed_(std::move(failed)) {}

BodySearch::~BodySearch() {
  CHECK(under_way_ == 0);
}

void BodySearch::start(const store::Store& store, std::vector<JobId> jobs, Test is_wanted,
                       Done done) {
  auto* const work = new Work{.owner = this,
                              .store = &store,
                              .jobs = std::move(jobs),
                              .is_wanted = std::move(is_wanted),
                              .done = std::move(done)};
  work->request.data = work;
  ++under_way_;
  const auto on_pool = [](uv_work_t* request) { static_cast<Work*>(request->data)->run(); };
  const auto on_loop = [](uv_work_t* request, int /*status*/) {
    auto& self = *static_cast<Work*>(request->data);
    self.owner->on_searched(self);
  };
  CHECK(uv_queue_work(&loop_, &work->request, on_pool, on_loop) == 0);
}

void BodySearch::on_searched(Work& work) {
  const std::unique_ptr<Work> ended(&work);
  --under_way_;
  if (!work.failed.ok()) return failed_(work.failed);
  work.done(std::move(work.found));
}

}  // namespace perennial::perenniald
