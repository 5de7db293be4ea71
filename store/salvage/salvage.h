#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "engine/types/note.h"
#include "engine/types/status.h"
#include "store/damage/damaged_ids.h"
#include "store/recovery/manifest.h"
#include "store/rocks/database.h"
#include "store/rocks/log_env.h"
#include "store/rocks/observer.h"
#include "store/salvage/damaged_tables.h"
#include "store/salvage/family_merge.h"
#include "store/salvage/salvaged.h"
#include "store/types/options.h"

// Included by store's own files only.
namespace perennial::store {

// Everything that can be read of a damaged database, as rows that fit together: each job is there
// once and has a tube, and each key is held by its job. A checkpoint of the same database adds what
// it has of the rows that cannot be read. It writes nothing. Its memory grows with the number of
// tubes, of schedules and of jobs with a key, and not with the number of jobs.
class Salvage {
 public:
  // Reads everything once. `checkpoint`: the path of one, or empty. Corruption: it cannot be said
  // which tables there are, or nothing can be read. Unsupported: the database has a format
  // that is not served. REQUIRES: the checkpoint is whole, of a format that is served, and of this
  // database.
  static Result<std::unique_ptr<Salvage>> open(const std::string& db_path, const Options& options,
                                               StoreFailure& failure,
                                               const std::string& checkpoint = {});

  const Salvaged& account() const { return account_; }
  const CommitRow& commit() const { return commit_; }
  // What the row says, or the oldest format that is served if the row is lost.
  uint32_t format() const { return format_.value_or(format_base); }
  // Beyond every id that may have been given out.
  JobId next_id() const { return next_id_; }
  const std::map<TubeId, std::string>& tubes() const { return tubes_; }
  const std::vector<TubePaused>& pauses() const { return pauses_; }
  const std::vector<SettingsStored>& settings() const { return settings_; }

  // Visits the jobs in the order of ids.
  Status each_job(const std::function<Status(const JobRow&)>& take) const;
  // Visits all ids of which a row or a body is left, in their order. Of each it passes on the row,
  // as each_job() does, or null; and the body if that is whole.
  using TakeLeft =
      std::function<Status(JobId id, const JobRow* row, std::optional<std::string_view> body)>;
  // Of a job that has ended it passes on only one whose row and body are whole.
  using TakeEnded = std::function<Status(const EndedJob& job, std::string_view body)>;
  Status each_left(const TakeLeft& take, const TakeEnded& take_ended) const;
  // Visits those ended jobs, in the order of ids.
  Status each_ended(const TakeEnded& take) const;
  // Where they are, by tube.
  const std::map<std::string, EndedSpan>& ended_spans() const { return ended_spans_; }
  // Visits the schedules by name.
  Status each_schedule(
      const std::function<Status(const ScheduleStored&, std::string_view body)>& take) const;
  // Visits the keys in the order of the store.
  Status each_key(const std::function<Status(const KeyStored&)>& take) const;

  // Reads bodies in the order of ids.
  class Bodies {
   public:
    explicit Bodies(const Salvage& salvage);
    // Returns the stored value, which is valid until the next call, or none. REQUIRES: ids ascend.
    Result<std::optional<std::string_view>> find(JobId id);

   private:
    FamilyMerge merge_;
    std::string value_;
  };

  // Reads notes of jobs in the order of ids.
  class Notes {
   public:
    explicit Notes(const Salvage& salvage);
    // Returns the notes of a job that can be read and that fit it, the oldest first. `had`: how
    // many notes the job counts. REQUIRES: ids ascend.
    Result<std::vector<Note>> find(JobId id, uint32_t had);

   private:
    FamilyMerge merge_;
  };

  // The log is read as a start would read it. If a start would refuse it, all records are read that
  // can be read.
  struct LogView {
    View view;
    std::string problem;
    std::optional<View> cut = {};  // Up to the damage, where that was judged already.
  };

 private:
  // A job that holds a key.
  struct Claim {
    JobId job = 0;
    KeyUntil until = KeyUntil::Deleted;
    Nanos ends_at = 0;  // Of a key that is held for a time: when that is over.
  };
  struct Visit;  // What each_id() passes on.

  Salvage() = default;
  Status open_database(const std::string& db_path, const Options& options, StoreFailure& failure);
  Status judge_log_again(const std::string& db_path, const Options& options, StoreFailure& failure,
                         const Manifest& manifest, LogView& log);
  Status open_copy(const std::string& checkpoint, const std::string& db_path,
                   const Options& options, StoreFailure& failure);
  Status find_lost_log(const std::string& copy_path, const std::string& db_path,
                       const Options& options);
  Result<std::optional<CommitRow>> flushed_commit(const std::string& db_path,
                                                  const Options& options,
                                                  StoreFailure& failure) const;
  void find_lost_commits(const std::string& db_path, const Options& options, StoreFailure& failure,
                         const Manifest& manifest);
  FamilyMerge rows_of(Family family) const;
  Status read_meta();
  void read_meta_row(std::string_view key, const std::string& value);
  void read_copied_tube(std::string_view key, const std::string& value);
  void find_places_of_copied_tubes();
  Status read_schedules();
  Status read_jobs();
  Status read_rest(const Options& options);
  Status each_id(bool with_bodies, const std::function<Status(Visit&)>& visit) const;
  void count(const Visit& visit);
  void count_ended(const Visit& visit);
  static std::optional<std::string_view> whole_body(const Visit& visit);
  void drop_key(Visit& visit) const;
  void name_tube(const Visit& visit);
  std::optional<std::string> copied_name(const Visit& visit) const;
  void claim_key(const JobRow& row);
  Status count_notes(const JobRow& row, Notes& notes);
  // Passes on the keys that fit the jobs, and counts what it drops and rebuilds.
  Status merge_keys(const std::function<Status(const KeyStored&)>& take, Salvaged& account) const;
  static bool fits(const KeyStored& row, const Claim& claim);
  std::optional<KeyStored> rebuilt(const std::string& place, const Claim& claim) const;

  TableDamage damage_;
  DamagedIds without_blocks_{{}, Family::Bodies};  // What an open store has left out of tables.
  std::unique_ptr<Database> whole_;                // Without the damaged tables.
  std::unique_ptr<Database> copy_;  // The checkpoint. Null: there is none, or nothing is damaged.
  std::array<FamilyMerge::Copy, family_count> copies_;  // Of each family.
  Salvaged account_;
  std::optional<CommitRow> found_commit_;
  CommitRow commit_;
  JobId next_id_ = 1;
  mutable JobId id_max_ = 0;  // The highest id that is seen anywhere.
  Nanos created_max_ = 0;
  std::optional<uint32_t> format_;
  std::map<TubeId, std::string> tubes_;
  absl::flat_hash_set<TubeId> renamed_;
  // Of the checkpoint. A number that is another tube's by now has a new one in `copied_places_`.
  std::map<TubeId, std::string> copied_tubes_;
  std::map<TubeId, TubeId> copied_places_;
  std::vector<TubePaused> pauses_;
  std::vector<SettingsStored> settings_;
  std::map<std::string, EndedSpan> ended_spans_;
  std::map<std::string, ScheduleProgress> schedules_;  // By name.
  std::map<std::string, Claim> claims_;                // By key_row_key().
  absl::flat_hash_set<JobId> without_key_;             // Jobs whose key belongs to another job.
};

}  // namespace perennial::store
