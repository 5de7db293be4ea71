#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "store/salvage/salvaged.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace perennial::store {

// Makes a new database from all that can be read of a damaged one, and puts it in the place of
// that. The damaged one stays beside it until the operator removes it. A crash leaves the one or
// the other: replacement.h.
class Repair {
 public:
  // Takes the lock of the directory and reads everything, and changes nothing. `env`: the file
  // system, the machine's if null. `checkpoint`: as in Reader::Options. NotFound: there is no
  // database. Locked: a server uses it. Corruption: nothing can be read. InvalidArgument: it
  // belongs to a cluster, whose nodes get their jobs from each other.
  static Result<std::unique_ptr<Repair>> open(const std::string& path,
                                              const std::string& checkpoint = {},
                                              rocksdb::Env* env = nullptr);
  ~Repair();

  // What run() will keep and what it will lose.
  const Salvaged& account() const;
  JobId next_id() const;

  // Keeps the damaged database as `aside` in the data directory, with the file lost-jobs.jsonl: a
  // line for each job that is not in the new database, with all that is left of it. `now`: written
  // into the name. After an error the old database is in its place. Corruption: what is built is
  // not what account() says. Returns the path of the directory that keeps the old one.
  Result<std::string> run(const std::string& time);

 private:
  struct Impl;
  explicit Repair(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace perennial::store
