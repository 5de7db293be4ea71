#include <string>
#include <utility>

#include <benchmark/benchmark.h>

#include "engine/types/check.h"
#include "tests/bench/registry.h"
#include "wire/format.h"

namespace perennial::microbench {
namespace {

// This many replies are appended to one buffer before it is cleared, as in a turn of the event
// loop.
constexpr size_t replies_count = 64;

template <typename Append>
void append_many(benchmark::State& state, const Append& append) {
  std::string out;
  while (state.KeepRunningBatch(replies_count)) {
    out.clear();
    for (size_t i = 0; i < replies_count; ++i) append(out);
    benchmark::DoNotOptimize(out.data());
  }
  CHECK(!out.empty());
}

template <typename Append>
void add(const std::string& name, Append append) {
  benchmark::RegisterBenchmark(("reply/" + name).c_str(), append_many<Append>, std::move(append));
}

JobStats job_stats() {
  return {.id = 1'234'567, .tube = "mail", .priority = 1024, .age = 5 * nanos_per_second};
}

}  // namespace

void register_replies() {
  const auto fixed = [](std::string& out) { wire::append_reply(out, Word::Deleted); };
  add("DELETED", fixed);
  add("INSERTED", [](std::string& out) {
    wire::append_reply(out, NumberReply{Word::Inserted, 1'234'567});
  });
  add("KICKED", [](std::string& out) {
    wire::append_reply(out, NumberReply{Word::KickedCount, 100});
  });
  add("USING", [](std::string& out) { wire::append_reply(out, Using{"mail"}); });
  add("RESERVED", [](std::string& out) {
    wire::append_job_head(out, {.word = Word::Reserved, .id = 1'234'567, .body_bytes = 65'536});
  });
  add("stats-job",
      [](std::string& out) { wire::append_reply(out, std::make_unique<JobStats>(job_stats())); });
  add("stats", [](std::string& out) {
    wire::append_stats(out, EngineStats{}, ProcessFacts{}, StoreFacts{});
  });
}

}  // namespace perennial::microbench
