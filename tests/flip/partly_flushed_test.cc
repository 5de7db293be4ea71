#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "engine/types/check.h"
#include "store/rocks/log_files.h"
#include "tests/flip/forced_outcome.h"
#include "tests/flip/positions.h"
#include "tests/flip/specimen.h"
#include "tests/store/child.h"
#include "tests/store/log_ends.h"
#include "tests/store/random_store.h"
#include "tests/store/temp_dir.h"
#include "tests/support/seed.h"

// P11: any subset of families is flushed, then any other, and a log is damaged. This test knows how
// far each family is flushed and how many batches can be read, and so what a forced start must do:
// it keeps exactly the batches before the damage, or it is refused, because a family is ahead, or
// may be.
//
// The load is batches of all transitions with and without optional fields, synced one by one. Each
// of the 256 subsets is flushed first (30 of them in a default run, all with --runs 52), and a
// random one 10 batches later; then come no batches or some, so that the newest log may be empty.
// One log is removed, emptied, cut, zeroed or flipped: an old one, one between two, or the newest.
// The doors are a strict start, a forced one, and a strict one after that. Blind to: damage of two
// logs, of tables and of the MANIFEST; flushes that hang, interrupted starts and checkpoints, for
// all of which see forced_test.cc; modes that do not sync each batch: loss_test.cc.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;

constexpr unsigned subsets = 1U << family_count;
constexpr BatchIndex batches_per_log = 10;
constexpr BatchIndex batches_at_end = 5;

bool is_in(unsigned subset, Family family) {
  return (subset >> place_of(family) & 1U) != 0;
}

std::string names_of(unsigned subset) {
  std::string out;
  for (size_t i = 0; i < family_count; ++i) {
    const auto family = static_cast<Family>(i);
    if (is_in(subset, family)) out += fmt::format("{} ", name_of(family));
  }
  return out.empty() ? "none" : out;
}

struct Plan {
  std::array<unsigned, 2> flushed = {};
  bool ends_with_batches = false;
};

// A log file, and the batch before its first one.
struct LogBegin {
  uint64_t file = 0;
  BatchIndex after = 0;
};

struct Made {
  RandomStore store;
  std::vector<LogBegin> logs;  // Oldest first, also those that are gone.
};

struct Step {
  bool is_open = false;
  RandomStore::Opened opened;
  LogBegin log;
};

Made make(const std::string& path, const Plan& plan, uint64_t seed) {
  Made made = {.store = {.path = path, .seed = seed}, .logs = {}};
  made.store.index = 2 * batches_per_log + (plan.ends_with_batches ? batches_at_end : 0);
  const ChildEnd end = run_child([&](const Pipe& pipe) {
    const auto store = Store::open({.data_dir = path});
    CHECK(store.ok());
    const Opening& opening = (*store)->opening();
    StoreModel model(seed);
    model.reopened(opening);
    pipe.send(Step{.is_open = true,
                   .opened = {.index = 0, .epoch = opening.epoch, .next_id = opening.next_id},
                   .log = {.file = (*store)->log_files().newest_index, .after = 0}});
    const auto write = [&](BatchIndex count) {
      for (; count > 0; --count) {
        Batch batch;
        model.next(batch, 20);
        CHECK((*store)->write(batch, true).ok());
      }
    };
    for (const unsigned subset : plan.flushed) {
      write(batches_per_log);
      for (size_t i = 0; i < family_count; ++i) {
        const auto family = static_cast<Family>(i);
        if (is_in(subset, family)) CHECK((*store)->flush(family).ok());
      }
      pipe.send(Step{.is_open = false,
                     .opened = {},
                     .log = {.file = (*store)->log_files().newest_index, .after = model.index()}});
    }
    if (plan.ends_with_batches) write(batches_at_end);
    ::_exit(0);
  });
  CHECK(end.signal == 0 && end.exit_code == 0);
  for (const Step& step : end.reports<Step>()) {
    if (step.is_open) made.store.opened = {step.opened};
    if (made.logs.empty() || made.logs.back().file != step.log.file) made.logs.push_back(step.log);
  }
  return made;
}

// The batch up to which the tables of each family go.
BatchIndex flushed_to(const Plan& plan, Family family) {
  for (size_t round = plan.flushed.size(); round > 0; --round) {
    if (is_in(plan.flushed[round - 1], family)) return round * batches_per_log;
  }
  return 0;
}

BatchIndex oldest_needed(const Plan& plan) {
  BatchIndex out = plan.flushed.size() * batches_per_log;
  for (size_t i = 0; i < family_count; ++i) {
    out = std::min(out, flushed_to(plan, static_cast<Family>(i)));
  }
  return out;
}

// A body without a job, and a job without a body, can be told from the rest, and so can notes.
BatchIndex furthest_state(const Plan& plan) {
  BatchIndex out = 0;
  for (size_t i = 0; i < family_count; ++i) {
    const auto family = static_cast<Family>(i);
    if (!is_part_of_jobs(family)) out = std::max(out, flushed_to(plan, family));
  }
  return out;
}

// What was done to one log, and the last batch that is before the damage.
struct Damage {
  std::string how;
  BatchIndex kept = 0;
};

class Damager {
 public:
  Damager(const Made& made, const Plan& plan, std::mt19937_64& random)
      : made_(made), random_(random), oldest_(oldest_needed(plan)) {}

