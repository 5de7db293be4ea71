#include "store/reader.h"

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/types/check.h"
#include "tests/store/dir_state.h"
#include "tests/store/raw_db.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/seed.h"

// A Reader shows what a start would find, and writes nothing.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;

constexpr BatchIndex batches = 30;

void write_batches(Store& store, StoreModel& model, BatchIndex to) {
  while (model.index() < to) {
    Batch batch;
    model.next(batch, 20);
    CHECK(store.write(batch, true).ok());
  }
}

// A store that was killed in its second life: half of its rows are in tables, half in its log.
class ReaderTest : public testing::Test {
 protected:
  ReaderTest() {
    open_and_write(batches / 2);
    open_and_write(batches);
  }

  void open_and_write(BatchIndex to) {
    const auto store = Store::open({.data_dir = data_dir_});
    CHECK(store.ok());
    model_.reopened((*store)->opening());
    write_batches(**store, model_, to);
  }
  Result<std::unique_ptr<Reader>> open(Recover recover = Recover::Strict) {
    Reader::Options options = {.path = data_dir_, .recover = recover};
    options.events.info = [this](std::string_view at, std::string_view fields) {
      events_ += std::string(at) + " " + std::string(fields) + "\n";
    };
    return Reader::open(options);
  }
  StoreModel model_at(BatchIndex index) const {
    StoreModel model = begin_;
    for (Batch batch; model.index() < index;) {
      model.next(batch, 20);
      if (model.index() == batches / 2) model.reopened({.epoch = 2, .next_id = mark_at_half()});
    }
    return model;
  }
  // The second life began with the mark of the first.
  JobId mark_at_half() const {
    StoreModel model = begin_;
    for (Batch batch; model.index() < batches / 2;) model.next(batch, 20);
    return model.mark();
  }
  void cut_file(const std::string& path, uint64_t bytes) const {
    fs::resize_file(path, log_end(path) - bytes);
  }
  void flip_middle(const std::string& log) const {
    flip(log, fs::file_size(log) - log_end(log) / 2);
  }
  void flip(const std::string& path, size_t from_end) const {
    std::string content = content_of(path);
    content[content.size() - from_end] = static_cast<char>(content[content.size() - from_end] ^ 1);
    write_file(path, content);
  }

  const TempDir dir_;
  const std::string data_dir_ = dir_.data_dir();
  const StoreModel begin_{support::seed()};
  StoreModel model_ = begin_;
  std::string events_;
};

TEST_F(ReaderTest, AReaderShowsWhatAStartFindsAndChangesNothing) {
  const auto before = state_of(dir_.path());
  CommitRow commit;
  JobId next_id = 0;
  {
    const auto reader = open();
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    EXPECT_EQ(difference(**reader, model_.image()), "");
    EXPECT_EQ(difference(**reader, model_.image()), "") << "the second time";
    commit = (*reader)->commit();
    next_id = (*reader)->next_id();
  }
  EXPECT_TRUE(before == state_of(dir_.path()));
  EXPECT_EQ(events_, "");
  const auto store = Store::open({.data_dir = data_dir_});
  ASSERT_TRUE(store.ok());
  EXPECT_EQ((*store)->opening().last_index, commit.index);
  EXPECT_EQ((*store)->opening().epoch, commit.epoch + 1);
  EXPECT_EQ((*store)->opening().next_id, next_id);
}

TEST_F(ReaderTest, SeveralReadersKeepAServerFromOpening) {
  const auto one = open();
  const auto other = open();
  ASSERT_TRUE(one.ok());
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_EQ(difference(**other, model_.image()), "");
  EXPECT_EQ(Store::open({.data_dir = data_dir_}).status().code(), StatusCode::Locked);
}

TEST_F(ReaderTest, AReaderIsRefusedWhileAServerRuns) {
  const auto store = Store::open({.data_dir = data_dir_});
  ASSERT_TRUE(store.ok());
  const auto reader = open();
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.status().code(), StatusCode::Locked);
  EXPECT_NE(reader.status().message().find("checkpoint"), std::string::npos)
      << reader.status().message();
}

// A checkpoint has neither a lock nor a mark.
TEST_F(ReaderTest, AReaderOpensACheckpoint) {
  fs::remove(data_dir_ + "/lock");
  fs::remove(newest_file(data_dir_, "newest-log-", ""));
  fs::remove(data_dir_ + "/durable");
  write_file(data_dir_ + "/manifest.json", "{}");
  const auto before = state_of(dir_.path());
  {
    const auto reader = open();
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    EXPECT_EQ(difference(**reader, model_.image()), "");
  }
  EXPECT_TRUE(before == state_of(dir_.path()));
}

