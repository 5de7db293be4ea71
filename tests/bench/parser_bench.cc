#include <algorithm>
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>

#include "engine/types/check.h"
#include "tests/bench/registry.h"
#include "wire/parser.h"

namespace perennial::microbench {
namespace {

constexpr uint32_t job_bytes_max = 1 << 20;
constexpr size_t commands_count = 64;  // As many commands as a busy connection sends at once.

std::string repeated(std::string_view text) {
  std::string all;
  for (size_t i = 0; i < commands_count; ++i) all += text;
  return all;
}

std::string put_of(size_t body_bytes) {
  return "put 1024 0 60 " + std::to_string(body_bytes) + "\r\n" + std::string(body_bytes, 'x') +
         "\r\n";
}

// Feeds the bytes in pieces of at most `piece_bytes`. Returns the number of commands.
size_t feed_all(wire::Parser& parser, std::string_view bytes, size_t piece_bytes) {
  size_t commands = 0;
  while (!bytes.empty()) {
    std::string_view piece = bytes.substr(0, piece_bytes);
    bytes.remove_prefix(piece.size());
    while (!piece.empty()) {
      const wire::Step step = parser.feed({piece.data(), piece.size()});
      benchmark::DoNotOptimize(&step);
      piece.remove_prefix(step.consumed);
      commands += step.command ? 1 : 0;
    }
  }
  return commands;
}

void parse(benchmark::State& state, const std::string& command, size_t piece_bytes) {
  const std::string bytes = repeated(command);
  wire::Parser parser(job_bytes_max);
  while (state.KeepRunningBatch(commands_count))
    CHECK(feed_all(parser, bytes, piece_bytes) == commands_count);
}

void add(const std::string& name, const std::string& command, size_t piece_bytes = SIZE_MAX) {
  benchmark::RegisterBenchmark(("parse/" + name).c_str(), parse, command, piece_bytes);
}

}  // namespace

void register_parser() {
  for (const size_t body_bytes : {0, 128, 1024, 65'536})
    add("put/" + std::to_string(body_bytes), put_of(body_bytes));
  // Bytes from a network arrive in pieces of any size.
  add("put/128/split/37", put_of(128), 37);
  add("put/128/split/1", put_of(128), 1);
  add("put/65536/split/16384", put_of(65'536), 16'384);
  add("reserve", "reserve\r\n");
  add("reserve-with-timeout", "reserve-with-timeout 10\r\n");
  add("delete", "delete 1234567\r\n");
  add("release", "release 1234567 1024 0\r\n");
  add("bury", "bury 1234567 1024\r\n");
  add("kick", "kick 100\r\n");
  add("touch", "touch 1234567\r\n");
  add("peek", "peek 1234567\r\n");
  add("use/short", "use mail\r\n");
  add("use/long", "use a-tube-whose-name-is-longer-than-a-small-string\r\n");
  add("watch", "watch mail\r\n");
  add("pause-tube", "pause-tube mail 60\r\n");
  add("stats-job", "stats-job 1234567\r\n");
  add("unknown", "what is this\r\n");
  add("delete/split/5", "delete 1234567\r\n", 5);
}

}  // namespace perennial::microbench
