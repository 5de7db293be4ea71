#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "engine/types/check.h"
#include "store/reader.h"
#include "store/store.h"
#include "tests/store/salvage/damaged_dir.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"

// Keys that end with zeros, at the borders of blocks. The index of a table has shortened keys: one
// that lies between two blocks ends where the first key of the second block has only zeros left. So
// the key behind it is not the number behind it.
//
// All numbers of jobs and tubes are multiples of 256, and so is the first one of each block. Each
// block of a table is damaged in turn. Blind to keys of tubes, which are texts without zeros.
namespace perennial::store {
namespace {

// So many that the second to last body is a long one, and the last one is alone in its block.
constexpr JobId jobs = 17 * 88 + 1;

JobId id_of(JobId place) {
  return place * 256;
}

std::string tube_name(JobId id) {
  return "tube-of-a-name-that-takes-some-room-in-a-block-of-the-table-" + std::to_string(id);
}

// Each job is in a tube of its own, and has a note.
void write_jobs(const std::string& path) {
  const auto store = Store::open({.data_dir = path});
  CHECK(store.ok());
  for (JobId place = 1; place <= jobs; ++place) {
    const JobId id = id_of(place);
    const std::string body = body_of(id);
    JobRow row = {.id = id,
                  .tube = static_cast<TubeId>(id),
                  .ttr_s = 1,
                  .body_bytes = static_cast<uint32_t>(body.size())};
    row.fields.make().notes = 1;
    Batch batch;
    batch.add(NextIdRaised{.next_id = id + 1});
    batch.add(TubeStored{.tube = row.tube, .name = tube_name(id)});
    batch.add(JobMoved{.id = id, .before = {}, .after = row, .promised = true}, body);
    batch.add(NoteStored{.job = id, .note = note_of(id, 1)});
    batch.seal({.epoch = (*store)->opening().epoch,
                .index = place,
                .known_durable = place - 1,
                .now = static_cast<Nanos>(place)});
    CHECK((*store)->write(batch, place == jobs).ok());
  }
  CHECK((*store)->flush().ok());
}

std::string key_of(Family family, JobId id) {
  if (family == Family::Meta) {
    return std::string(view(tube_key(MetaTag::Tube, static_cast<TubeId>(id))));
  }
  if (family == Family::Notes) return std::string(view(note_key(id, 0)));
  return std::string(view(job_key(id)));
}

std::set<JobId> jobs_in(const TableBlock& block, Family family) {
  std::set<JobId> out;
  for (JobId place = 1; place <= jobs; ++place) {
    const std::string key = key_of(family, id_of(place));
    if (block.after < key && key <= block.until) out.insert(id_of(place));
  }
  return out;
}

// What a salvage does not find, each by the id of its job, and what the account says of it.
struct Missing {
  std::set<JobId> rows = {};
  std::set<JobId> bodies = {};  // Of jobs with a row.
  std::set<JobId> names = {};
  std::set<JobId> notes = {};
  Salvaged account = {};
};

Missing salvage(const std::string& path) {
  Missing out;
  const auto reader = Reader::open({.path = path, .salvage = true});
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  if (!reader.ok()) return out;
  const Result<Image> image = read_image(**reader);
  EXPECT_TRUE(image.ok()) << image.status().message();
  if (!image.ok()) return out;
  Reader::Bodies bodies = (*reader)->bodies();
  Reader::Notes notes = (*reader)->notes();
  for (JobId place = 1; place <= jobs; ++place) {
    const JobId id = id_of(place);
    const auto row = image->jobs.find(id);
    if (row == image->jobs.end()) {
      out.rows.insert(id);
      continue;
    }
    const Result<std::string_view> body = bodies.read(id);
    if (!body.ok() || *body != body_of(id)) out.bodies.insert(id);
    const auto tube = image->tubes.find(row->second.tube);
    if (tube == image->tubes.end() || tube->second != tube_name(id)) out.names.insert(id);
    const Result<std::vector<Note>> found = notes.read(id, 1);
    if (!found.ok() || found->empty() || found->front() != note_of(id, 1)) out.notes.insert(id);
  }
  out.account = *(*reader)->salvaged();
  return out;
}

std::set<JobId> set_of(const IdList& ids) {
  return {ids.ids.begin(), ids.ids.end()};
}

std::set<JobId> jobs_in(const std::vector<UnreadableRange>& ranges, Family family) {
  std::set<JobId> out;
  for (JobId place = 1; place <= jobs; ++place) {
    const std::string key = key_of(family, id_of(place));
    const bool is_in = std::ranges::any_of(ranges, [&](const UnreadableRange& range) {
      return range.first_key <= key && key < range.end_key;
    });
    if (is_in) out.insert(id_of(place));
  }
  return out;
}

class RoundKeys : public testing::TestWithParam<Family> {
 protected:
  RoundKeys() { write_jobs(dir_.data_dir()); }

  void expect_exactly(const std::set<JobId>& in_block, const Missing& missing) const {
    const std::set<JobId> none;
    const Salvaged& account = missing.account;
    EXPECT_EQ(missing.rows, GetParam() == Family::Ready ? in_block : none);
    EXPECT_EQ(set_of(account.rows_lost), missing.rows);
    EXPECT_EQ(missing.bodies, GetParam() == Family::Bodies ? in_block : none);
    EXPECT_EQ(set_of(account.bodies_lost), missing.bodies);
    EXPECT_EQ(missing.names, GetParam() == Family::Meta ? in_block : none);
    EXPECT_EQ(set_of(account.jobs_in_renamed), missing.names);
    EXPECT_EQ(missing.notes, GetParam() == Family::Notes ? in_block : none);
    EXPECT_EQ(account.notes_lost, missing.notes.size());
    EXPECT_EQ(account.uncertain.count, 0U);
    ASSERT_EQ(account.tables.size(), 1U);
    EXPECT_EQ(jobs_in(account.tables.front().unreadable, GetParam()), in_block);
  }

  const TempDir dir_;
};

TEST_P(RoundKeys, OfADamagedBlockAreLostAndNoOthers) {
  const std::string table = table_of(dir_.data_dir(), GetParam());
  const TableLayout layout = layout_of(table);
  ASSERT_GE(layout.blocks.size(), 4U);
  if (GetParam() == Family::Bodies) {
    EXPECT_EQ(jobs_in(layout.blocks.back(), GetParam()), std::set<JobId>{id_of(jobs)});
  }
  for (const TableBlock& block : layout.blocks) {
    SCOPED_TRACE("the block at " + std::to_string(block.offset));
    const std::set<JobId> in_block = jobs_in(block, GetParam());
    ASSERT_FALSE(in_block.empty());
    const uint64_t middle = block.offset + block.bytes / 2;
    flip_byte(table, middle);
    ASSERT_NO_FATAL_FAILURE(expect_exactly(in_block, salvage(dir_.data_dir())));
    flip_byte(table, middle);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Salvage, RoundKeys, testing::Values(Family::Meta, Family::Ready, Family::Bodies, Family::Notes),
    [](const testing::TestParamInfo<Family>& one) { return std::string(name_of(one.param)); });

}  // namespace
}  // namespace perennial::store