  Damage apply(const std::string& copy) {
    const std::vector<LogBegin> logs = needed();
    const size_t place = random_() % logs.size();
    const LogBegin& log = logs[place];
    const BatchIndex end = place + 1 < logs.size() ? logs[place + 1].after : made_.store.index;
    const std::string path = path_of(copy, log);
    const std::string name = fs::path(path).filename();
    const std::vector<uint64_t> ends = record_ends(path);
    const uint64_t bytes = ends.empty() ? 0 : ends.back();
    const uint64_t kind = bytes == 0 ? 0 : random_() % 6;
    if (kind == 0) {
      fs::remove(path);
      return {.how = name + " removed", .kept = log.after};
    }
    if (kind == 1) {
      replace_file(path, "");
      return {.how = name + " emptied", .kept = log.after};
    }
    const uint64_t at = random_() % bytes;
    const auto whole =
        static_cast<BatchIndex>(std::ranges::count_if(ends, [&](uint64_t e) { return e <= at; }));
    // A file may begin with records that open an epoch.
    const BatchIndex others = ends.size() - (end - log.after);
    const BatchIndex kept = log.after + (whole > others ? whole - others : 0);
    const std::string content = read_file(path);
    if (kind == 2) replace_file(path, content.substr(0, at));
    if (kind == 3) replace_file(path, content.substr(0, at) + std::string(bytes - at, '\0'));
    if (kind > 3) flip_byte(path, at);
    const char* const how = kind == 2 ? "cut" : kind == 3 ? "zeroed" : "flipped";
    return {.how = fmt::format("{} {} at {}", name, how, at), .kept = kept};
  }

 private:
  std::vector<LogBegin> needed() const {
    std::vector<LogBegin> out;
    for (const LogBegin& log : made_.logs) {
      if (log.after >= oldest_) out.push_back(log);
    }
    return out;
  }
  static std::string path_of(const std::string& data_dir, const LogBegin& log) {
    for (const std::string& path : logs_of(data_dir)) {
      if (log_index_of(fs::path(path).filename().native()) == log.file) return path;
    }
    CHECK(false);
    return "";
  }

  const Made& made_;
  std::mt19937_64& random_;
  const BatchIndex oldest_;
};

// Returns what is wrong with the starts after the damage. `word`: for the tally.
std::string judge(const Made& made, const Plan& plan, const Damage& damage, const std::string& path,
                  std::string& word) {
  const Outcome strict = start(made.store, path, Recover::Strict);
  if (!strict.wrong.empty()) return "strict: " + strict.wrong + ": " + strict.text;
  if (strict.is_open) {
    word = "whole";
    return number_in(strict.text, "last_kept=") == made.store.index ? "" : "fewer without a word";
  }
  const bool is_promised = strict.text.find("can be kept") != std::string::npos;
  bool exists = furthest_state(plan) <= damage.kept;
  // Where history ends exactly where a family was flushed, only the commit row in the tables of
  // meta proves it: store/recovery/README.md, "Forced starts".
  const bool is_proved =
      furthest_state(plan) != damage.kept || flushed_to(plan, Family::Meta) == damage.kept;
  if (!is_proved) exists = is_promised;
  word = exists ? "forced" : is_proved ? "refused" : "refused for want of proof";
  if (is_promised != exists) return "the refusal says otherwise: " + strict.text;
  if (exists && number_in(strict.text, "those up to ") != damage.kept) {
    return "the refusal has another number: " + strict.text;
  }
  const Outcome forced = start(made.store, path, Recover::PointInTime);
  if (!forced.wrong.empty()) return "forced: " + forced.wrong + ": " + forced.text;
  if (forced.is_open != exists) return "forced: " + forced.text;
  if (!exists) return "";
  if (number_in(forced.text, "last_kept=") != damage.kept) return "it keeps: " + forced.text;
  return reopen(made.store, path, forced.text);
}

TEST(PartlyFlushed, StoresKeepExactlyWhatIsBeforeTheDamageOrRefuse) {
  std::mt19937_64 random(support::seed());
  std::vector<unsigned> order(subsets);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::shuffle(order, random);
  std::map<std::string, int> tally;
  for (uint64_t run = 0; run < 5 * runs(); ++run) {
    const Plan plan = {
        .flushed = {order[run % subsets], random() % 2 == 0 ? 0 : unsigned(random() % subsets)},
        .ends_with_batches = random() % 2 == 0};
    const TempDir dir;
    const uint64_t seed = random();
    const Made made = make(dir.data_dir(), plan, seed);
    const std::string copy = dir.path() + "/copy";
    copy_data_dir(made.store.path, copy);
    const Damage damage = Damager(made, plan, random).apply(copy);
    SCOPED_TRACE(fmt::format("seed {}: flushed {}, then {}; {}{}", seed, names_of(plan.flushed[0]),
                             names_of(plan.flushed[1]), damage.how,
                             plan.ends_with_batches ? "" : "; the newest log is empty"));
    std::string word;
    ASSERT_EQ(judge(made, plan, damage, copy, word), "") << "kept: " << damage.kept;
    ++tally[word];
  }
  for (const auto& [what, count] : tally) std::printf("%-32s%d\n", what.c_str(), count);
}

}  // namespace
}  // namespace perennial::store
