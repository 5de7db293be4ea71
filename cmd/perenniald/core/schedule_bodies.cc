#include "cmd/perenniald/core/schedule_bodies.h"

#include <utility>

namespace perennial::core {
namespace {

// What a body costs besides its bytes, roughly.
constexpr size_t entry_bytes = 64;

}  // namespace

std::string_view ScheduleBodies::set(const std::string& name, Body body, BatchIndex batch) {
  const auto [place, is_new] = by_name_.try_emplace(name);
  count(body);
  if (is_new) {
    place->second = std::move(body);
  } else {
    replaced_.push_back({batch, std::exchange(place->second, std::move(body))});
  }
  return place->second.view();
}

void ScheduleBodies::erase(const std::string& name, BatchIndex open_batch) {
  const auto place = by_name_.find(name);
  if (place == by_name_.end()) return;
  replaced_.push_back({open_batch, std::move(place->second)});
  by_name_.erase(place);
}

void ScheduleBodies::on_written(BatchIndex written) {
  while (!replaced_.empty() && replaced_.front().batch <= written) {
    uncount(replaced_.front().body);
    replaced_.pop_front();
  }
}

const Body* ScheduleBodies::find(std::string_view name) const {
  const auto place = by_name_.find(name);
  return place != by_name_.end() ? &place->second : nullptr;
}

void ScheduleBodies::count(const Body& body) {
  bytes_ += body.capacity() + entry_bytes;
  charge_.set({.memory = bytes_});
}

void ScheduleBodies::uncount(const Body& body) {
  bytes_ -= body.capacity() + entry_bytes;
  charge_.set({.memory = bytes_});
}

}  // namespace perennial::core
