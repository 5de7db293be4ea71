#include "engine/statistics/image_of.h"

#include "engine/tables/state.h"

namespace perennial::engine {

Image image_of(const State& state) {
  Image image;
  image.id_limit = state.jobs.id_limit();
  const auto add = [&](const Job& job) { image.jobs.emplace(job.id, state.jobs.row_of(job)); };
  for (const Tube* tube : state.tubes.list()) {
    tube->ready->for_each(add);
    if (tube->groups) tube->groups->for_each_behind(add);
    tube->delayed->for_each(add);
    tube->buried->for_each(add);
    if (tube->stored) image.tubes.emplace(tube->id, tube->name);
    if (tube->paused()) image.pauses[tube->id] = {tube->pause, tube->pause_until};
  }
  for (const auto& [id, conn] : state.conns.all()) conn->reserved->for_each(add);
  state.keys.for_each([&image](const KeyTable::Name& name, const KeyTable::Entry& entry) {
    image.keys[{name.tube, name.key}] = {name.tube, name.key, entry.job, entry.until,
                                         entry.expires_at};
  });
  for (const auto& [name, settings] : state.tubes.settings().by_name())
    image.settings.emplace(name, settings);
  for (const auto& [name, span] : state.ended.by_tube()) image.ended.emplace(name, span);
  for (const auto& [name, entry] : state.schedules.by_name()) {
    image.schedules.emplace(name, entry.stored);
  }
  return image;
}

}  // namespace perennial::engine
