#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cmd/perenniald/http/answer.h"
#include "cmd/perenniald/http/api/answers.h"
#include "cmd/perenniald/http/api/history.h"
#include "engine/view/engine_view.h"

namespace perennial::http {

// A column by which tubes can be sorted.
struct TubeColumn {
  std::string_view name;
  double (*value)(const TubeStats&);
};
// Null: there is no such column.
const TubeColumn* tube_column(std::string_view name);

struct TubesAsked {
  std::string match;                   // A pattern of access::fits_pattern(). Empty: all tubes.
  const TubeColumn* column = nullptr;  // Null: by name.
  bool is_descending = false;
  uint64_t limit = page_default;
  uint64_t offset = 0;
  bool with_gone = false;  // With those that were there lately.
};

// Answers with a page of the tubes that the caller may see. `engine` and `history` outlive the
// answer.
std::unique_ptr<Answer> make_tubes_page(engine::EngineView engine, const History& history,
                                        const Caller& caller, TubesAsked asked, Nanos now);

}  // namespace perennial::http
