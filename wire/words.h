#pragma once

#include <array>
#include <string_view>

#include "engine/types/reply.h"

namespace perennial::wire {

// The replies that are one fixed line, in the order of Word.
inline constexpr std::array<std::string_view, 17> word_texts = {
    "DELETED",    "RELEASED",       "BURIED",      "TOUCHED",       "KICKED",
    "PAUSED",     "NOT_FOUND",      "NOT_IGNORED", "TIMED_OUT",     "DEADLINE_SOON",
    "DRAINING",   "EXPECTED_CRLF",  "JOB_TOO_BIG", "OUT_OF_MEMORY", "INTERNAL_ERROR",
    "BAD_FORMAT", "UNKNOWN_COMMAND"};
static_assert(static_cast<size_t>(Word::UnknownCommand) + 1 == word_texts.size());

constexpr std::string_view text_of(Word word) {
  return word_texts[static_cast<size_t>(word)];
}

}  // namespace perennial::wire
