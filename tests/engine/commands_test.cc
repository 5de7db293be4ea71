#include <type_traits>
#include <variant>

#include <gtest/gtest.h>

#include "engine/engine.h"

// The flags and keys in the rows of commands, compared with what the engine does.
namespace perennial::engine {
namespace {

// Returns the first reply to the command in drain mode; NotFound if there is none or it is not a
// word.
template <typename C>
Word word_while_draining() {
  Engine engine{Limits{}};
  Output out;
  engine.apply({.conn = 1, .event = Opened{}}, out);
  engine.apply({.event = DrainSignal{}}, out);
  engine.apply({.conn = 1, .event = Command(C{})}, out);
  const Word* const word =
      out.replies.empty() ? nullptr : std::get_if<Word>(&out.replies.front().reply);
  return word != nullptr ? *word : Word::NotFound;
}

TEST(Commands, OnlyCommandsThatAddJobsAreRefusedWhileDraining) {
  for_each_command([]<typename Row>(const Row& row) {
    // The command drain is answered with the same word, and is not refused.
    constexpr bool is_drain = std::is_same_v<typename Row::Type, Drain>;
    if constexpr (!command_row<typename Row::Type>().flags.in_core && !is_drain) {
      EXPECT_EQ(word_while_draining<typename Row::Type>() == Word::Draining, row.flags.adds_jobs)
          << row.word();
    }
  });
}

TEST(Commands, EachCommandIsCountedOnceInItsOwnCounter) {
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

// The holder's delete and note, which come too late: at a job that is ready, and at one that
// another holds.
TEST(Commands, ThoseOfTheHolderReachNoOtherJob) {
  constexpr Nanos second = nanos_per_second;
  Engine engine{Limits{}};
  const auto word_of = [&](ConnId conn, Nanos now, Command command) {
    Output out;
    engine.apply({.now = now, .event = Tick{}}, out);
    engine.apply({.now = now, .conn = conn, .event = std::move(command)}, out);
    const auto* const word = std::get_if<Word>(&out.replies.back().reply);
    return word != nullptr ? *word : Word::Found;
  };
  Output out;
  engine.apply({.now = second, .conn = 1, .event = Opened{}}, out);
  engine.apply({.now = second, .conn = 2, .event = Opened{}}, out);
  const Command remove = Delete{.id = 1, .only_held = true};
  const Command note = NoteJob{.id = 1, .bytes = 1, .text = "x", .only_held = true};
  word_of(1, second, Put{0, 0, 10, 1});
  EXPECT_EQ(word_of(1, second, remove), Word::NotFound);
  EXPECT_EQ(word_of(1, second, Reserve{}), Word::Found);
  EXPECT_EQ(word_of(1, second, note), Word::Noted);
  EXPECT_EQ(word_of(1, 11 * second, remove), Word::NotFound);
  EXPECT_EQ(word_of(1, 11 * second, note), Word::NotFound);
  EXPECT_EQ(word_of(2, 11 * second, Reserve{}), Word::Found);
  EXPECT_EQ(word_of(1, 11 * second, remove), Word::NotFound);
  EXPECT_EQ(word_of(1, 11 * second, note), Word::NotFound);
  EXPECT_EQ(word_of(2, 11 * second, remove), Word::Deleted);
  EXPECT_EQ(word_of(2, 11 * second, remove), Word::NotFound);
}

}  // namespace
}  // namespace perennial::engine
