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

#include "cmd/perennial/dump/commands.h"
#include "cmd/perennial/dump/dump_parser.h"
#include "cmd/perennial/dump/dump_table.h"
#include "store/offline/builder.h"
#include "store/store.h"
#include "tests/cmd/perennial/capture.h"
#include "tests/cmd/perennial/dump/edge_cases.h"
#include "tests/store/raw_db.h"
#include "tests/store/store_model.h"
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
void make_small_queue(const std::string& path) {
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
    make_edge_cases(dir.path() + "/one", support::seed() + round);
    const Captured first = run_dump(dir.path(), {.data_dir = dir.path() + "/one"});
    ASSERT_TRUE(first.status.ok()) << first.status.message();
    std::ofstream(dir.path() + "/dump", std::ios::binary) << first.text;
    const Captured loaded = capture(dir.path(), [&](int fd) {
      return load(
          {.data_dir = dir.path() + "/two", .from = dir.path() + "/dump", .schedules = "active"},
          fd);
    });
    ASSERT_TRUE(loaded.status.ok()) << loaded.status.message();
    const Captured second = run_dump(dir.path(), {.data_dir = dir.path() + "/two"});
    ASSERT_TRUE(second.status.ok()) << second.status.message();
    EXPECT_TRUE(first.text == second.text) << "seed " << support::seed() + round;
  }
}

// The directory of a killed server: tables, a log, freed tubes, and a commit row in the log.
TEST(Dump, OfAKilledServerLoadsAsTheSame) {
  for (const bool is_clean : {false, true}) {
    const TempDir dir("/dev/shm");
    store::StoreModel model(support::seed());
    {
      auto store = store::Store::open({.data_dir = dir.path() + "/one"});
      ASSERT_TRUE(store.ok());
      for (int i = 0; i < 100; ++i) {
        store::Batch batch;
        model.next(batch, 30);
        ASSERT_TRUE((*store)->write(batch, true).ok());
        if (i == 60) {
          ASSERT_TRUE((*store)->flush().ok());
        }
      }
      if (is_clean) {
        ASSERT_TRUE((*store)->close(model.next_id() + 100).ok());
      }
    }
    const Captured first = run_dump(dir.path(), {.data_dir = dir.path() + "/one"});
    ASSERT_TRUE(first.status.ok()) << first.status.message();
    EXPECT_EQ(ids_of(first.text).size(), model.image().jobs.size());
    std::ofstream(dir.path() + "/dump", std::ios::binary) << first.text;
    const Captured loaded = capture(dir.path(), [&](int fd) {
      return load(
          {.data_dir = dir.path() + "/two", .from = dir.path() + "/dump", .schedules = "active"},
          fd);
    });
    ASSERT_TRUE(loaded.status.ok()) << loaded.status.message();
    EXPECT_TRUE(run_dump(dir.path(), {.data_dir = dir.path() + "/two"}).text == first.text)
        << "seed " << support::seed();
    const auto store = store::Store::open({.data_dir = dir.path() + "/two"});
    ASSERT_TRUE(store.ok()) << store.status().message();
    const Result<store::Image> image = store::read_image(**store);
    ASSERT_TRUE(image.ok()) << image.status().message();
    EXPECT_EQ(image->jobs.size(), model.image().jobs.size());
    EXPECT_EQ(image->keys, model.image().keys);
    EXPECT_EQ(image->settings, model.image().settings);
    for (const auto& [id, row] : image->jobs) {
      EXPECT_EQ(row.fields, model.image().jobs.at(id).fields) << id;
    }
  }
}

// The documented format, byte by byte.
TEST(Dump, HasTheDocumentedFormat) {
  const TempDir dir("/dev/shm");
  make_small_queue(dir.path() + "/data");
  const Captured out = run_dump(dir.path(), {.data_dir = dir.path() + "/data"});
  ASSERT_TRUE(out.status.ok());
  const std::vector<std::string> lines = lines_of(out.text);
  ASSERT_EQ(lines.size(), 8u);
  EXPECT_EQ(
      lines[0],
      R"({"format":"perennial-dump","version":2,"jobs":{"ready":2,"reserved":1,"delayed":1,)"
      R"("buried":2},"tubes":["a","b"],"pauses":[{"tube":"b","duration":5,"end":6}],)"
      R"("settings":[],"next_id":10,"commit":{"epoch":1,"index":9,"known_durable":8,"now":7}})");
  EXPECT_EQ(
      lines[2],
      R"({"id":2,"tube":"a","state":"buried","pri":0,"delay":0,"ttr":60,"created":1000000000,)"
      R"("bury_order":2,"reserves":0,"timeouts":0,"releases":0,"buries":0,"kicks":0,)"
      R"("bytes":5,"body":"body2"})");
  EXPECT_NE(lines[5].find(R"("deadline":50,)"), std::string::npos);
  store::Hasher hasher;
  hasher.add(out.text.substr(0, out.text.size() - lines[7].size() - 1));
  EXPECT_EQ(lines[7],
            fmt::format(R"({{"jobs":6,"keys":0,"body_bytes":30,"xxh3_128":"{}"}})", hasher.hex()));
}

