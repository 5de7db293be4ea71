#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "cmd/perenniald/core/command_times.h"
#include "engine/types/reply.h"

// What core counts of answers, besides what the engine counts.
namespace perennial::core {

// The words that say that a command was not done. TIMED_OUT and DEADLINE_SOON are not among them:
// they are what a reserve has asked for. BAD_FORMAT, UNKNOWN_COMMAND and the like are.
inline constexpr std::array error_words = {
    Word::NotFound,      Word::NotIgnored,  Word::Draining,     Word::ExpectedCrlf,
    Word::JobTooBig,     Word::OutOfMemory, Word::BadFormat,    Word::UnknownCommand,
    Word::InternalError, Word::Denied,      Word::Unauthorized, Word::Forbidden,
    Word::Failed};

class AnswerCounts {
 public:
  void on_word(Word word, CommandKind kind) {
    // To drain it is the answer that was asked for.
    if (word == Word::Draining && kind != CommandKind::Put) return;
    ++words_[static_cast<size_t>(word)];
  }
  // How many answers of one of error_words there were.
  uint64_t errors(Word word) const { return words_[static_cast<size_t>(word)]; }

  // Puts that the engine was told to refuse, or never saw: PutRefusal has the others.
  struct PutsRefused {
    uint64_t disk = 0;
    uint64_t memory = 0;
    uint64_t forbidden = 0;
    uint64_t unauthorized = 0;
  };
  PutsRefused puts_refused = {};

  // Answers with the body of a job, by whether it was in the body cache.
  uint64_t bodies_found = 0;
  uint64_t bodies_missed = 0;

 private:
  std::array<uint64_t, std::size(reply_rows)> words_ = {};
};

}  // namespace perennial::core
