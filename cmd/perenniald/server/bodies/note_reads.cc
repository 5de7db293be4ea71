#include "cmd/perenniald/server/bodies/note_reads.h"

#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "engine/types/check.h"

namespace perennial::perenniald {

struct NoteReads::Work {
  NoteReads* owner;
  const store::Store* store;
  core::NoteRead read;
  std::optional<Current::iterator> current = std::nullopt;  // While it has no snapshot.
  std::shared_ptr<const store::Snapshot> snapshot = {};     // From before the first change.
  bool under_snapshot = false;                              // Whether the pool reads under it.
  uv_work_t request{};
  std::optional<Result<std::vector<Note>>> notes = std::nullopt;
};

NoteReads::NoteReads(uv_loop_t& loop, Done done, std::function<void(const Status&)> failed,
                     size_t under_way_max)
    : loop_(loop),
      done_(std::move(done)),
      failed_(std::move(failed)),
      under_way_max_(under_way_max) {}

NoteReads::~NoteReads() {
  CHECK(!busy());
}

void NoteReads::start(const store::Store& store, const core::NoteRead& read) {
  auto work = std::make_unique<Work>(Work{.owner = this, .store = &store, .read = read});
  work->current = current_.emplace(read.job, work.get());
  waiting_.push_back(std::move(work));
  begin_next();
}

void NoteReads::begin_next() {
  while (!waiting_.empty() && under_way_ < under_way_max_) {
    Work* const work = waiting_.front().release();
    waiting_.pop_front();
    work->request.data = work;
    ++under_way_;
    queue(*work);
  }
}

// The loop may add a snapshot while the pool reads: the pool uses a snapshot only if it was there
// when the read was queued.
void NoteReads::queue(Work& work) {
  const auto on_pool = [](uv_work_t* request) {
    auto& self = *static_cast<Work*>(request->data);
    self.notes.emplace(
        self.store->read_notes(self.read.job, self.under_snapshot ? &*self.snapshot : nullptr));
  };
  const auto on_loop = [](uv_work_t* request, int /*status*/) {
    auto& self = *static_cast<Work*>(request->data);
    self.owner->on_read(self);
  };
  work.under_snapshot = work.snapshot != nullptr;
  CHECK(uv_queue_work(&loop_, &work.request, on_pool, on_loop) == 0);
}

void NoteReads::before_write(const store::Batch& batch) {
  if (current_.empty()) return;
  std::shared_ptr<const store::Snapshot> snapshot;
  for (const store::NoteEffect& effect : batch.notes()) {
    const JobId job = std::visit([](const auto& one) { return one.job; }, effect);
    for (auto found = current_.find(job); found != current_.end() && found->first == job;) {
      Work& work = *found->second;
      if (!snapshot) snapshot = std::make_shared<const store::Snapshot>(work.store->snapshot());
      work.snapshot = snapshot;
      work.current.reset();
      found = current_.erase(found);
    }
  }
}

void NoteReads::on_read(Work& work) {
  if (work.snapshot && !work.under_snapshot) return queue(work);
  const std::unique_ptr<Work> ended(&work);
  if (work.current) current_.erase(*work.current);
  --under_way_;
  begin_next();
  const bool is_result = work.notes->ok() || work.notes->status().code() == StatusCode::Corruption;
  if (!is_result) return failed_(work.notes->status());
  done_(work.read, std::move(*work.notes));
}

}  // namespace perennial::perenniald
