#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "store/types/options.h"
#include "tests/simulation/disk.h"

namespace perennial::simulation {

// The store as it should be, in memory: column families that hold what they are told to, and a log
// of which the end may be lost. It believes each batch, as RocksDB does: a row that is not deleted
// stays, and what does not fit together is found at the next start.
class ModelDisk : public Disk {
 public:
  ModelDisk(store::Durability durability, uint64_t seed) : durability_(durability), random_(seed) {}

  Result<Found> open() override;
  void submit(store::Batch&& batch) override;
  Done finish() override;
  Done look() override;
  Result<Body> body(JobId id) override;
  Status close(JobId next_id) override;

  // The process ends. What it wrote stays; of a batch that it was writing, all or nothing.
  void kill();
  // The power goes, and with it any part of the tail that was not synced.
  void cut_power();
  void set_durability(store::Durability durability) { durability_ = durability; }

 private:
  struct Write {
    BatchIndex index;
    Nanos now;
    std::vector<store::JobEffect> jobs;
    std::vector<std::string> bodies;
    std::vector<store::MetaEffect> metas;
    bool must_sync;
  };
  struct Content {
    std::array<std::map<JobId, JobRow>, 4> families;
    std::map<JobId, std::string> bodies;
    std::map<TubeId, std::string> tubes;
    std::map<TubeId, std::pair<Nanos, Nanos>> pauses;
    JobId next_id = 1;
    BatchIndex index = 0;
    Nanos now = 0;
  };
  static void apply(Content& content, const Write& write);
  Result<engine::Image> check_and_read() const;
  void sync();

  store::Durability durability_;
  std::mt19937_64 random_;
  Content written_;  // As the kernel has it.
  Content durable_;
  std::deque<Write> unsynced_;
  std::optional<store::Batch> submitted_;
  std::optional<Write> writing_;
};

}  // namespace perennial::simulation
