#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "engine/types/note.h"
#include "engine/types/status.h"
#include "engine/types/transition.h"
#include "store/batch/batch.h"
#include "store/reader.h"
#include "store/store.h"

// A model of what a store holds, and a source of random histories that fit it.
namespace perennial::store {

// The rows of a store, without bodies.
struct Image {
  std::map<TubeId, std::string> tubes;
  std::map<TubeId, Nanos> pauses;  // When each ends.
  std::map<JobId, JobRow> jobs;
  std::map<std::pair<std::string, std::string>, KeyStored> keys;  // By tube and key.
  std::map<std::string, TubeSettings> settings;                   // By the name of the tube.
  std::map<std::string, EndedSpan> ended_spans;                   // By the name of the tube.
  std::map<JobId, EndedJob> ended;
  std::map<std::string, std::pair<ScheduleStored, std::string>> schedules;  // With their bodies.

  bool operator==(const Image&) const = default;
};

// Returns the body of a job, which depends only on its id.
std::string body_of(JobId id);

// Returns a note of a job, which depends only on the id of the job and its own number.
Note note_of(JobId id, uint32_t number);

// Reads the rows of a store, those of ended jobs, too. InvalidArgument: load() passes them in a
// wrong order.
Result<Image> read_image(Store& store);
Result<Image> read_image(const Reader& reader);
// The same with the ended jobs that could be read, where `missing` says which others are missing.
Result<Image> read_image(const Reader& reader, Status& missing);
// Returns what differs between a store and an image, including bodies, notes and ended jobs; empty
// if they are equal. With MayLack the store may lack notes and ended jobs, and has no others. With
// CountedAgain notes may have other numbers, as after a repair that found only some of them.
enum class HasNotes : uint8_t { All, MayLack, CountedAgain };
std::string difference(Store& store, const Image& image, HasNotes has_notes = HasNotes::All);
std::string difference(const Reader& reader, const Image& image);

// Makes one random batch after the other. The same seed makes the same history. It is copyable. The
// keys always fit the jobs that hold them, so that check_directory() finds no fault.
class StoreModel {
 public:
  explicit StoreModel(uint64_t seed) : random_(seed) {}

  // Fills a batch with about `transitions` random ones and seals it. Its bodies live until the call
  // after next, so that one batch may be written while another is made.
  void next(Batch& batch, int transitions);
  // Continues after the store was opened again: ids from opening.next_id on are free.
  void reopened(const Opening& opening);
  // Begins with what a store holds that something else has written.
  void begin_with(Image image, const Opening& opening);

  const Image& image() const { return image_; }
  BatchIndex index() const { return index_; }
  JobId next_id() const { return next_id_; }
  // The next id in the store: a batch has raised it to this number.
  JobId mark() const { return mark_; }
  Nanos now() const { return now_; }

 private:
  uint64_t below(uint64_t bound) { return random_() % bound; }
  void step(Batch& batch);
  void put(Batch& batch);
  void move(Batch& batch, JobRow row);
  void remove(Batch& batch, JobRow row);
  void note(Batch& batch, JobRow row);
  // What becomes of a job that is removed and kept: it ends, is restored as another one, or goes.
  void end(Batch& batch, const JobRow& row, const std::string& tube);
  void restore(Batch& batch);
  void let_go(Batch& batch);
  void forget(Batch& batch, const EndedJob& job);
  JobId new_id(Batch& batch);
  void pause(Batch& batch);
  void end_pause(Batch& batch);
  void set_tube(Batch& batch);
  void set_schedule(Batch& batch);
  // Fires one, or deletes it.
  void change_schedule(Batch& batch);
  // Gives the new job random fields, and perhaps a key that nobody holds.
  void add_fields(Batch& batch, JobRow& row);
  // The job gives up the key that it holds, if any: a cooldown begins, or the key is free.
  void give_up_key(Batch& batch, JobRow& row);
  // Ends a random cooldown, or a key that was held for a time.
  void end_key(Batch& batch);
  void store_key(Batch& batch, const KeyStored& key);
  void free_key(Batch& batch, const KeyStored& key);
  void store_tube(Batch& batch, TubeId tube);
  void end_tube_if_unused(Batch& batch, TubeId tube);

  std::mt19937_64 random_;
  Image image_;
  uint64_t epoch_ = 1;
  BatchIndex index_ = 0;
  JobId next_id_ = 1;
  JobId mark_ = 1;
  Nanos now_ = 1'000'000'000'000;
  uint64_t order_ = 0;
  bool keeps_ = false;              // The next job that is removed.
  std::set<JobId> ended_in_batch_;  // Which cannot go in the same batch.
  std::deque<std::string> bodies_;
  std::deque<std::string> bodies_before_;
};

}  // namespace perennial::store
