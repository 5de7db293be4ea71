#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/types/basic.h"
#include "tests/flip/specimen.h"

// The result of starting on a damaged data directory.
namespace perennial::store {

enum class Verdict : uint8_t {
  Whole,         // Everything that was acknowledged is found, exactly.
  Refused,       // The start was refused, or the process ended as soon as it met the damage.
  BodyDamaged,   // Everything is found, and reading one body reported damage.
  EndedDamaged,  // Everything is found but ended jobs that had a row in a damaged block.
  LastDropped,   // All but the last batch is found, and an event named its index.
  Shorter,       // History ends earlier, and what is found is exact.
  Wrong,         // A silent loss, a crash, or another result that is never allowed.
};
const char* name_of(Verdict verdict);

struct Judgement {
  Verdict verdict = Verdict::Wrong;
  BatchIndex index = 0;        // The last batch that was found.
  bool was_truncated = false;  // An event reported where a file was truncated.
  std::string message = {};
};

// Opens a damaged copy in a child process, loads it and reads every body. First a Reader opens the
// copy: it must refuse when the start refuses, and otherwise find the same.
Judgement judge(const Specimen& specimen, const std::string& path);

// The number of verdicts, by kind of file.
class Tally {
 public:
  void add(const std::string& kind, Verdict verdict) { ++counts_[kind][verdict]; }
  void print(const char* title) const;

 private:
  std::map<std::string, std::map<Verdict, int>> counts_;
};

}  // namespace perennial::store
