// Tubes: use and watch make them, and they end with their last job, user and watcher. The commands
// use, watch, ignore and pause-tube.

#include <memory>
#include <string>
#include <utility>

#include "engine/state.h"
#include "engine/types/later.h"

namespace perennial::engine {

Tube* State::find_tube(std::string_view name) {
  return tubes_by_name_.find(name);
}

Tube* State::find_or_make_tube(std::string_view name) {
  if (Tube* const tube = find_tube(name)) return tube;
  if (tube_list_.size() >= limits_.tubes_max) return nullptr;
  return &make_tube(next_tube_id(), name);
}

TubeId State::next_tube_id() {
  if (free_tube_ids_.empty()) {
    tubes_.emplace_back();
    return static_cast<TubeId>(tubes_.size() - 1);
  }
  const TubeId id = free_tube_ids_.top();
  free_tube_ids_.pop();
  return id;
}

Tube& State::make_tube(TubeId id, std::string_view name) {
  CHECK(tubes_[id] == nullptr);
  tubes_[id] = std::make_unique<Tube>();
  Tube& tube = *tubes_[id];
  tube.id = id;
  tube.name = name;
  tube.list_index = static_cast<uint32_t>(tube_list_.size());
  tube_list_.push_back(&tube);
  tubes_by_name_.insert(tube);
  name_bytes_ += tube.name.size();
  if (has_ready_.size() < tubes_.size()) has_ready_.resize(tubes_.size());
  tube.times = measured_tubes_.begin(tube.name);
  apply_settings(tube);
  find_bucket(tube);
  return tube;
}

void State::store_tube(Tube& tube) {
  if (tube.stored) return;
  tube.stored = true;
  turn_.emit(TubeStored{tube.id, tube.name});
}

void State::end_if_unused(Tube& tube) {
  // protocol.txt, "Tubes": the tube named default is always there.
  if (tube.id == 0 || tube.referenced()) return;
  if (tube.stored) turn_.emit(TubeEnded{tube.id});
  if (tube.paused()) tubes_by_pause_.remove(tube);
  keep_bucket(tube);
  if (tube.rate_index != not_in_heap) tubes_by_rate_.remove(tube);
  if (tube.times != nullptr) measured_tubes_.end(tube.name, tube.times);
  tubes_by_name_.erase(tube);
  Tube* const last = tube_list_.back();
  tube_list_[tube.list_index] = last;
  last->list_index = tube.list_index;
  tube_list_.pop_back();
  name_bytes_ -= tube.name.size();
  const TubeId id = tube.id;
  std::unique_ptr<Tube> ended = std::move(tubes_[id]);
  // A listing in parts points to the tubes that it names, so they are kept until it is complete.
  // Copying the names of a million tubes when it begins would take longer than a turn may.
  if (is_listing()) ended_tubes_.push_back(std::move(ended));
  free_tube_ids_.push(id);
}

void State::schedule_delayed(Tube& tube) {
  const bool listed = tube.delayed_index != not_in_heap;
  if (tube.delayed.empty()) {
    if (listed) tubes_by_delay_.remove(tube);
    return;
  }
  const JobHeap::Entry& soonest = tube.delayed.top();
  if (listed) return tubes_by_delay_.update(soonest.key, soonest.tie, tube);
  tubes_by_delay_.push(soonest.key, soonest.tie, tube);
}

void State::set_using(Conn& conn, Tube& tube) {
  Tube& old = tube_of(conn.used);
  ++tube.using_count;
  conn.used = tube.id;
  --old.using_count;
  end_if_unused(old);
}

void State::add_watch(Conn& conn, Tube& tube) {
  const size_t before = conn.watched.memory_bytes();
  conn.watched.add(conn, tube);
  watched_bytes_ += conn.watched.memory_bytes() - before;
  ++tube.watching_count;
}

void State::remove_watch(Conn& conn, Tube& tube) {
  const size_t before = conn.watched.memory_bytes();
  conn.watched.remove(tube);
  watched_bytes_ += conn.watched.memory_bytes() - before;
  --tube.watching_count;
}

void State::run(Conn& conn, const Use& command) {
  Tube* const tube = find_or_make_tube(command.tube);
  if (tube == nullptr) return answer(conn, Word::OutOfMemory);
  set_using(conn, *tube);
  answer(conn, Using{command.tube});
}

void State::run(Conn& conn, const Watch& command) {
  Tube* tube = find_tube(command.tube);
  if (tube == nullptr || !conn.watched.contains(*tube)) {
    if (conn.watched.size() >= limits_.watched_max) return answer(conn, Word::OutOfMemory);
    tube = find_or_make_tube(command.tube);
    if (tube == nullptr) return answer(conn, Word::OutOfMemory);
    add_watch(conn, *tube);
  }
  if (command.weight) {
    const size_t before = conn.watched.memory_bytes();
    conn.watched.weights().set(tube->id, static_cast<uint32_t>(command.weight->value));
    watched_bytes_ += conn.watched.memory_bytes() - before;
  }
  answer(conn, NumberReply{Word::Watching, conn.watched.size()});
}

void State::run(Conn& conn, const SetReserveMode& set) {
  conn.mode = set.mode;
  answer(conn, Using{std::string(reserve_mode_rows[static_cast<size_t>(set.mode)].name)});
}

void State::run(Conn& conn, const Ignore& command) {
  Tube* const tube = find_tube(command.tube);
  if (tube != nullptr && conn.watched.contains(*tube)) {
    if (conn.watched.size() == 1) return answer(conn, Word::NotIgnored);
    remove_watch(conn, *tube);
    end_if_unused(*tube);
  }
  answer(conn, NumberReply{Word::Watching, conn.watched.size()});
}

void State::run(Conn& conn, const PauseTube& command) {
  Tube* const tube = find_tube(command.tube);
  if (tube == nullptr) return answer(conn, Word::NotFound);
  ++tube->cmd_pause_tube;
  // As in beanstalkd, 0 is the shortest pause. It replaces a longer pause and ends at once, and its
  // end serves the connections that wait.
  const Nanos asked =
      static_cast<Nanos>(command.delay_s) * nanos_per_second + command.delay_rest_ns;
  const bool was_paused = tube->paused();
  tube->pause = asked > 0 ? asked : 1;
  tube->pause_until = later(turn_.now(), asked);
  update_has_ready(*tube);
  const auto key = static_cast<uint64_t>(tube->pause_until);
  if (was_paused) {
    tubes_by_pause_.update(key, tube->id, *tube);
  } else {
    tubes_by_pause_.push(key, tube->id, *tube);
  }
  store_tube(*tube);
  turn_.emit(TubePaused{tube->id, tube->pause, tube->pause_until});
  answer(conn, Word::Paused);
  if (asked == 0) tick_pauses();
}

void State::end_pause(Tube& tube) {
  tubes_by_pause_.remove(tube);
  tube.pause = 0;
  tube.pause_until = 0;
  update_has_ready(tube);
  turn_.emit(PauseEnded{tube.id});
}

}  // namespace perennial::engine
