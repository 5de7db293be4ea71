#include <variant>

#include <gtest/gtest.h>

#include "engine/engine.h"

// What the rows of commands say, and what the engine does.
namespace perennial::engine {
namespace {

// What a server that drains answers, first.
template <typename C>
Word word_while_draining() {
  Engine engine{Limits{}};
  Output out;
  engine.apply({.conn = 1, .event = Opened{}}, out);
  engine.apply({.event = Drain{}}, out);
  engine.apply({.conn = 1, .event = Command(C{})}, out);
  const Word* const word =
      out.replies.empty() ? nullptr : std::get_if<Word>(&out.replies.front().reply);
  return word != nullptr ? *word : Word::NotFound;
}

TEST(Commands, ThoseThatAddJobsAreRefusedWhileDrainingAndNoOthers) {
  for_each_command([]<typename Row>(const Row& row) {
    if constexpr (!command_row<typename Row::Type>().flags.in_core) {
      EXPECT_EQ(word_while_draining<typename Row::Type>() == Word::Draining, row.flags.adds_jobs)
          << row.word();
    }
  });
}

TEST(Commands, EachIsCountedInItsOwnCounterOnce) {
  for_each_command([]<typename Row>(const Row& row) {
    using C = typename Row::Type;
    if constexpr (!command_row<C>().flags.in_core) {
      Engine engine{Limits{}};
      Output out;
      engine.apply({.conn = 1, .event = Opened{}}, out);
      engine.apply({.conn = 1, .event = Command(C{})}, out);
      engine.apply({.conn = 2, .event = Opened{}}, out);
      engine.apply({.conn = 2, .event = Command(Stats{})}, out);
      const auto& stats = std::get<std::unique_ptr<EngineStats>>(out.replies.back().reply);
      for (size_t at = 0; at < commands_count; ++at) {
        const bool is_it = at == row_index<C>(command_rows) && !row.stats_key.empty();
        const bool is_stats = at == row_index<Stats>(command_rows);
        EXPECT_EQ(stats->commands.at(at), uint64_t{is_it} + uint64_t{is_stats}) << row.word();
      }
    }
  });
}

}  // namespace
}  // namespace perennial::engine