TEST_F(ReaderTest, ATornLogIsShownAsAStartWouldTruncateIt) {
  cut_file(newest_log(data_dir_), 1);
  forget_last_sync(data_dir_);
  const auto before = state_of(dir_.path());
  {
    const auto reader = open();
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    EXPECT_EQ((*reader)->commit().index, batches - 1);
    EXPECT_EQ(difference(**reader, model_at(batches - 1).image()), "");
  }
  EXPECT_TRUE(before == state_of(dir_.path()));
  EXPECT_NE(events_.find("store.log_would_cut file="), std::string::npos) << events_;
  EXPECT_NE(events_.find("last_kept=29 first_dropped=30 "), std::string::npos) << events_;
}

TEST_F(ReaderTest, ADamagedLogIsRefusedWithTheMessageOfAStart) {
  flip_middle(newest_log(data_dir_));
  const auto reader = open();
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.status().code(), StatusCode::Corruption);
  const auto store = Store::open({.data_dir = data_dir_});
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(reader.status().message().substr(("read " + data_dir_).size()),
            store.status().message().substr(("open data directory " + data_dir_).size()));
}

TEST_F(ReaderTest, PointInTimeRecoveryShowsTheLogUpToTheDamage) {
  flip_middle(newest_log(data_dir_));
  const auto before = state_of(dir_.path());
  BatchIndex last = 0;
  {
    const auto reader = open(Recover::PointInTime);
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    last = (*reader)->commit().index;
    EXPECT_GE(last, batches / 2);
    EXPECT_LT(last, batches);
    EXPECT_EQ(difference(**reader, model_at(last).image()), "");
  }
  EXPECT_TRUE(before == state_of(dir_.path()));
  EXPECT_NE(events_.find("store.log_would_force "), std::string::npos) << events_;
  const auto store = Store::open({.data_dir = data_dir_, .recover = Recover::PointInTime});
  ASSERT_TRUE(store.ok());
  EXPECT_EQ((*store)->opening().last_index, last);
}

// A power cut has kept an edit from being synced, and the log still has the rows of that flush.
TEST_F(ReaderTest, ATornManifestIsShownAsAStartWouldTruncateIt) {
  const std::string content = content_of(manifest_of(data_dir_));
  write_file(manifest_of(data_dir_), content + std::string(40, 'x'));
  const auto before = state_of(dir_.path());
  {
    const auto reader = open();
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    EXPECT_EQ(difference(**reader, model_.image()), "");
  }
  EXPECT_TRUE(before == state_of(dir_.path()));
  EXPECT_NE(events_.find("store.manifest_would_cut file=MANIFEST-"), std::string::npos) << events_;
}

TEST_F(ReaderTest, ADamagedBodyIsReportedAndItsBytesAreReturned) {
  const TempDir dir;
  make_store(dir.data_dir());
  {
    RawDb db(dir.data_dir());
    db.single_delete(Family::Bodies, view(job_key(1)));
    db.put(Family::Bodies, view(job_key(1)), "12345678hullo");
  }
  const auto reader = Reader::open({.path = dir.data_dir()});
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  Reader::Bodies bodies = (*reader)->bodies();
  const Result<std::string_view> body = bodies.read(1);
  ASSERT_FALSE(body.ok());
  EXPECT_EQ(body.status().code(), StatusCode::Corruption);
  EXPECT_EQ(body.status().message(),
            "bodies, key 0000000000000001: the hash does not fit the body");
  EXPECT_EQ(bodies.damaged(), "hullo");
}

// Directories that a Reader cannot open.
struct RefusedCase {
  const char* name;
  std::function<void(const std::string& path)> make;
  StatusCode want;
  const char* message;  // A part of it.
};

void PrintTo(const RefusedCase& refused, std::ostream* out) {
  *out << refused.name;
}

class ReaderRefuses : public testing::TestWithParam<RefusedCase> {};

TEST_P(ReaderRefuses, AndTouchesNothing) {
  const TempDir dir;
  GetParam().make(dir.data_dir());
  const auto before = state_of(dir.path());
  const auto reader = Reader::open({.path = dir.data_dir()});
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.status().code(), GetParam().want) << reader.status().message();
  EXPECT_NE(reader.status().message().find(GetParam().message), std::string::npos)
      << reader.status().message();
  EXPECT_TRUE(before == state_of(dir.path()));
}

void make_file(const std::string& path, const std::string& name) {
  fs::create_directories(path);
  write_file(path + "/" + name, "something");
}

void remove_files(const std::string& path, const std::string& prefix) {
  make_store(path);
  fs::remove(newest_file(path, prefix, ""));
}

