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

// A model of the store in memory: column families, and a log whose end may be lost. Like RocksDB,
// it applies each batch without checking it: a row that is not deleted stays, and inconsistent rows
// are found at the next start.
class ModelDisk : public Disk {
 public:
  ModelDisk(store::Durability durability, uint64_t seed) : durability_(durability), random_(seed) {}

  Result<Found> open() override;
  void submit(store::Batch&& batch) override;
  Done finish() override;
  Done look() override;
  Result<Body> body(JobId id) override;
  Result<std::vector<Note>> notes(JobId id) override;
  Result<core::EndedResult> ended(const core::EndedRead& read) override;
  Status close(JobId next_id) override;

  // The process ends. What it has written stays. A batch that was being written is kept or lost as
  // a whole.
  void kill();
  // The power fails, which loses any part of the end of the log that was not synced.
  void cut_power();
  // Of the last batch that was written, and that was synced.
  BatchIndex last_index() const { return written_.index; }
  Nanos last_now() const { return written_.now; }
  BatchIndex synced_index() const { return durable_.index; }
  void set_durability(store::Durability durability) { durability_ = durability; }

 private:
  struct Write {
    BatchIndex index;
    Nanos now;
    std::vector<store::JobEffect> jobs;
    std::vector<std::string> bodies;
    std::vector<store::MetaEffect> metas;
    std::vector<store::KeyEffect> keys;
    std::vector<store::NoteEffect> notes;
    std::vector<EndedGone> gone;
    std::map<std::string, EndedSpan> spans;
    std::vector<store::ScheduleEffect> schedules;
    bool must_sync;
  };
  struct Content {
    std::array<std::map<JobId, JobRow>, 4> families;
    std::map<JobId, std::string> bodies;
    std::map<JobId, std::map<uint32_t, Note>> notes;  // By place.
    std::map<TubeId, std::string> tubes;
    std::map<TubeId, std::pair<Nanos, Nanos>> pauses;
    std::map<std::pair<std::string, std::string>, KeyStored> keys;
    std::map<std::string, TubeSettings> settings;
    std::map<JobId, EndedJob> ended;
    std::map<std::pair<std::string, uint64_t>, JobId> ended_order;  // By tube and place.
    std::map<std::string, EndedSpan> spans;                         // None is empty.
    std::map<std::string, ScheduleStored> schedules;                // By name.
    JobId next_id = 1;
    BatchIndex index = 0;
    Nanos now = 0;
  };
  static void apply(Content& content, const Write& write);
  static void apply_notes(Content& content, const Write& write);
  static void apply_ended(Content& content, const Write& write);
  static void apply_schedules(Content& content, const Write& write);
  static Status check_notes(const Content& content, const engine::Image& image);
  static Status check_ended(const Content& content, const engine::Image& image);
  store::EndedFound found(const EndedJob& job, bool with_body, bool with_notes) const;
  store::EndedPage page(const store::EndedQuery& query) const;
  std::vector<core::EndedPlace> places(const core::EndedPlacesRead& read) const;
  Result<engine::Image> check_and_read() const;
  void sync();

  store::Durability durability_;
  std::mt19937_64 random_;
  Content written_;  // The state of the kernel's files.
  Content durable_;
  std::deque<Write> unsynced_;
  std::optional<store::Batch> submitted_;
  std::optional<Write> writing_;
};

}  // namespace perennial::simulation
