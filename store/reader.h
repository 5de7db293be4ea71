#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/note.h"
#include "engine/types/status.h"
#include "store/format/format.h"
#include "store/salvage/salvaged.h"
#include "store/store.h"
#include "store/types/options.h"

namespace perennial::store {

// The rows of a column family as one hash: XXH3 of 128 bits over the length and the bytes of each
// key and each value, in the order of keys; 32 hexadecimal digits.
struct FamilyDigest {
  std::string_view family;  // Its name: family_names.
  uint64_t rows = 0;
  std::string hash;

  bool operator==(const FamilyDigest&) const = default;
};

// A data directory or a checkpoint that a tool opens only to read it. A reader shows what a start
// would find, and writes nothing: if a start would truncate the log, the reader ignores the same
// bytes. While it is open it keeps servers from locking the directory; several readers may have it
// open at once. Its memory does not grow with the number of jobs.
class Reader {
 public:
  struct Options {
    std::string path = {};  // The directory that holds `db/`.
    Recover recover = Recover::Strict;
    // Reads all that can be read of a damaged directory, instead of refusing it.
    bool salvage = false;
    // With `salvage`: the path of a checkpoint, whose rows stand in for those that cannot be read.
    // REQUIRES: it is whole, and of this database.
    std::string checkpoint = {};
    Events events = {};
    // The file system; null means that of the machine. It must outlive the reader.
    rocksdb::Env* env = nullptr;
  };

  // NotFound: there is no such directory. Locked: a server uses it. Corruption: it is damaged, or
  // not ours. Unsupported: this version does not read its format. Io: it cannot be read.
  static Result<std::unique_ptr<Reader>> open(Options options);
  ~Reader();

  // The commit row of the last batch.
  const CommitRow& commit() const;
  // The format of the database: format.h.
  uint32_t format() const;
  // Neither this id nor a higher one was ever used.
  JobId next_id() const;

  // What cannot be read. Null unless the reader salvages. What the functions below pass on fits
  // together nevertheless: each job has a tube, and each key that is held is held by its job.
  const Salvaged* salvaged() const;

  // As Store::load(). It may be called several times. Corruption also if a family has another
  // number of rows than its tables say, because RocksDB may pass over a damaged block without an
  // error.
  Status load(const LoadSink& sink) const;
  // Passes only the keys, in the order of load().
  Status load_keys(const std::function<Status(const KeyStored&)>& take) const;

  // Passes the jobs that have ended and are kept, in the order of ids. Their bodies and notes are
  // read as those of jobs. Corruption: some are missing, because a block of them is damaged, or as
  // load(); all that a start would find were passed, and the message says which are missing. It may
  // be called several times.
  Status ended(const std::function<Status(const EndedJob&)>& take) const;

  // Reads bodies in the order of ids.
  class Bodies {
   public:
    Bodies(Bodies&&) noexcept;
    ~Bodies();
    // Returns the body, which is valid until the next call. NotFound: there is none. Corruption: it
    // is not what was written. damaged() then returns the bytes that are there instead, or nothing
    // if they cannot be read. REQUIRES: `id` is higher than that of the last call.
    Result<std::string_view> read(JobId id);
    std::string_view damaged() const;

   private:
    friend class Reader;
    struct Impl;
    explicit Bodies(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
  };
  // The result must end before the reader.
  Bodies bodies() const;

  // Reads notes of jobs.
  class Notes {
   public:
    Notes(Notes&&) noexcept;
    ~Notes();
    // Returns the notes of a job, the oldest first: at most notes_max. A note that is not there, or
    // whose row is not what was written, is left out. `had`: how many notes the job counts.
    // Corruption: a block is damaged that may have some. REQUIRES: if the reader salvages, `id` is
    // higher than that of the last call.
    Result<std::vector<Note>> read(JobId id, uint32_t had);
    // What is wrong with the rows that the last read() has left out. A reader that salvages has
    // them in its account instead.
    const std::vector<Status>& problems() const;

   private:
    friend class Reader;
    struct Impl;
    explicit Notes(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
  };
  // The result must end before the reader.
  Notes notes() const;

  // Returns the digests of all families, in their order: what is the same in the databases of all
  // nodes of a cluster that have applied the same batches. Of the commit row it takes the index and
  // the time of the batch only: each directory counts its own epochs, and knows for itself what its
  // disk holds. It reads every row. Io: `cancelled` has returned true, or the disk failed.
  // Corruption: a row cannot be read. REQUIRES: the reader does not salvage.
  Result<std::vector<FamilyDigest>> digests(const std::function<bool()>& cancelled = {}) const;

 private:
  struct Impl;
  explicit Reader(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace perennial::store
