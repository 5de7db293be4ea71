#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "store/format/format.h"
#include "store/store.h"
#include "store/types/options.h"

namespace perennial::store {

// A data directory or a checkpoint, opened only to be read, for tools. Holds what a start would
// find there, and writes nothing: a log that a start would cut is read up to there and left alone.
// Keeps the directory locked against servers for as long as it lives; several may read one at once.
// Its memory does not grow with the number of jobs.
class Reader {
 public:
  struct Options {
    std::string path = {};  // What holds `db/`.
    Recover recover = Recover::Strict;
    Events events = {};
    // The file system, the machine's if null. It must outlive the reader.
    rocksdb::Env* env = nullptr;
  };

  // NotFound: there is no such directory. Locked: a server uses it. Corruption: it is damaged, or
  // not ours. Unsupported: of a format that this version does not read. Io: it cannot be read.
  static Result<std::unique_ptr<Reader>> open(Options options);
  ~Reader();

  // Of the last batch that is in.
  const CommitRow& commit() const;
  // No id from here on was ever used.
  JobId next_id() const;

  // Gives back tubes, then pauses, then jobs, each by number; store.h. May be called again.
  Status load(const LoadSink& sink) const;

  // Bodies, each asked for once, in the order of ids.
  class Bodies {
   public:
    Bodies(Bodies&&) noexcept;
    ~Bodies();
    // The body, good until the next call. NotFound: there is none. Corruption: it is not what was
    // written; damaged() has then what is there instead, or nothing where that cannot be read.
    // REQUIRES: `id` is above the last one.
    Result<std::string_view> read(JobId id);
    std::string_view damaged() const;

   private:
    friend class Reader;
    struct Impl;
    explicit Bodies(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
  };
  // Ends before the reader does.
  Bodies bodies() const;

 private:
  struct Impl;
  explicit Reader(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace perennial::store
