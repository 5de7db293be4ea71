#include "store/salvage/job_evidence.h"

#include <ostream>
#include <string>

#include <gtest/gtest.h>

namespace perennial::store {
namespace {

using Fate = JobFinding::Fate;

constexpr KeyTrace put_at(uint64_t time, uint64_t hidden = 0) {
  return {.newest = KeyTrace::Newest::Put,
          .newest_time = time,
          .put_time = time,
          .hidden_time = hidden};
}
constexpr KeyTrace removed_at(uint64_t time, uint64_t put_time = 0, uint64_t hidden = 0) {
  return {.newest = KeyTrace::Newest::Removal,
          .newest_time = time,
          .put_time = put_time,
          .hidden_time = hidden};
}
constexpr KeyTrace hidden_to(uint64_t time) {
  return {.hidden_time = time};
}
// In the checkpoint, and hidden here if `hidden` is not 0.
constexpr KeyTrace copied(uint64_t time, uint64_t hidden) {
  if (hidden == 0) return {.put_time = time, .is_of_copy = true};
  return {.newest = KeyTrace::Newest::Put,
          .newest_time = time,
          .put_time = time,
          .hidden_time = hidden,
          .is_of_copy = true};
}

struct EvidenceCase {
  const char* name;
  KeyTrace ready = {};
  KeyTrace buried = {};
  KeyTrace body = {};
  Fate want = Fate::Absent;
  JobState state = JobState::Ready;
  bool is_uncertain = false;
};
void PrintTo(const EvidenceCase& one, std::ostream* out) {
  *out << one.name;
}

class Evidence : public testing::TestWithParam<EvidenceCase> {};

TEST_P(Evidence, Says) {
  const EvidenceCase& given = GetParam();
  const JobFinding found = find_job({given.ready, {}, {}, given.buried}, given.body);
  EXPECT_EQ(found.fate, given.want);
  EXPECT_EQ(found.is_uncertain, given.is_uncertain);
  EXPECT_EQ(found.state, given.state);
}

std::string case_name(const testing::TestParamInfo<EvidenceCase>& one) {
  return one.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    Job, Evidence,
    testing::Values(
        EvidenceCase{.name = "Whole", .ready = put_at(5), .body = put_at(5), .want = Fate::Found},
        EvidenceCase{.name = "Deleted", .ready = removed_at(9), .body = removed_at(9)},
        EvidenceCase{.name = "Moved",
                     .ready = removed_at(9, 5),
                     .buried = put_at(9),
                     .body = put_at(5),
                     .want = Fate::Found,
                     .state = JobState::Buried},
        // The row's removal is hidden, and the body's is not.
        EvidenceCase{
            .name = "DeletedAsTheBodySays", .ready = put_at(5, 20), .body = removed_at(9, 5)},
        // A compaction has removed the body and its removal.
        EvidenceCase{.name = "DeletedAsNoBodySays", .ready = put_at(5, 20), .body = {}},
        EvidenceCase{.name = "MovedAndTheRemovalIsHidden",
                     .ready = put_at(5, 20),
                     .buried = put_at(9),
                     .body = put_at(5),
                     .want = Fate::Found,
                     .state = JobState::Buried},
        // What lies lowest has the time 1, whenever it was put.
        EvidenceCase{.name = "MovedToTheLowestLevel",
                     .ready = put_at(5, 20),
                     .buried = put_at(1),
                     .body = put_at(1),
                     .want = Fate::Found,
                     .state = JobState::Buried},
        EvidenceCase{.name = "OnlyItsOwnFamilyHides",
                     .ready = put_at(5, 20),
                     .body = put_at(5),
                     .want = Fate::Found},
        EvidenceCase{.name = "PerhapsElsewhere",
                     .ready = put_at(5, 20),
                     .buried = hidden_to(20),
                     .body = put_at(5),
                     .want = Fate::Found,
                     .is_uncertain = true},
        EvidenceCase{.name = "PerhapsDeleted",
                     .ready = put_at(5, 20),
                     .body = put_at(5, 20),
                     .want = Fate::Found,
                     .is_uncertain = true},
        EvidenceCase{
            .name = "BodyHidden", .ready = put_at(5), .body = hidden_to(20), .want = Fate::Found},
        EvidenceCase{
            .name = "RowHidden", .ready = hidden_to(20), .body = put_at(5), .want = Fate::RowLost},
        EvidenceCase{.name = "RowHiddenAndPerhapsDeleted",
                     .ready = hidden_to(20),
                     .body = put_at(5, 20),
                     .want = Fate::RowLost,
                     .is_uncertain = true},
        EvidenceCase{.name = "DeletedAndTheBodysRemovalIsHidden",
                     .ready = removed_at(9, 5),
                     .body = put_at(5, 20)},
        EvidenceCase{.name = "AnEarlierRow",
                     .ready = removed_at(9, 5),
                     .buried = hidden_to(20),
                     .body = put_at(5),
                     .want = Fate::Found,
                     .is_uncertain = true},
        EvidenceCase{
            .name = "RowOfTheCopy", .ready = copied(5, 20), .body = put_at(5), .want = Fate::Found},
        // The time of what is hidden in `buried` says nothing: its table is of the lowest level.
        EvidenceCase{.name = "RowOfTheCopyAndPerhapsElsewhere",
                     .ready = copied(5, 20),
                     .buried = hidden_to(1),
                     .body = put_at(5),
                     .want = Fate::Found,
                     .is_uncertain = true},
        EvidenceCase{.name = "MovedSinceTheCopy",
                     .ready = copied(5, 0),
                     .buried = hidden_to(20),
                     .body = put_at(5),
                     .want = Fate::Found,
                     .is_uncertain = true},
        EvidenceCase{.name = "MovedSinceTheCopyToWhatCanBeRead",
                     .ready = copied(5, 20),
                     .buried = put_at(9),
                     .body = put_at(5),
                     .want = Fate::Found,
                     .state = JobState::Buried},
        EvidenceCase{.name = "DeletedSinceTheCopy", .ready = copied(5, 20), .body = {}},
        EvidenceCase{.name = "DeletedSinceTheCopyAndNothingIsHidden",
                     .ready = copied(5, 0),
                     .body = copied(5, 0)},
        EvidenceCase{.name = "DeletedSinceTheCopyAsTheRowSays",
                     .ready = copied(5, 0),
                     .body = copied(5, 20)},
        EvidenceCase{.name = "BodyOfTheCopy",
                     .ready = put_at(5),
                     .body = copied(5, 20),
                     .want = Fate::Found},
        EvidenceCase{.name = "BothOfTheCopy",
                     .ready = copied(5, 20),
                     .body = copied(5, 20),
                     .want = Fate::Found,
                     .is_uncertain = true}),
    case_name);

}  // namespace
}  // namespace perennial::store
