#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <unistd.h>

#include "tests/flip/positions.h"
#include "tests/flip/specimen.h"
#include "tests/store/child.h"
#include "tests/store/dir_state.h"
#include "tests/store/random_store.h"
#include "tests/store/temp_dir.h"
#include "tests/support/bad_sectors.h"
#include "tests/support/seed.h"

// P9, P11: the disk cannot read some sectors of a log file that a start reads. It refuses, names
// the file and changes nothing, however it is asked. When the sectors can be read again, all is
// there.
//
// The load has all transitions with and without optional fields, in stores that were killed with
// several log files, of which none or one family is flushed. The doors are a strict start, a forced
// one and a salvage. Blind to: a file that cannot be opened at all; sectors of the MANIFEST; a read
// that returns other bytes, which is a flip.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;

struct Found {
  bool is_open = false;
  std::string text;  // Why it was refused, or what differs.
};

class Unreadable {
 public:
  Unreadable(const Specimen& specimen, std::string path) : specimen_(specimen), path_(path) {}

  void set(const std::string& log, uint64_t offset, uint64_t bytes) {
    log_ = log;
    offset_ = offset;
    bytes_ = bytes;
  }

  Found start(Recover recover) const {
    return in_a_child([&](rocksdb::Env* env) {
      const auto store = Store::open({.data_dir = path_, .recover = recover, .env = env});
      if (!store.ok()) return Found{.is_open = false, .text = store.status().message()};
      if ((*store)->opening().last_index != specimen_.model.index()) {
        return Found{.is_open = true, .text = "it ends earlier"};
      }
      return Found{.is_open = true, .text = difference(**store, specimen_.model.image())};
    });
  }

  // What a salvage has must be true, as far as it goes.
  Found salvage() const {
    return in_a_child([&](rocksdb::Env* env) {
      const auto reader = Reader::open({.path = path_, .salvage = true, .env = env});
      if (!reader.ok()) return Found{.is_open = false, .text = reader.status().message()};
      const Result<Image> image = read_image(**reader);
      if (!image.ok()) return Found{.is_open = true, .text = image.status().message()};
      const bool is_said = !(*reader)->salvaged()->log_problem.empty();
      const bool is_all = image->jobs == specimen_.model.image().jobs;
      return Found{.is_open = true,
                   .text = is_said || is_all ? "" : "it does not say what it lacks"};
    });
  }

 private:
  template <typename Look>
  Found in_a_child(const Look& look) const {
    const ChildEnd end = run_child([&](const Pipe& pipe) {
      const auto disk = std::make_shared<support::BadSectors>(rocksdb::FileSystem::Default());
      const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(disk);
      if (bytes_ > 0) disk->set(path_ + "/" + log_, offset_, bytes_);
      const Found found = look(env.get());
      const std::string sent = (found.is_open ? "1" : "0") + found.text;
      pipe.send_bytes(sent.data(), sent.size());
      ::_exit(0);
    });
    if (end.sent.empty()) return {.is_open = true, .text = "it was ended"};
    return {.is_open = end.sent[0] == '1', .text = end.sent.substr(1)};
  }

  const Specimen& specimen_;
  const std::string path_;
  std::string log_;
  uint64_t offset_ = 0;
  uint64_t bytes_ = 0;
};

class UnreadableLog : public testing::TestWithParam<SpecimenKind> {};

TEST_P(UnreadableLog, IsNamedAndLosesNothing) {
  std::mt19937_64 random(support::seed());
  const TempDir dir;
  const Specimen specimen = make_specimen(dir.data_dir(), GetParam(), random());
  const std::string copy = dir.path() + "/copy";
  std::vector<SpecimenFile> logs;
  for (const SpecimenFile& file : specimen.files) {
    if (kind_of(file.name) == "log" && file.bytes > 0) logs.push_back(file);
  }
  std::map<std::string, int> tally;
  for (uint64_t run = 0; run < runs(); ++run) {
    const SpecimenFile& log = logs[random() % logs.size()];
    // Sectors of records most of the time, and not of the zeros behind them.
    const uint64_t end = random() % 8 == 0 ? log.bytes : log_end(specimen.path + "/" + log.name);
    const uint64_t sector = random() % end / 512 * 512;
    const uint64_t bytes = 512 << random() % 6;
    SCOPED_TRACE(fmt::format("{} from {}, {} bytes", log.name, sector, bytes));
    copy_specimen(specimen, copy);
    Unreadable unreadable(specimen, copy);
    unreadable.set(log.name, sector, bytes);
    const auto before = state_of(copy);
    for (const Recover recover : {Recover::Strict, Recover::PointInTime}) {
      const Found found = unreadable.start(recover);
      ++tally[found.is_open ? "read past" : "refused"];
      if (found.is_open) {
        ASSERT_EQ(found.text, "");
        break;  // Nobody needs these sectors.
      }
      ASSERT_NE(found.text.find(fs::path(log.name).filename().string()), std::string::npos)
          << found.text;
      ASSERT_EQ(state_of(copy), before) << "the refused start has changed something";
    }
    const Found salvaged = unreadable.salvage();
    if (salvaged.is_open) {
      ASSERT_EQ(salvaged.text, "");
    }
    ++tally[salvaged.is_open ? "salvaged" : "not salvaged"];
    unreadable.set("", 0, 0);
    const Found again = unreadable.start(Recover::Strict);
    ASSERT_TRUE(again.is_open) << again.text;
    ASSERT_EQ(again.text, "");
  }
  for (const auto& [what, count] : tally) std::printf("%-24s%d\n", what.c_str(), count);
}

INSTANTIATE_TEST_SUITE_P(Store, UnreadableLog,
                         testing::Values(SpecimenKind{"Killed", Stop::Killed},
                                         SpecimenKind{"PartlyFlushed", Stop::PartlyFlushed}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace perennial::store
