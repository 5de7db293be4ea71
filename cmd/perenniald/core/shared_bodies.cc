#include "cmd/perenniald/core/shared_bodies.h"

#include <memory>

#include "engine/types/check.h"

namespace perennial::core {

SharedBodies::~SharedBodies() {
  CHECK(by_id_.empty());
}

SharedBodies::SharedBody::~SharedBody() {
  if (entry_ != nullptr) entry_->owner.release(*entry_);
}

SharedBodies::SharedBody SharedBodies::find(JobId id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return {};
  ++found->second->shares;
  return SharedBody(found->second);
}

SharedBodies::SharedBody SharedBodies::share(JobId id, Body&& body, bool is_cached) {
  CHECK(id != no_job);
  SharedBody shared = add(id, std::move(body), is_cached);
  CHECK(by_id_.emplace(id, shared.entry_).second);
  return shared;
}

SharedBodies::SharedBody SharedBodies::share_text(Body&& text) {
  SharedBody shared = add(no_job, std::move(text), false);
  texts_ += shared.entry_->charge.use();
  return shared;
}

SharedBodies::SharedBody SharedBodies::add(JobId id, Body&& body, bool is_cached) {
  const MemoryUse use = {.memory = is_cached ? 0 : body.capacity(),
                         .answers = body.size(),
                         .large = body.size() > large_bytes_min_ ? body.size() : 0};
  return SharedBody(new Entry{.owner = *this,
                              .id = id,
                              .body = std::move(body),
                              .charge = MemoryBudget::Charge(budget_, use)});
}

SharedBodies::SharedBody SharedBodies::share(const SharedBody& shared) {
  CHECK(shared.entry_ != nullptr);
  ++shared.entry_->shares;
  return SharedBody(shared.entry_);
}

void SharedBodies::on_uncached(JobId id) {
  if (by_id_.empty()) return;
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return;
  MemoryUse use = found->second->charge.use();
  use.memory = found->second->body.capacity();
  found->second->charge.set(use);
}

void SharedBodies::release(Entry& entry) {
  if (--entry.shares > 0) return;
  const std::unique_ptr<Entry> ended(&entry);
  if (entry.id != no_job) {
    by_id_.erase(entry.id);
    return;
  }
  texts_ -= entry.charge.use();
}

MemoryUse SharedBodies::use() const {
  MemoryUse all = texts_;
  for (const auto& entry : by_id_) all += entry.second->charge.use();
  return all;
}

}  // namespace perennial::core
