#include "tests/cmd/perennial/dump/edge_cases.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/types/check.h"
#include "store/offline/builder.h"
#include "tests/store/random_fields.h"

namespace perennial::tool {
namespace {

const std::vector<std::string> tube_names = {
    "default", "a", "x-+/;.$_()", "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", std::string(200, 'z'),
    "0"};

class EdgeCases {
 public:
  explicit EdgeCases(uint64_t seed) : random_(seed) {}

  void make(store::Builder& builder);

 private:
  uint64_t below(uint64_t bound) { return random_() % bound; }
  uint32_t number() {
    constexpr uint32_t most = std::numeric_limits<uint32_t>::max();
    return below(4) == 0 ? most : static_cast<uint32_t>(below(3));
  }
  std::string body();
  JobRow row(JobId id);
  void add_schedule(store::Builder& builder, uint64_t number);
  // Gives the job a key that no other has, and stores it.
  void add_key(store::Builder& builder, JobRow& row, const std::string& tube);

  std::mt19937_64 random_;
  uint64_t order_ = 0;
};

std::string EdgeCases::body() {
  const std::string pieces[] = {"",
                                "hello\n",
                                "{\"a\":1}",
                                "\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x8c",
                                "\xff",
                                "\xc3",
                                "\"\\/\b\t",
                                std::string("\0\x1f\x7f", 3),
                                "\xc2\x85\xe2\x80\xa8\xef\xbb\xbf\xef\xbf\xbf",
                                "\xed\xa0\x80"};
  std::string out;
  for (uint64_t count = below(4); count > 0; --count) out += pieces[below(std::size(pieces))];
  if (below(20) == 0) out.insert(below(out.size() + 1), std::string(200'000 + below(3), 'x'));
  if (below(20) == 0) {
    for (int i = 0; i < 100'000; ++i) out += static_cast<char>(random_());
  }
  return out;
}

JobRow EdgeCases::row(JobId id) {
  JobRow row = {.id = id,
                .state = store::job_states[below(4)],
                .priority = number(),
                .delay_s = number(),
                .ttr_s = std::max<uint32_t>(number(), 1),
                .created = below(4) == 0 ? std::numeric_limits<Nanos>::max()
                                         : static_cast<Nanos>(below(1'000'000)),
                .reserves = number(),
                .timeouts = number(),
                .releases = number(),
                .buries = number(),
                .kicks = number()};
  if (row.state == JobState::Buried) row.order = ++order_;
  if (row.state == JobState::Delayed) row.order = below(std::numeric_limits<Nanos>::max());
  if (below(3) == 0) row.fields = store::random_fields(random_);
  return row;
}

void EdgeCases::add_key(store::Builder& builder, JobRow& row, const std::string& tube) {
  JobKey key = store::random_key(random_, "key-" + std::to_string(row.id));
  if (below(8) == 0) key.key += std::string(key_bytes_max - key.key.size(), '$');
  key.given_up = below(4) == 0;
  const bool is_held = !key.given_up && key.until != KeyUntil::Ttl;
  const Nanos end = below(4) == 0 ? std::numeric_limits<Nanos>::max() : 1;
  CHECK(builder.add_key({tube, key.key, row.id, key.until, is_held ? 0 : end}).ok());
  row.fields.make().key = std::move(key);
}

void EdgeCases::add_schedule(store::Builder& builder, uint64_t number) {
  const std::string bytes = body();
  Schedule schedule = store::random_schedule(random_, "schedule-" + std::to_string(number));
  schedule.put.body_bytes = static_cast<uint32_t>(bytes.size());
  ScheduleProgress progress = store::random_progress(random_);
  progress.last_job = below(2);
  CHECK(builder.add_schedule({.schedule = schedule, .progress = progress}, bytes).ok());
}

void EdgeCases::make(store::Builder& builder) {
  std::vector<TubeId> tubes;
  for (const std::string& name : tube_names) tubes.push_back(*builder.tube(name));
  CHECK(builder.add_pause({.tube = tubes[3], .pause = 1, .until = 2}).ok());
  CHECK(builder.add_pause({.tube = tubes[1], .pause = 7, .until = 99'999'999'999}).ok());
  for (uint64_t left = below(4); left > 0; --left) add_schedule(builder, left);
  const uint64_t jobs = below(120);
  JobId id = 0;
  for (uint64_t i = 0; i < jobs; ++i) {
    id += 1 + below(5);
    JobRow job = row(id);
    const size_t tube = below(tubes.size());
    job.tube = tubes[tube];
    if (below(3) == 0) add_key(builder, job, tube_names[tube]);
    const std::string bytes = body();
    job.body_bytes = static_cast<uint32_t>(bytes.size());
    CHECK(builder.add_job(job, bytes).ok());
  }
  const KeyStored cooldown = {
      .tube = "gone", .key = "k", .job = id + 1, .until = KeyUntil::Deleted, .expires_at = 1};
  CHECK(builder.add_key(cooldown).ok());
  for (const std::string& name : tube_names) {
    const TubeSettings settings = store::random_settings(random_);
    if (settings != TubeSettings{}) {
      CHECK(builder.add_settings({.tube = name, .settings = settings}).ok());
    }
  }
  const store::CommitRow commit = {.epoch = 1 + below(3),
                                   .index = 1000 + below(3),
                                   .known_durable = 998 + below(3),
                                   .now = static_cast<Nanos>(below(1'000'000))};
  CHECK(builder.publish(commit, id + 2 + below(2)).ok());
}

}  // namespace

void make_edge_cases(const std::string& path, uint64_t seed) {
  Result<std::unique_ptr<store::Builder>> builder = store::Builder::begin({.path = path});
  CHECK(builder.ok());
  EdgeCases(seed).make(**builder);
}

}  // namespace perennial::tool
