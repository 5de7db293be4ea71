#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include <rocksdb/file_system.h>

#include "tests/support/power_loss.h"

// A file system that fails calls on request, and that loses on request what was never synced. It
// lies between a real file system and RocksDB: rocksdb::NewCompositeEnv(fault_fs). Every method may
// be called from any thread.
namespace perennial::support {

// The kinds of calls that can be counted and failed.
enum class Call : uint8_t {
  Create,
  Append,
  Sync,
  Fsync,
  RangeSync,
  Close,
  Rename,
  Delete,
  DirSync,
  Open,
  Read,
  FreeSpace
};
inline constexpr size_t call_kinds = 12;

// The sizes of a file, in bytes.
struct FileState {
  uint64_t written = 0;
  uint64_t synced = 0;
  std::vector<Overwrite> overwrites = {};  // Since the last sync, of bytes below `synced`.
};

class FaultFs : public rocksdb::FileSystemWrapper {
 public:
  explicit FaultFs(const std::shared_ptr<rocksdb::FileSystem>& base);
  ~FaultFs() override;

  // Fails the n-th call from now on, counted from 0, among the calls of one kind or all calls that
  // write. Later calls succeed. With `writes_part` an append writes half of its bytes first.
  void fail_nth(uint64_t n, rocksdb::IOStatus status, std::optional<Call> only = std::nullopt,
                bool writes_part = false);
  // Whether that fault was reached.
  bool fired() const;
  // Fails every call of one kind from now on.
  void fail_all(Call kind, rocksdb::IOStatus status);
  uint64_t count(Call kind) const;
  // Runs `action` once, before the n-th call from now on that writes. It may be lose_power() or the
  // end of the process.
  void before_nth(uint64_t n, std::function<void()> action);
  // Sets a hook that runs before each sync of a file, on the thread that syncs.
  void set_sync_hook(std::function<void(const std::string& path)> hook);
  // Sets what GetFreeSpace reports instead of the real value.
  void set_free_bytes(uint64_t bytes);

  // Syncs of files with this suffix report success and do nothing.
  void lie_about_syncs(std::string suffix);
  // From now on creations, renames and deletions whose directory was not synced are undone by
  // lose_power(). `path` is an empty directory on the same disk, for files that are deleted
  // meanwhile.
  void forget_entries(std::string path);
  // Appends a line for each call to this file: its number, kind, file, bytes and outcome. The file
  // is complete however the process ends.
  void trace_to(const std::string& path);

  // From now on every call fails. Each file is truncated to its last sync, or keeps a part of what
  // followed, drawn from the seed.
  void lose_power(Loss loss = Loss::Whole, uint64_t seed = 0);

  const char* Name() const override { return "perennial.FaultFs"; }

  // For files of this file system. Makes a call unless it must fail. The power is not lost during a
  // call.
  template <typename Function>
  rocksdb::IOStatus call(Call kind, const std::string& path, uint64_t bytes,
                         const Function& function) {
    run_action(kind);
    const std::shared_lock power(power_);
    rocksdb::IOStatus status = enter(kind);
    if (status.ok()) status = function();
    trace(kind, path, bytes, status);
    return status;
  }
  // After an append has failed in call(): how many of these bytes must be written all the same.
  uint64_t part_of(uint64_t bytes);
  bool sync_is_a_lie(const std::string& path) const;
  void entries_synced(const std::string& dir);
  void run_sync_hook(const std::string& path);
  // Changes the state of a file under the lock.
  void update(FileState& file, const std::function<void(FileState&)>& change);

  rocksdb::IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomAccessFile(const std::string& path,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* file,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomRWFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* dir,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                             const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetFreeSpace(const std::string& path, const rocksdb::IOOptions& options,
                                 uint64_t* bytes, rocksdb::IODebugContext* debug) override;

 private:
  struct Fault {
    uint64_t calls_left;
    rocksdb::IOStatus status;
    std::optional<Call> only;
    bool writes_part;
  };
  // A change of a directory that was not synced. Only the members that the kind needs are set.
  struct Entry {
    Call kind;         // Create, Rename or Delete.
    std::string path;  // For a rename: the new path.
    std::string from = {};
    std::string grave = {};  // Where the file that was at `path` is kept, if there was one.
  };

  void run_action(Call kind);
  // Counts a call and returns whether it may proceed.
  rocksdb::IOStatus enter(Call kind);
  std::shared_ptr<FileState> track(const std::string& path, uint64_t bytes);
  void trace(Call kind, const std::string& path, uint64_t bytes, const rocksdb::IOStatus& status);
  // Under the lock: makes a second link to the file at `path`. Returns its path, or an empty
  // string.
  std::string bury(const std::string& path);
  void changed(Entry entry);
  void undo(const Entry& entry);

  std::shared_mutex power_;   // Shared by each call, exclusive in lose_power().
  mutable std::mutex mutex_;  // Guards the members below, which several threads of RocksDB use.
  // Files that were written through this object, by path.
  std::map<std::string, std::shared_ptr<FileState>> files_;
  std::array<uint64_t, call_kinds> counts_ = {};
  std::array<std::optional<rocksdb::IOStatus>, call_kinds> failing_;
  std::optional<Fault> fault_;
  bool fired_ = false;
  uint64_t action_calls_left_ = 0;
  std::function<void()> action_;
  bool has_power_ = true;
  bool part_is_due_ = false;
  std::optional<std::string> lies_about_;
  std::string graves_;  // Empty: entries are never lost.
  uint64_t last_grave_ = 0;
  std::map<std::string, std::vector<Entry>> unsynced_entries_;  // By directory.
  int trace_file_ = -1;
  uint64_t trace_lines_ = 0;
  std::optional<uint64_t> free_bytes_;
  std::function<void(const std::string&)> sync_hook_;
};

}  // namespace perennial::support
