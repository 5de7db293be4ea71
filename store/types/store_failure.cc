#include "store/types/store_failure.h"

#include "engine/types/check.h"

namespace perennial::store {

void StoreFailure::fail(const Status& status) {
  bool report = false;
  {
    const std::lock_guard lock(mutex_);
    if (failed()) return;
    first_ = status;
    failed_.store(true, std::memory_order_release);
    report = armed_;
  }
  if (report && events_.fatal) events_.fatal(status);
}

Status StoreFailure::refusal() {
  const std::lock_guard lock(mutex_);
  CHECK(failed());
  return Status(first_).with("the store has failed before");
}

Status StoreFailure::arm() {
  const std::lock_guard lock(mutex_);
  armed_ = true;
  return first_;
}

}  // namespace perennial::store
