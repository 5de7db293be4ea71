#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <string>

#include "engine/types/status.h"
#include "engine/types/transition.h"
#include "store/batch/batch.h"
#include "store/reader.h"
#include "store/store.h"

// A model of what a store holds, and a source of random histories that fit it.
namespace perennial::store {

// What is in a store, bodies aside.
struct Image {
  std::map<TubeId, std::string> tubes;
  std::map<TubeId, Nanos> pauses;  // When each ends.
  std::map<JobId, JobRow> jobs;

  bool operator==(const Image&) const = default;
};

// Every job's body follows from its id.
std::string body_of(JobId id);

// Takes the content of a store, in the order in which load() gives it; refuses a wrong order.
Result<Image> read_image(Store& store);
Result<Image> read_image(const Reader& reader);
// What differs between a store and an image, its bodies included; nothing if they are the same.
std::string difference(Store& store, const Image& image);
std::string difference(const Reader& reader, const Image& image);

// Makes one batch after the other. The same seed makes the same history. Copyable.
class World {
 public:
  explicit World(uint64_t seed) : random_(seed) {}

  // Fills a batch with about `transitions` random ones and seals it. Its bodies live until the call
  // after next, so that one batch may be written while another is made.
  void next(Batch& batch, int transitions);
  // Goes on after the store was opened again: ids from its mark on are free.
  void reopened(const Opening& opening);

  const Image& image() const { return image_; }
  BatchIndex index() const { return index_; }
  JobId next_id() const { return next_id_; }
  // Ids below it are taken, and told to the store.
  JobId mark() const { return mark_; }
  Nanos now() const { return now_; }

 private:
  uint64_t below(uint64_t bound) { return random_() % bound; }
  void step(Batch& batch);
  void put(Batch& batch);
  void move(Batch& batch, JobRow row);
  void remove(Batch& batch, JobRow row);
  void pause(Batch& batch);
  void end_pause(Batch& batch);
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
  std::deque<std::string> bodies_;
  std::deque<std::string> bodies_before_;
};

}  // namespace perennial::store
