#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/types/basic.h"
#include "tests/flip/specimen.h"

// What a start makes of a damaged data directory.
namespace perennial::store {

enum class Verdict : uint8_t {
  Whole,        // Everything that was acknowledged is there, exactly.
  Refused,      // It did not open or load, or ended as soon as it met the damage.
  BodyDamaged,  // All is there, and reading one body told that it is damaged.
  LastDropped,  // All but the last batch is there, and an event told its number.
  Shorter,      // History ends earlier; what is there is exact.
  Wrong,        // A silent loss, a crash, or something else that must never be.
};
const char* name_of(Verdict verdict);

struct Judgement {
  Verdict verdict = Verdict::Wrong;
  BatchIndex index = 0;  // Of the last batch found.
  bool was_cut = false;  // There was an event that told where something was cut.
  std::string message = {};
};

// Opens a damaged copy in a child, loads it and reads every body; first with a Reader, which must
// refuse when a start does, and otherwise find the same.
Judgement judge(const Specimen& specimen, const std::string& path);

// How often each verdict came, by kind of file.
class Tally {
 public:
  void add(const std::string& kind, Verdict verdict) { ++counts_[kind][verdict]; }
  void print(const char* title) const;

 private:
  std::map<std::string, std::map<Verdict, int>> counts_;
};

}  // namespace perennial::store
