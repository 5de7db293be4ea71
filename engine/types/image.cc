#include "engine/types/image.h"

#include "engine/types/check.h"

namespace perennial::engine {
namespace {

struct Fold {
  Image& image;

  void operator()(const JobMoved& moved) const {
    const auto found = image.jobs.find(moved.id);
    CHECK((found != image.jobs.end()) == moved.before.has_value());
    if (moved.before) CHECK(found->second.state == *moved.before);
    if (!moved.after) {
      image.jobs.erase(found);
      return;
    }
    CHECK(moved.after->id == moved.id);
    CHECK(image.tubes.contains(moved.after->tube));
    image.jobs[moved.id] = *moved.after;
  }
  void operator()(const TubeStored& stored) const {
    CHECK(image.tubes.emplace(stored.tube, stored.name).second);
  }
  void operator()(const TubeEnded& ended) const {
    CHECK(image.tubes.erase(ended.tube) == 1);
    image.pauses.erase(ended.tube);
  }
  void operator()(const TubePaused& paused) const {
    CHECK(image.tubes.contains(paused.tube));
    image.pauses[paused.tube] = {paused.pause, paused.until};
  }
  void operator()(const PauseEnded& ended) const { CHECK(image.pauses.erase(ended.tube) == 1); }
  void operator()(const NextIdRaised& raised) const {
    CHECK(raised.next_id > image.id_limit);
    image.id_limit = raised.next_id;
  }
  void operator()(const KeyStored& key) const { image.keys[{key.tube, key.key}] = key; }
  void operator()(const KeyFreed& key) const { CHECK(image.keys.erase({key.tube, key.key}) == 1); }
  void operator()(const SettingsStored& stored) const {
    if (stored.settings == TubeSettings{}) {
      image.settings.erase(stored.tube);
    } else {
      image.settings[stored.tube] = stored.settings;
    }
  }
  // The engine has no text of a note. How many there are is in the rows of jobs.
  void operator()(const NoteStored& stored) const {
    const JobRow& row = image.jobs.at(stored.job);
    CHECK(row.fields && row.fields->notes == stored.note.number);
  }
  void operator()(const NotesRemoved& removed) const { CHECK(!image.jobs.contains(removed.job)); }
};

}  // namespace

void fold(Image& image, const Transition& transition) {
  std::visit(Fold{image}, transition);
}

}  // namespace perennial::engine
