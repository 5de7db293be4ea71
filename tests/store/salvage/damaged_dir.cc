#include "tests/store/salvage/damaged_dir.h"

#include <array>
#include <filesystem>
#include <memory>
#include <string_view>

#include <rocksdb/sst_file_reader.h>

#include "engine/types/check.h"
#include "store/format/bytes.h"
#include "store/offline/builder.h"
#include "tests/store/dir_state.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"

namespace perennial::store {
namespace {

namespace fs = std::filesystem;

constexpr TubeId tubes = 400;

std::string tube_name(uint64_t number) {
  return "tube-of-a-name-that-takes-some-room-in-a-block-of-the-table-" + std::to_string(number);
}

std::string body_to_damage(JobId id) {
  return body_of(id);
}

JobRow row_of(JobId id, TubeId tube, size_t body_bytes) {
  JobRow row = {.id = id,
                .state = job_states[id % job_states.size()],
                .tube = tube,
                .priority = static_cast<uint32_t>(id),
                .ttr_s = 60,
                .created = static_cast<Nanos>(id) * nanos_per_second,
                .body_bytes = static_cast<uint32_t>(body_bytes)};
  if (row.state == JobState::Delayed) row.order = (id + 1'000'000) * nanos_per_second;
  if (row.state == JobState::Buried) row.order = id;
  if (row.state == JobState::Buried) row.buries = 1;
  if (id % 5 == 0) {
    JobFields fields;
    fields.key = JobKey{.key = "a-key-that-takes-some-room-" + std::to_string(id),
                        .until = KeyUntil::Deleted};
    row.fields = fields;
  }
  if (id % 3 == 0) row.fields.make().notes = 1 + static_cast<uint32_t>(id / 3 % 5);
  return row;
}

// They ended in few tubes, in the order of their ids.
void add_ended_jobs(Builder& builder, JobId count) {
  constexpr JobId tubes_with_ended = 5;
  for (JobId at = 0; at < count; ++at) {
    const JobId id = damaged_dir_jobs + 1 + at;
    const std::string body = body_to_damage(id);
    EndedJob job = {.row = row_of(id, 0, body.size()),
                    .tube = tube_name(at % tubes_with_ended),
                    .place = 1 + at / tubes_with_ended,
                    .at = static_cast<Nanos>(id) * nanos_per_second};
    CHECK(builder.add_ended(job, body).ok());
    const uint32_t notes = job.row.fields ? job.row.fields->notes : 0;
    for (uint32_t number = notes - notes_kept(notes) + 1; number <= notes; ++number) {
      CHECK(builder.add_note(id, note_of(id, number)).ok());
    }
  }
}

uint64_t byte_to_flip(Part part, const TableLayout& layout) {
  switch (part) {
    case Part::FirstBlock:
      return 100;
    case Part::LastBlock:
      return layout.data_bytes - 100;
    case Part::Index:
      return layout.data_bytes + 20;
    case Part::Properties:
      return layout.file_bytes - 400;  // Between the index and the last blocks.
    case Part::Metaindex:
      return layout.metaindex + 10;
    case Part::Footer:
      return layout.file_bytes - 4;
    default:
      return layout.data_bytes / 2;
  }
}

}  // namespace

std::string largest_table(const std::string& db_path, Family family) {
  std::string largest;
  for (const auto& file : fs::directory_iterator(db_path)) {
    if (file.path().extension() != ".sst") continue;
    rocksdb::SstFileReader table{rocksdb::Options()};
    CHECK(table.Open(file.path()).ok());
    const auto properties = table.GetTableProperties();
    if (properties->column_family_name != family_names[place_of(family)]) continue;
    if (largest.empty() || file.file_size() > fs::file_size(largest)) largest = file.path();
  }
  CHECK(!largest.empty());
  return largest;
}

TableLayout layout_of(const std::string& path) {
  rocksdb::SstFileReader table{rocksdb::Options()};
  CHECK(table.Open(path).ok());
  const auto properties = table.GetTableProperties();
  const IndexKeys keys =
      properties->index_key_is_user_key != 0 ? IndexKeys::OfFamily : IndexKeys::WithNumbers;
  std::unique_ptr<rocksdb::FSRandomAccessFile> file;
  CHECK(rocksdb::FileSystem::Default()->NewRandomAccessFile(path, {}, &file, nullptr).ok());
  Result<std::vector<TableBlock>> blocks = list_blocks(*file, fs::file_size(path), keys);
  CHECK(blocks.ok());
  const std::string content = content_of(path);
  std::string_view handle = std::string_view(content).substr(content.size() - footer_bytes + 1);
  return {.blocks = blocks.take(),
          .data_bytes = properties->data_size,
          .metaindex = *take_varint(handle),
          .file_bytes = content.size()};
}

void make_dir_to_damage(const std::string& path, JobId ended_jobs) {
  auto builder = Builder::begin({.path = path});
  CHECK(builder.ok());
  std::vector<TubeId> numbers;
  for (TubeId number = 0; number < tubes; ++number) {
    const Result<TubeId> tube = (*builder)->tube(tube_name(number));
    CHECK(tube.ok());
    numbers.push_back(*tube);
  }
  CHECK((*builder)->add_settings({.tube = "mail", .settings = {.tries = 3}}).ok());
  for (JobId id = 1; id <= damaged_dir_jobs; ++id) {
    const std::string body = body_to_damage(id);
    const JobRow row = row_of(id, numbers[id % tubes], body.size());
    CHECK((*builder)->add_job(row, body).ok());
    const uint32_t notes = row.fields ? row.fields->notes : 0;
    for (uint32_t number = notes - notes_kept(notes) + 1; number <= notes; ++number) {
      CHECK((*builder)->add_note(id, note_of(id, number)).ok());
    }
    if (!row.fields || !row.fields->key) continue;
    CHECK((*builder)
              ->add_key({.tube = tube_name(id % tubes),
                         .key = row.fields->key->key,
                         .job = id,
                         .until = KeyUntil::Deleted,
                         .expires_at = 0})
              .ok());
  }
  add_ended_jobs(**builder, ended_jobs);
  CHECK((*builder)
            ->publish({.epoch = 1, .index = 2, .now = 1'000'000 * nanos_per_second},
                      damaged_dir_jobs + ended_jobs + 1)
            .ok());
}

void copy_dir_to_damage(const std::string& path) {
  static const TempDir made;
  if (!fs::exists(made.data_dir())) make_dir_to_damage(made.data_dir());
  fs::copy(made.data_dir(), path, fs::copy_options::recursive);
}

std::string table_of(const std::string& path, Family family) {
  return largest_table(path + "/db", family);
}

std::string name_of(const DamageCase& damage) {
  constexpr std::array<const char*, 9> parts = {"DataBlock", "FirstBlock", "LastBlock",
                                                "Index",     "Properties", "Metaindex",
                                                "Footer",    "Missing",    "Cut"};
  std::string name(name_of(damage.family));
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name + parts[static_cast<size_t>(damage.part)];
}

std::vector<DamageCase> all_damages() {
  std::vector<DamageCase> out;
  for (size_t family = 0; family <= place_of(Family::Notes); ++family) {
    for (const Part part :
         {Part::DataBlock, Part::FirstBlock, Part::LastBlock, Part::Index, Part::Properties,
          Part::Metaindex, Part::Footer, Part::Missing, Part::Cut}) {
      out.push_back({.family = static_cast<Family>(family), .part = part});
    }
  }
  return out;
}

void damage_table(const std::string& path, const DamageCase& damage) {
  const std::string table = largest_table(path + "/db", damage.family);
  const TableLayout layout = layout_of(table);
  std::string content = content_of(table);
  fs::remove(table);
  if (damage.part == Part::Missing) return;
  if (damage.part == Part::Cut) {
    content.resize(content.size() / 2);
  } else {
    char& byte = content[byte_to_flip(damage.part, layout)];
    byte = static_cast<char>(byte ^ 0x10);
  }
  write_file(table, content);
}

}  // namespace perennial::store
