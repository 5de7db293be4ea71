#include "engine/engine.h"

#include "engine/state.h"

namespace perennial::engine {

Engine::Engine(const Limits& limits) : state_(std::make_unique<State>(limits)) {}

Engine::~Engine() = default;

void Engine::apply(const Input& input, Output& out) {
  state_->apply(input, out);
}

std::optional<Nanos> Engine::next_deadline(bool go_on) const {
  return state_->next_deadline(go_on);
}

Status Engine::restore_tube(TubeId tube, std::string_view name) {
  return state_->restore_tube(tube, name);
}

Status Engine::restore_pause(const TubePaused& pause, Nanos now) {
  return state_->restore_pause(pause, now);
}

Status Engine::restore_job(const JobRow& row, Nanos now) {
  return state_->restore_job(row, now);
}

Status Engine::restore_key(const KeyStored& key, Nanos now) {
  return state_->restore_key(key, now);
}

Status Engine::restore_settings(const SettingsStored& settings) {
  return state_->restore_settings(settings);
}

Status Engine::finish_restore(JobId next_id, Nanos now, Output& out) {
  return state_->finish_restore(next_id, now, out);
}

EngineView Engine::view() const {
  return EngineView(*state_);
}

Image Engine::image() const {
  return state_->image();
}

void Engine::check() const {
  state_->check();
}

}  // namespace perennial::engine