// Jobs 1 and 2 hold keys, job 3 has every other field, and job 4 is gone.
void make_queue_with_fields(const std::string& path) {
  Result<std::unique_ptr<store::Builder>> builder = store::Builder::begin({.path = path});
  ASSERT_TRUE(builder.ok());
  const TubeId a = *(*builder)->tube("a");
  const TubeId b = *(*builder)->tube("b");
  const auto add = [&](JobId id, TubeId tube, const JobFields& fields) {
    JobRow row = {.id = id, .tube = tube, .ttr_s = 1, .created = 1, .fields = fields};
    ASSERT_TRUE((*builder)->add_job(row, "").ok());
  };
  add(1, a, {.key = JobKey{.key = "k"}});
  add(2, b, {.key = JobKey{.key = "k", .seconds = 9, .until = KeyUntil::Ttl}});
  add(3, b,
      {.attempts = 1,
       .tries = 2,
       .backoff = Backoff{.first = nanos_per_ms, .cap = nanos_per_second},
       .dead = "d",
       .from = "f",
       .expires_at = 3,
       .key = JobKey{.key = "given", .seconds = 5, .until = KeyUntil::Reserved, .given_up = true},
       .concurrency = ConcurrencyKey{.key = "c", .jobs_max = 6},
       .delay_rest_ns = nanos_per_ms,
       .ttr_rest_ns = 2 * nanos_per_ms,
       .restored = uint64_t{1} << 40,
       .put_by = "ann",
       .first_reserved = 4});
  const auto add_key = [&](const char* tube, const char* key, JobId job, KeyUntil until,
                           Nanos expires_at) {
    ASSERT_TRUE((*builder)->add_key({tube, key, job, until, expires_at}).ok());
  };
  add_key("a", "k", 1, KeyUntil::Deleted, 0);
  add_key("b", "k", 2, KeyUntil::Ttl, 10);
  add_key("b", "given", 3, KeyUntil::Reserved, 11);
  add_key("gone", "gone", 4, KeyUntil::Deleted, 12);
  ASSERT_TRUE((*builder)
                  ->add_settings({.tube = "b",
                                  .settings = {.tries = 1,
                                               .backoff = Backoff{nanos_per_ms, nanos_per_ms},
                                               .dead = "d",
                                               .expire = 2,
                                               .reserved = 0,
                                               .rate = Rate{.jobs = 3, .period = 4},
                                               .drain = false}})
                  .ok());
  ASSERT_TRUE((*builder)->add_settings({.tube = "no-tube", .settings = {.drain = true}}).ok());
  ASSERT_TRUE((*builder)->publish({.epoch = 1, .index = 9, .known_durable = 8, .now = 7}, 5).ok());
}

TEST(Dump, HasTheDocumentedFieldsKeysAndSettings) {
  const TempDir dir("/dev/shm");
  make_queue_with_fields(dir.path() + "/data");
  const Captured out = run_dump(dir.path(), {.data_dir = dir.path() + "/data"});
  ASSERT_TRUE(out.status.ok()) << out.status.message();
  const std::vector<std::string> lines = lines_of(out.text);
  ASSERT_EQ(lines.size(), 9u);
  EXPECT_NE(lines[0].find(R"("settings":[{"tube":"b","tries":1,"backoff":1000000,)"
                          R"("backoff_cap":1000000,"dead":"d","expire":2,"reserved":0,"rate":3,)"
                          R"("rate_period":4,"drain":false},{"tube":"no-tube","drain":true}],)"),
            std::string::npos)
      << lines[0];
  EXPECT_TRUE(
      lines[1].ends_with(R"("kicks":0,"idp":"k","idp_until":"deleted","bytes":0,"body":""})"))
      << lines[1];
  EXPECT_TRUE(lines[2].ends_with(
      R"("kicks":0,"idp":"k","idp_until":"ttl","idp_ttl":9,"bytes":0,"body":""})"))
      << lines[2];
  EXPECT_TRUE(lines[3].ends_with(
      R"("kicks":0,"attempts":1,"tries":2,"backoff":1000000,"backoff_cap":1000000000,"dead":"d",)"
      R"("from":"f","expires":3,"idp":"given","idp_until":"reserved","idp_ttl":5,)"
      R"("idp_given_up":true,"con":"c","con_max":6,"delay_rest":1000000,"ttr_rest":2000000,)"
      R"("restored":1099511627776,"put_by":"ann","first_reserved":4,"bytes":0,"body":""})"))
      << lines[3];
  EXPECT_EQ(lines[4], R"({"idp":"k","tube":"a","job":1,"until":"deleted"})");
  EXPECT_EQ(lines[5], R"({"idp":"given","tube":"b","job":3,"until":"reserved","expires":11})");
  EXPECT_EQ(lines[6], R"({"idp":"k","tube":"b","job":2,"until":"ttl","expires":10})");
  EXPECT_EQ(lines[7], R"({"idp":"gone","tube":"gone","job":4,"until":"deleted","expires":12})");
  EXPECT_TRUE(lines[8].starts_with(R"({"jobs":3,"keys":4,"notes":0,"body_bytes":0,)")) << lines[8];
}

