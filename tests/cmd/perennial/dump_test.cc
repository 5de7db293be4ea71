#include "cmd/perennial/offline/dump.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "cmd/perennial/offline/dump_parser.h"
#include "cmd/perennial/offline/dump_table.h"
#include "cmd/perennial/offline/load.h"
#include "store/offline/builder.h"
#include "store/store.h"
#include "tests/cmd/perennial/capture.h"
#include "tests/cmd/perennial/odd_world.h"
#include "tests/store/raw_db.h"
#include "tests/store/world.h"
#include "tests/support/seed.h"
#include "tests/support/temp_dir.h"

namespace perennial::tool {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using support::TempDir;

Captured run_dump(const std::string& dir, const DumpOptions& options) {
  return capture(dir, [&](int fd) { return dump(options, fd); });
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::set<JobId> ids_of(const std::string& text) {
  std::set<JobId> ids;
  for (const std::string& line : lines_of(text)) {
    const json job = json::parse(line);
    if (job.contains("id")) ids.insert(job["id"].get<JobId>());
  }
  return ids;
}

// Jobs 1 to 6 in two tubes and all states.
void make_small_world(const std::string& path) {
  Result<std::unique_ptr<store::Builder>> builder = store::Builder::begin({.path = path});
  ASSERT_TRUE(builder.ok());
  const TubeId a = *(*builder)->tube("a");
  const TubeId b = *(*builder)->tube("b");
  const JobRow rows[] = {{.id = 1, .state = JobState::Ready, .tube = a},
                         {.id = 2, .state = JobState::Buried, .tube = a, .order = 2},
                         {.id = 3, .state = JobState::Ready, .tube = b},
                         {.id = 4, .state = JobState::Reserved, .tube = b},
                         {.id = 5, .state = JobState::Delayed, .tube = a, .order = 50},
                         {.id = 6, .state = JobState::Buried, .tube = b, .order = 1}};
  for (JobRow row : rows) {
    row.ttr_s = 60;
    row.created = 1'000'000'000;
    row.body_bytes = 5;
    ASSERT_TRUE((*builder)->add_job(row, fmt::format("body{}", row.id)).ok());
  }
  ASSERT_TRUE((*builder)->add_pause({.tube = b, .pause = 5, .until = 6}).ok());
  ASSERT_TRUE((*builder)->publish({.epoch = 1, .index = 9, .known_durable = 8, .now = 7}, 10).ok());
}

TEST(Dump, LoadAndDumpGiveTheSameBytes) {
  for (uint64_t round = 0; round < 12; ++round) {
    const TempDir dir("/dev/shm");
    make_odd_world(dir.path() + "/one", support::seed() + round);
    const Captured first = run_dump(dir.path(), {.data_dir = dir.path() + "/one"});
    ASSERT_TRUE(first.status.ok()) << first.status.message();
    std::ofstream(dir.path() + "/dump", std::ios::binary) << first.text;
    const Captured loaded = capture(dir.path(), [&](int fd) {
      return load({.data_dir = dir.path() + "/two", .from = dir.path() + "/dump"}, fd);
    });
    ASSERT_TRUE(loaded.status.ok()) << loaded.status.message();
    const Captured second = run_dump(dir.path(), {.data_dir = dir.path() + "/two"});
    ASSERT_TRUE(second.status.ok()) << second.status.message();
    EXPECT_TRUE(first.text == second.text) << "seed " << support::seed() + round;
  }
}

// What a server left when it was killed: tables, a log, freed tubes, and a commit row in the log.
TEST(Dump, OfAKilledServerLoadsAsTheSame) {
  for (const bool is_clean : {false, true}) {
    const TempDir dir("/dev/shm");
    store::World world(support::seed());
    {
      auto store = store::Store::open({.data_dir = dir.path() + "/one"});
      ASSERT_TRUE(store.ok());
      for (int i = 0; i < 100; ++i) {
        store::Batch batch;
        world.next(batch, 30);
        ASSERT_TRUE((*store)->write(batch, true).ok());
        if (i == 60) {
          ASSERT_TRUE((*store)->flush().ok());
        }
      }
      if (is_clean) {
        ASSERT_TRUE((*store)->close(world.next_id() + 100).ok());
      }
    }
    const Captured first = run_dump(dir.path(), {.data_dir = dir.path() + "/one"});
    ASSERT_TRUE(first.status.ok()) << first.status.message();
    EXPECT_EQ(ids_of(first.text).size(), world.image().jobs.size());
    std::ofstream(dir.path() + "/dump", std::ios::binary) << first.text;
    const Captured loaded = capture(dir.path(), [&](int fd) {
      return load({.data_dir = dir.path() + "/two", .from = dir.path() + "/dump"}, fd);
    });
    ASSERT_TRUE(loaded.status.ok()) << loaded.status.message();
    EXPECT_TRUE(run_dump(dir.path(), {.data_dir = dir.path() + "/two"}).text == first.text)
        << "seed " << support::seed();
    const auto store = store::Store::open({.data_dir = dir.path() + "/two"});
    ASSERT_TRUE(store.ok()) << store.status().message();
    const Result<store::Image> image = store::read_image(**store);
    ASSERT_TRUE(image.ok()) << image.status().message();
    EXPECT_EQ(image->jobs.size(), world.image().jobs.size());
  }
}

// The documented shape, byte by byte.
TEST(Dump, IsWhatItsHeaderSays) {
  const TempDir dir("/dev/shm");
  make_small_world(dir.path() + "/data");
  const Captured out = run_dump(dir.path(), {.data_dir = dir.path() + "/data"});
  ASSERT_TRUE(out.status.ok());
  const std::vector<std::string> lines = lines_of(out.text);
  ASSERT_EQ(lines.size(), 8u);
  EXPECT_EQ(lines[0],
            R"({"format":"perennial-dump","version":1,"jobs":{"ready":2,"reserved":1,"delayed":1,)"
            R"("buried":2},"tubes":["a","b"],"pauses":[{"tube":"b","duration":5,"end":6}],)"
            R"("next_id":10,"commit":{"epoch":1,"index":9,"known_durable":8,"now":7}})");
  EXPECT_EQ(
      lines[2],
      R"({"id":2,"tube":"a","state":"buried","pri":0,"delay":0,"ttr":60,"created":1000000000,)"
      R"("bury_order":2,"reserves":0,"timeouts":0,"releases":0,"buries":0,"kicks":0,)"
      R"("bytes":5,"body":"body2"})");
  EXPECT_NE(lines[5].find(R"("deadline":50,)"), std::string::npos);
  store::Hasher hasher;
  hasher.add(out.text.substr(0, out.text.size() - lines[7].size() - 1));
  EXPECT_EQ(lines[7], fmt::format(R"({{"jobs":6,"body_bytes":30,"xxh3_128":"{}"}})", hasher.hex()));
}

struct SelectionCase {
  const char* name;
  DumpOptions options;
  std::set<JobId> want;
};

TEST(Dump, GivesWhatWasAskedForAndItLoads) {
  const SelectionCase cases[] = {
      {"tube", {.tube = "a"}, {1, 2, 5}},
      {"state", {.state = "buried"}, {2, 6}},
      {"tube and state", {.tube = "b", .state = "ready"}, {3}},
      {"id", {.id = 4}, {4}},
      {"limit", {.limit = 2}, {1, 2}},
      {"limit of a tube", {.tube = "b", .limit = 2}, {3, 4}},
      {"limit 0", {.limit = 0}, {}},
      {"limit beyond", {.limit = 99}, {1, 2, 3, 4, 5, 6}},
      {"nothing", {.tube = "b", .state = "delayed"}, {}},
  };
  const TempDir dir("/dev/shm");
  make_small_world(dir.path() + "/data");
  for (SelectionCase one : cases) {
    one.options.data_dir = dir.path() + "/data";
    const Captured out = run_dump(dir.path(), one.options);
    ASSERT_TRUE(out.status.ok()) << one.name << out.status.message();
    EXPECT_EQ(ids_of(out.text), one.want) << one.name;
    std::ofstream(dir.path() + "/dump", std::ios::binary) << out.text;
    const Captured loaded = capture(dir.path(), [&](int fd) {
      return load({.data_dir = dir.path() + "/some", .from = dir.path() + "/dump"}, fd);
    });
    EXPECT_TRUE(loaded.status.ok()) << one.name << loaded.status.message();
    const Captured again = run_dump(dir.path(), {.data_dir = dir.path() + "/some"});
    EXPECT_EQ(ids_of(again.text), one.want) << one.name;
    fs::remove_all(dir.path() + "/some");
  }
}

TEST(Dump, RefusesWhatIsNotThereOrMakesNoSense) {
  struct Case {
    DumpOptions options;
    StatusCode want;
  };
  const TempDir dir("/dev/shm");
  const std::string data = dir.path() + "/data";
  make_small_world(data);
  const Case cases[] = {{{.data_dir = data, .tube = "c"}, StatusCode::NotFound},
                        {{.data_dir = data, .id = 7}, StatusCode::NotFound},
                        {{.data_dir = data, .tube = "b", .id = 1}, StatusCode::NotFound},
                        {{.data_dir = data, .state = "lost"}, StatusCode::InvalidArgument},
                        {{.data_dir = data, .format = "xml"}, StatusCode::InvalidArgument},
                        {{.data_dir = data, .json = true}, StatusCode::InvalidArgument},
                        {{.data_dir = dir.path() + "/none"}, StatusCode::NotFound},
                        {{.data_dir = dir.path()}, StatusCode::Corruption}};
  for (const Case& one : cases) {
    const Captured out = run_dump(dir.path(), one.options);
    EXPECT_EQ(out.status.code(), one.want) << out.status.message();
    EXPECT_EQ(out.text, "");
  }
}

TEST(Dump, OfADirectoryInUseIsRefused) {
  const TempDir dir("/dev/shm");
  const auto store = store::Store::open({.data_dir = dir.path() + "/data"});
  ASSERT_TRUE(store.ok());
  const Captured out = run_dump(dir.path(), {.data_dir = dir.path() + "/data"});
  EXPECT_EQ(out.status.code(), StatusCode::Locked);
  EXPECT_NE(out.status.message().find("checkpoint"), std::string::npos);
}

TEST(Dump, InYamlIsTheSame) {
  const TempDir dir("/dev/shm");
  make_odd_world(dir.path() + "/data", support::seed());
  const Captured lines = run_dump(dir.path(), {.data_dir = dir.path() + "/data"});
  const Captured yaml = run_dump(dir.path(), {.data_dir = dir.path() + "/data", .format = "yaml"});
  ASSERT_TRUE(yaml.status.ok());
  const std::vector<std::string> want = lines_of(lines.text);
  const std::vector<YAML::Node> documents = YAML::LoadAll(yaml.text);
  ASSERT_EQ(documents.size(), want.size());
  for (size_t i = 1; i + 1 < want.size(); ++i) {
    const json job = json::parse(want[i]);
    ASSERT_EQ(documents[i].size(), job.size());
    for (const auto& [key, value] : job.items()) {
      const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      EXPECT_TRUE(documents[i][key].as<std::string>() == text) << key << " of " << want[i];
    }
  }
  EXPECT_EQ(documents[0]["commit"]["index"].as<uint64_t>(),
            json::parse(want[0])["commit"]["index"]);
}

TEST(Dump, WithoutBodiesReadsNone) {
  const TempDir dir("/dev/shm");
  make_small_world(dir.path() + "/data");
  {
    store::RawDb db(dir.path() + "/data");
    db.single_delete(store::Family::Bodies, store::view(store::job_key(3)));
  }
  const std::string data = dir.path() + "/data";
  EXPECT_TRUE(run_dump(dir.path(), {.data_dir = data, .no_body = true}).status.ok());
  EXPECT_TRUE(run_dump(dir.path(), {.data_dir = data, .summary = true}).status.ok());
  EXPECT_TRUE(run_dump(dir.path(), {.data_dir = data, .tube = "a"}).status.ok());
  EXPECT_FALSE(run_dump(dir.path(), {.data_dir = data, .tube = "b"}).status.ok());
}

// Job 2's body is another's, job 3's is gone, job 4's is shorter than its row says.
void damage(const std::string& path) {
  store::RawDb db(path);
  const auto replace = [&](JobId id, const std::string& value) {
    db.single_delete(store::Family::Bodies, store::view(store::job_key(id)));
    if (!value.empty()) db.put(store::Family::Bodies, store::view(store::job_key(id)), value);
  };
  replace(2, "12345678wrong");
  replace(3, "");
  replace(4, std::string(store::view(store::body_hash(4, "four"))) + "four");
}

TEST(Dump, MarksBodiesThatAreDamagedAndGoesOn) {
  const TempDir dir("/dev/shm");
  make_small_world(dir.path() + "/data");
  damage(dir.path() + "/data");
  testing::internal::CaptureStderr();
  const Captured out = run_dump(dir.path(), {.data_dir = dir.path() + "/data"});
  const std::string warnings = testing::internal::GetCapturedStderr();
  EXPECT_EQ(out.status.code(), StatusCode::Corruption);
  EXPECT_NE(out.status.message().find("3 bodies"), std::string::npos) << out.status.message();
  const std::vector<std::string> lines = lines_of(out.text);
  ASSERT_EQ(lines.size(), 8u);
  EXPECT_TRUE(lines[2].ends_with(R"("bytes":5,"body_damaged":true,"body":"wrong"})")) << lines[2];
  EXPECT_TRUE(lines[3].ends_with(R"("bytes":5,"body_missing":true})")) << lines[3];
  EXPECT_TRUE(lines[4].ends_with(R"("bytes":5,"body_damaged":true,"body":"four"})")) << lines[4];
  EXPECT_TRUE(lines[5].ends_with(R"("bytes":5,"body":"body5"})")) << lines[5];
  for (const char* const id : {"job 2 is damaged", "job 3 is missing", "job 4 is damaged"}) {
    EXPECT_NE(warnings.find(id), std::string::npos) << warnings;
  }

  std::ofstream(dir.path() + "/dump", std::ios::binary) << out.text;
  LoadOptions options = {.data_dir = dir.path() + "/new", .from = dir.path() + "/dump"};
  const auto run_load = [&] {
    return capture(dir.path(), [&](int fd) { return load(options, fd); });
  };
  const Captured refused = run_load();
  EXPECT_EQ(refused.status.code(), StatusCode::Corruption);
  EXPECT_TRUE(refused.status.message().starts_with("line 3: ")) << refused.status.message();
  EXPECT_FALSE(fs::exists(dir.path() + "/new"));
  options.skip_damaged = options.json = true;
  const Captured loaded = run_load();
  ASSERT_TRUE(loaded.status.ok()) << loaded.status.message();
  EXPECT_EQ(json::parse(loaded.text)["jobs"], 3);
  EXPECT_EQ(json::parse(loaded.text)["skipped"], 3);
  const Captured again = run_dump(dir.path(), {.data_dir = dir.path() + "/new"});
  EXPECT_EQ(ids_of(again.text), (std::set<JobId>{1, 5, 6}));
}

// A block of bodies that RocksDB itself refuses: its bodies are marked, those behind are there.
TEST(Dump, GoesOnBehindABlockThatCannotBeRead) {
  const TempDir dir("/dev/shm");
  const std::string data = dir.path() + "/data";
  {
    Result<std::unique_ptr<store::Builder>> builder = store::Builder::begin({.path = data});
    ASSERT_TRUE(builder.ok());
    for (JobId id = 1; id <= 200; ++id) {
      std::string body;  // That does not compress.
      std::mt19937_64 random(id);
      while (body.size() < 1000) body += static_cast<char>(random());
      const JobRow row = {.id = id, .ttr_s = 1, .body_bytes = 1000};
      ASSERT_TRUE((*builder)->tube("default").ok());
      ASSERT_TRUE((*builder)->add_job(row, body).ok());
    }
    ASSERT_TRUE((*builder)->publish({.epoch = 1, .index = 1}, 201).ok());
  }
  const std::string table = store::RawDb(data).table_of(store::Family::Bodies);
  std::string bytes = read_file(table);
  bytes[bytes.size() / 2] ^= 1;
  std::ofstream(table, std::ios::binary) << bytes;
  testing::internal::CaptureStderr();
  const Captured out = run_dump(dir.path(), {.data_dir = data});
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(out.status.code(), StatusCode::Corruption) << out.status.message();
  size_t bad = 0;
  bool last_is_bad = true;
  const std::vector<std::string> lines = lines_of(out.text);
  ASSERT_EQ(lines.size(), 202u);
  for (size_t i = 1; i <= 200; ++i) {
    last_is_bad = lines[i].find("body_damaged") != std::string::npos;
    bad += last_is_bad;
  }
  EXPECT_GT(bad, 0u);
  EXPECT_LT(bad, 40u);  // A block is 16 KiB.
  EXPECT_FALSE(last_is_bad);
}

TEST(Dump, TableAndSummaryShowWhatThereIs) {
  const TempDir dir("/dev/shm");
  make_small_world(dir.path() + "/data");
  const std::string data = dir.path() + "/data";
  const std::vector<std::string> table =
      lines_of(run_dump(dir.path(), {.data_dir = data, .format = "table"}).text);
  ASSERT_EQ(table.size(), 7u);
  EXPECT_TRUE(table[2].starts_with(" 2  a     buried ")) << table[2];
  EXPECT_TRUE(table[2].ends_with("  body2")) << table[2];
  const std::vector<std::string> summary =
      lines_of(run_dump(dir.path(), {.data_dir = data, .summary = true}).text);
  ASSERT_EQ(summary.size(), 4u);
  EXPECT_TRUE(summary[1].starts_with("a  ")) << summary[1];
  EXPECT_TRUE(summary[3].starts_with("all")) << summary[3];
  const json all =
      json::parse(run_dump(dir.path(), {.data_dir = data, .summary = true, .json = true}).text);
  EXPECT_EQ(all["all"]["body_bytes"], 30);
  EXPECT_EQ(all["tubes"][1]["tube"], "b");
  EXPECT_EQ(all["tubes"][1]["reserved"], 1);
  EXPECT_EQ(all["tubes"][1]["pause_left_ns"], 0);
}

TEST(Dump, DurationsAreShort) {
  const std::pair<Nanos, std::string> cases[] = {
      {-5, "0s"},       {0, "0s"},       {59, "59s"},        {60, "1m00s"},
      {3599, "59m59s"}, {3600, "1h00m"}, {86'399, "23h59m"}, {86'400 * 400, "400d00h"}};
  for (const auto& [seconds, text] : cases) {
    EXPECT_EQ(table_duration(seconds * nanos_per_second), text);
  }
}

}  // namespace
}  // namespace perennial::tool
