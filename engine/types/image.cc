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
    // A job that is restored gets the notes that were kept of it.
    CHECK(row.fields && stored.note.number <= row.fields->notes &&
          row.fields->notes - stored.note.number < notes_max);
  }
  void operator()(const NotesRemoved& removed) const { CHECK(!image.jobs.contains(removed.job)); }
  // The engine has no ended job. Where those of a tube are is in its span.
  void operator()(const JobEnded& ended) const {
    CHECK(!image.jobs.contains(ended.job->row.id));
    CHECK(ended.job->place + 1 == ended.span.next);
    set_span(ended.job->tube, ended.span);
  }
  void operator()(const EndedGone& gone) const {
    const EndedSpan& before = image.ended.at(gone.tube);
    CHECK(before.first <= gone.place && gone.place < before.next);
    CHECK(before.next == gone.span.next);
    set_span(gone.tube, gone.span);
  }
  void operator()(const EndedTrimmed& trimmed) const {
    CHECK(image.ended.at(trimmed.tube).next == trimmed.span.next);
    set_span(trimmed.tube, trimmed.span);
  }
  void operator()(const ScheduleStored& stored) const {
    image.schedules[stored.schedule->name] = stored;
  }
  void operator()(const ScheduleChanged& changed) const {
    ScheduleProgress& progress = image.schedules.at(changed.name).progress;
    // A start with other time zones may plan an earlier time, but none behind which a job was put.
    // That is left to the end of a pause, after a clock that was wrong.
    const bool is_planned_anew =
        changed.progress.fired == progress.fired &&
        (changed.progress.planned > changed.progress.last_planned || progress.is_paused);
    CHECK(is_planned_anew || !progress.planned || !changed.progress.planned ||
          *progress.planned <= *changed.progress.planned);
    progress = changed.progress;
  }
  void operator()(const ScheduleDeleted& deleted) const {
    CHECK(image.schedules.erase(deleted.name) == 1);
  }
  void set_span(const std::string& tube, const EndedSpan& span) const {
    if (span.empty()) {
      image.ended.erase(tube);
    } else {
      image.ended[tube] = span;
    }
  }
};

}  // namespace

void fold(Image& image, const Transition& transition) {
  std::visit(Fold{image}, transition);
}

}  // namespace perennial::engine