// The keys of the selected jobs, and the settings of their tubes. Each such dump loads.
TEST(Dump, OfASelectionHasItsKeysAndSettings) {
  struct Case {
    DumpOptions options;
    std::vector<std::string> keys;  // Their tube and key.
    std::vector<std::string> settings;
  };
  const Case cases[] = {{{.tube = "a"}, {"a k"}, {}},
                        {{.tube = "b"}, {"b given", "b k"}, {"b"}},
                        {{.id = 3}, {"b given"}, {"b"}},
                        {{.state = "buried"}, {}, {}},
                        {{.limit = 1}, {"a k"}, {}},
                        {{}, {"a k", "b given", "b k", "gone gone"}, {"b", "no-tube"}}};
  const TempDir dir("/dev/shm");
  make_queue_with_fields(dir.path() + "/data");
  for (Case one : cases) {
    one.options.data_dir = dir.path() + "/data";
    const Captured out = run_dump(dir.path(), one.options);
    ASSERT_TRUE(out.status.ok()) << out.status.message();
    std::vector<std::string> keys;
    std::vector<std::string> settings;
    for (const std::string& text : lines_of(out.text)) {
      const json line = json::parse(text);
      if (line.contains("until")) {
        keys.push_back(line["tube"].get<std::string>() + " " + line["idp"].get<std::string>());
      }
      if (!line.contains("settings")) continue;
      for (const json& stored : line["settings"]) settings.push_back(stored["tube"]);
    }
    EXPECT_EQ(keys, one.keys);
    EXPECT_EQ(settings, one.settings);
    std::ofstream(dir.path() + "/dump", std::ios::binary) << out.text;
    const Captured loaded = capture(dir.path(), [&](int fd) {
      return load({.data_dir = dir.path() + "/some", .from = dir.path() + "/dump"}, fd);
    });
    EXPECT_TRUE(loaded.status.ok()) << loaded.status.message();
    fs::remove_all(dir.path() + "/some");
  }
}

struct SelectionCase {
  const char* name;
  DumpOptions options;
  std::set<JobId> want;
};

