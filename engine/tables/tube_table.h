#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "engine/containers/heap.h"
#include "engine/tables/measured_tubes.h"
#include "engine/tables/rate_table.h"
#include "engine/tables/settings_table.h"
#include "engine/tables/tube.h"
#include "engine/tables/tubes_by_name.h"
#include "engine/tables/turn.h"
#include "engine/types/basic.h"
#include "engine/types/input.h"

namespace perennial::engine {

// The tubes: by number, by name, and by what waits for time. Owns them, and the settings by name.
// Says in transitions which tubes are stored and paused. What becomes of waiting connections when a
// tube can be served again is not its matter: engine/rules.
//
// A tube exists while it has a job, a user or a watcher; the tube named default is always there.
// It has many functions, because each order of the tubes by time has three.
class TubeTable {
 public:
  // REQUIRES: both outlive it.
  TubeTable(const Limits& limits, Turn& turn);
  TubeTable(const TubeTable&) = delete;
  TubeTable& operator=(const TubeTable&) = delete;

  // ---- Which tubes there are.
  Tube* find(std::string_view name) { return by_name_.find(name); }
  const Tube* find(std::string_view name) const { return by_name_.find(name); }
  // REQUIRES: has_number(id).
  Tube& of(TubeId id) { return *tubes_[id]; }
  const Tube& of(TubeId id) const { return *tubes_[id]; }
  bool has_number(TubeId id) const { return id < tubes_.size() && tubes_[id] != nullptr; }
  // Numbers are below it.
  TubeId numbers() const { return static_cast<TubeId>(tubes_.size()); }
  // protocol.txt, "list-tubes", in beanstalkd's order: by creation, and the last one takes the
  // place of one that ends.
  const std::vector<Tube*>& list() const { return list_; }
  // The size of the listing of all.
  NamesSize names_size() const { return {list_.size(), name_bytes_}; }

  // Returns the tube of that name and makes it if there is none. Null: there are too many tubes.
  Tube* find_or_make(std::string_view name);
  // Whether there may be a further one.
  bool may_make() const { return list_.size() < limits_.tubes_max; }
  // Gives the tube a row on disk, if it has none.
  void store(Tube& tube);
  // Ends the tube if it has no job, user or watcher any more.
  void end_if_unused(Tube& tube);
  // Tubes that have ended while a listing in parts names them, and whether to keep further ones.
  struct Ended {
    bool are_kept = false;
    std::vector<std::unique_ptr<Tube>> tubes = {};
  };
  Ended ended;

  // ---- Start.
  // REQUIRES: !has_number(id), and there is no tube of this name.
  void restore(TubeId id, std::string_view name);
  void restore_pause(Tube& tube, Nanos length, Nanos until);
  bool restore_settings(const std::string& tube, const TubeSettings& settings) {
    return settings_.restore(tube, settings);
  }
  // All tubes are there. `is_new`: nothing was there before. Tubes without a use end.
  void finish_restore(bool is_new);

  // ---- Whether a job may be reserved from it.
  bool has_ready(TubeId id) const { return has_ready_[id]; }
  void update_has_ready(const Tube& tube) {
    has_ready_[tube.id] = !tube.paused() && tube.has_servable();
  }
  // A reservation has ended: its tube may be below its limit now. Or a job has made way for others
  // of its concurrency key. The tube is served at the end of the input.
  void on_slot_freed(const Tube& tube);
  // The tube that was noted first and not taken yet. Null: none, and the list begins anew.
  Tube* take_freed_slot();

  // ---- Delays. The job table calls it when the soonest delayed job of the tube may be another.
  void schedule_delayed(Tube& tube);
  // The tube with the soonest delayed job. Null: no job is delayed.
  Tube* soonest_delayed() { return by_delay_.empty() ? nullptr : by_delay_.top().item; }

  // ---- Pauses.
  // Replaces a pause that there is. `length` is more than 0.
  void pause(Tube& tube, Nanos length, Nanos until);
  void end_pause(Tube& tube);
  // A tube whose pause is over by now, the earliest first. Null: there is none.
  Tube* first_pause_over();

  // ---- Settings and rates.
  const SettingsTable& settings() const { return settings_; }
  // Replaces what is set for the tube of this name, whether it is there or not. Returns false, and
  // changes nothing, if too many tubes had settings.
  bool set(const std::string& name, const TubeSettings& settings);
  // A job of the tube is reserved.
  void take_token(Tube& tube);
  // A tube whose empty bucket has a token again by now, the earliest first. Null: there is none.
  Tube* take_refilled();

  // The waits and runs of the tubes that are measured one by one.
  const TimesByName& measured() const { return measured_.records(); }
  // When the next thing is due that waits for time, delays only with `go_on`.
  std::optional<Nanos> next_deadline(bool go_on) const;
  // An estimate, in bytes.
  size_t memory_bytes() const;

 private:
  friend struct Check;

  Tube& make(TubeId id, std::string_view name);
  TubeId next_id();
  void apply_settings(Tube& tube);
  void empty_buckets();

  const Limits& limits_;
  Turn& turn_;

  std::vector<std::unique_ptr<Tube>> tubes_;  // By id. The entry of a free id is null.
  std::priority_queue<TubeId, std::vector<TubeId>, std::greater<>> free_ids_;
  TubesByName by_name_;
  std::vector<Tube*> list_;
  size_t name_bytes_ = 0;  // The sum of the lengths of the names in list_.
  // By id. One bit for each tube, so that a connection that watches very many tubes quickly finds
  // the few with a ready job.
  std::vector<bool> has_ready_;
  IndexedHeap<Tube, &Tube::delayed_index> by_delay_;  // By the deadline of the soonest delayed job.
  IndexedHeap<Tube, &Tube::pause_index> by_pause_;    // By the end of the pause.
  std::vector<TubeId> freed_slots_;
  size_t freed_slots_taken_ = 0;

  SettingsTable settings_;
  RateTable rates_;
  MeasuredTubes measured_;
};

}  // namespace perennial::engine