INSTANTIATE_TEST_SUITE_P(
    Store, ReaderRefuses,
    testing::Values(
        RefusedCase{"Missing", [](const std::string&) {}, StatusCode::NotFound, "is not there"},
        RefusedCase{"File", [](const std::string& path) { write_file(path, "x"); },
                    StatusCode::NotFound, "is no directory"},
        RefusedCase{"Empty", [](const std::string& path) { fs::create_directories(path); },
                    StatusCode::Corruption, "is not a data directory of perennial"},
        RefusedCase{"SomebodyElses", [](const std::string& path) { make_file(path, "passwords"); },
                    StatusCode::Corruption, "it holds passwords"},
        RefusedCase{"Binlog", [](const std::string& path) { make_file(path, "binlog.1"); },
                    StatusCode::Corruption, "perennial import-binlog"},
        RefusedCase{"DatabaseGone", [](const std::string& path) { make_file(path, "ballast"); },
                    StatusCode::Corruption, "its database is gone"},
        RefusedCase{"EmptyDatabase",
                    [](const std::string& path) { fs::create_directories(path + "/db"); },
                    StatusCode::Corruption, "CURRENT is missing"},
        RefusedCase{"NoManifest", [](const std::string& path) { remove_files(path, "MANIFEST"); },
                    StatusCode::Corruption,
                    "which is missing, and there are 0 MANIFEST files; restore a checkpoint"},
        RefusedCase{"DamagedManifest",
                    [](const std::string& path) {
                      make_store(path);
                      write_file(manifest_of(path), std::string(1000, 'x'));
                    },
                    StatusCode::Corruption, "is damaged at byte 0: "},
        RefusedCase{"NewerFormat",
                    [](const std::string& path) {
                      make_store(path);
                      RawDb(path).put(Family::Meta, "f",
                                      view(encode_format_version(format_version + 1)));
                    },
                    StatusCode::Unsupported, "its format is 6, which only a newer program reads"}),
    [](const auto& one) { return one.param.name; });

// Jobs 1 to 3, one in each batch. It is opened anew before each batch from `reopened_from` on.
Result<std::vector<FamilyDigest>> digests_of(const std::string& path, BatchIndex reopened_from,
                                             const std::string& last_body = "body 3") {
  Result<std::unique_ptr<Store>> store = Store::open({.data_dir = path});
  for (BatchIndex index = 1; index <= 3; ++index) {
    if (index >= reopened_from) {
      store = Status(StatusCode::Io, "closed");
      store = Store::open({.data_dir = path});
    }
    CHECK(store.ok());
    const std::string body = index == 3 ? last_body : "body " + std::to_string(index);
    Batch batch;
    if (index == 1) batch.add(TubeStored{.tube = 1, .name = "mail"});
    const JobRow row = {
        .id = index, .tube = 1, .ttr_s = 1, .body_bytes = static_cast<uint32_t>(body.size())};
    batch.add(JobMoved{.id = index, .before = {}, .after = row, .promised = true}, body);
    batch.seal({.epoch = (*store)->opening().epoch,
                .index = index,
                .known_durable = (*store)->durable(),
                .now = static_cast<Nanos>(index)});
    CHECK((*store)->write(batch, true).ok());
  }
  store = Status(StatusCode::Io, "closed");
  const Result<std::unique_ptr<Reader>> reader = Reader::open({.path = path});
  CHECK(reader.ok());
  return (*reader)->digests();
}

// C3: nodes that have applied the same batches have the same digests, however often each was
// restarted.
TEST(ReaderDigests, AreThoseOfTheBatches) {
  const TempDir dir;
  const auto first = digests_of(dir.path() + "/a", 4);
  const auto second = digests_of(dir.path() + "/b", 2);
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(second.ok());
  ASSERT_EQ(first->size(), family_count);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(first->at(static_cast<size_t>(Family::Ready)).rows, 3U);
  EXPECT_EQ(first->at(static_cast<size_t>(Family::Buried)).rows, 0U);

  const auto third = digests_of(dir.path() + "/c", 4, "BODY 3");
  ASSERT_TRUE(third.ok());
  for (size_t i = 0; i < family_count; ++i) {
    EXPECT_EQ(first->at(i) == third->at(i), static_cast<Family>(i) != Family::Bodies)
        << first->at(i).family;
  }
}

TEST_F(ReaderTest, DigestsCanBeCancelled) {
  const auto reader = open();
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->digests([] { return true; }).status().code(), StatusCode::Io);
  EXPECT_TRUE((*reader)->digests().ok());
}

}  // namespace
}  // namespace perennial::store