TEST(Dump, OfASelectionHasTheSelectedJobsAndLoads) {
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
  make_small_queue(dir.path() + "/data");
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

TEST(Dump, RefusesMissingOrInvalidSelections) {
  struct Case {
    DumpOptions options;
    StatusCode want;
  };
  const TempDir dir("/dev/shm");
  const std::string data = dir.path() + "/data";
  make_small_queue(data);
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
  make_edge_cases(dir.path() + "/data", support::seed());
  const Captured lines = run_dump(dir.path(), {.data_dir = dir.path() + "/data"});
  const Captured yaml = run_dump(dir.path(), {.data_dir = dir.path() + "/data", .format = "yaml"});
  ASSERT_TRUE(yaml.status.ok());
  const std::vector<std::string> want = lines_of(lines.text);
  const std::vector<YAML::Node> documents = YAML::LoadAll(yaml.text);
  ASSERT_EQ(documents.size(), want.size());
  for (size_t i = 1; i + 1 < want.size(); ++i) {
    const json job = json::parse(want[i]);  // Or a key.
    ASSERT_EQ(documents[i].size(), job.size());
    for (const auto& [key, value] : job.items()) {
      const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      EXPECT_TRUE(documents[i][key].as<std::string>() == text) << key << " of " << want[i];
    }
  }
  EXPECT_EQ(documents[0]["commit"]["index"].as<uint64_t>(),
            json::parse(want[0])["commit"]["index"]);
  EXPECT_EQ(documents[0]["settings"].size(), json::parse(want[0])["settings"].size());
}

TEST(Dump, WithoutBodiesReadsNone) {
  const TempDir dir("/dev/shm");
  make_small_queue(dir.path() + "/data");
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

// Job 2 has another job's body, job 3 has none, and job 4 has a shorter one than its row says.
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
  make_small_queue(dir.path() + "/data");
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

// RocksDB refuses a block of bodies. Its bodies are marked, and those after it are dumped.
TEST(Dump, ContinuesAfterAnUnreadableBlock) {
  const TempDir dir("/dev/shm");
  const std::string data = dir.path() + "/data";
  {
    Result<std::unique_ptr<store::Builder>> builder = store::Builder::begin({.path = data});
    ASSERT_TRUE(builder.ok());
    for (JobId id = 1; id <= 200; ++id) {
      std::string body;  // Incompressible.
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
  EXPECT_LT(bad, 40u);  // A block has 16 KiB.
  EXPECT_FALSE(last_is_bad);
}

// Jobs 1 to 3, with as many notes each.
void make_queue_with_notes(const std::string& path) {
  Result<std::unique_ptr<store::Builder>> builder = store::Builder::begin({.path = path});
  ASSERT_TRUE(builder.ok());
  const TubeId tube = *(*builder)->tube("mail");
  for (JobId id = 1; id <= 3; ++id) {
    JobRow row = {.id = id, .tube = tube, .ttr_s = 60, .created = 1'000'000'000, .body_bytes = 5};
    row.fields.make().notes = static_cast<uint32_t>(id);
    ASSERT_TRUE((*builder)->add_job(row, "hello").ok());
    for (uint32_t number = 1; number <= id; ++number) {
      const Note note = {.number = number,
                         .attempt = 7,
                         .time = 1'000'000'000,
                         .user = number == 2 ? "ann" : "",
                         .text = fmt::format("exit {}\nno such host", number)};
      ASSERT_TRUE((*builder)->add_note(id, note).ok());
    }
  }
  ASSERT_TRUE((*builder)->publish({.epoch = 1, .index = 9, .known_durable = 8, .now = 7}, 10).ok());
}

TEST(Dump, TableShowsTheNotesBelowTheirJob) {
  const TempDir dir("/dev/shm");
  make_queue_with_notes(dir.path() + "/data");
  const std::vector<std::string> table =
      lines_of(run_dump(dir.path(), {.data_dir = dir.path() + "/data", .format = "table"}).text);
  ASSERT_EQ(table.size(), 10u);
  EXPECT_TRUE(table[1].starts_with(" 1  mail  ready ")) << table[1];
  EXPECT_TRUE(table[2].starts_with("    note 1, attempt 7, ")) << table[2];
  EXPECT_TRUE(table[2].ends_with(" ago: exit 1.no such host")) << table[2];
  EXPECT_TRUE(table[3].starts_with(" 2  mail  ready ")) << table[3];
  EXPECT_TRUE(table[5].ends_with(" ago, by ann: exit 2.no such host")) << table[5];
}

// One line says it, however many they are.
TEST(Dump, LeavesOutDamagedNotesAndSaysItOnce) {
  const TempDir dir("/dev/shm");
  const std::string data = dir.path() + "/data";
  make_queue_with_notes(data);
  {
    store::RawDb db(data);
    for (const JobId id : {2, 3})
      db.put(store::Family::Notes, store::view(store::note_key(id, 0)), "damaged");
  }
  testing::internal::CaptureStderr();
  const Captured out = run_dump(dir.path(), {.data_dir = data});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(out.status.code(), StatusCode::Corruption);
  EXPECT_TRUE(out.status.message().starts_with(
      "the dump is complete, but the damaged notes of 2 jobs are left out, first those of job 2: "))
      << out.status.message();
  // A head, three jobs, the other four notes and a foot.
  EXPECT_EQ(lines_of(out.text).size(), 9u) << out.text;
  {
    store::RawDb db(data);
    db.single_delete(store::Family::Bodies, store::view(store::job_key(1)));
  }
  testing::internal::CaptureStderr();
  const Captured both = run_dump(dir.path(), {.data_dir = data});
  const std::vector<std::string> warnings = lines_of(testing::internal::GetCapturedStderr());
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_TRUE(warnings[0].starts_with("perennial dump: the body of job 1 is missing: "));
  EXPECT_TRUE(warnings[1].starts_with("perennial dump: the damaged notes of 2 jobs are left out"));
  EXPECT_NE(both.status.message().find("1 bodies"), std::string::npos) << both.status.message();
}

TEST(Dump, TableAndSummaryShowTheJobs) {
  const TempDir dir("/dev/shm");
  make_small_queue(dir.path() + "/data");
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
