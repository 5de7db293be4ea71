#include "cmd/perenniald/server/bodies/note_reads.h"

#include <memory>
#include <optional>
#include <utility>

#include "engine/types/check.h"

namespace perennial::perenniald {

struct NoteReads::Work {
  NoteReads* owner;
  const store::Store* store;
  core::NoteRead read;
  uv_work_t request{};
  std::optional<Result<std::vector<Note>>> notes = std::nullopt;
};

NoteReads::NoteReads(uv_loop_t& loop, Done done, std::function<void(const Status&)> failed)
    : loop_(loop), done_(std::move(done)), failed_(std::move(failed)) {}

NoteReads::~NoteReads() {
  CHECK(under_way_ == 0);
}

void NoteReads::start(const store::Store& store, const core::NoteRead& read) {
  const auto on_pool = [](uv_work_t* request) {
    auto& self = *static_cast<Work*>(request->data);
    self.notes.emplace(self.store->read_notes(self.read.job));
  };
  const auto on_loop = [](uv_work_t* request, int /*status*/) {
    auto& self = *static_cast<Work*>(request->data);
    self.owner->on_read(self);
  };
  auto* const work = new Work{.owner = this, .store = &store, .read = read};
  work->request.data = work;
  ++under_way_;
  CHECK(uv_queue_work(&loop_, &work->request, on_pool, on_loop) == 0);
}

void NoteReads::on_read(Work& work) {
  const std::unique_ptr<Work> ended(&work);
  --under_way_;
  const bool is_result = work.notes->ok() || work.notes->status().code() == StatusCode::Corruption;
  if (!is_result) return failed_(work.notes->status());
  done_(work.read, std::move(*work.notes));
}

}  // namespace perennial::perenniald
