#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cmd/perennial/arguments/arguments.h"

// The notes of a job, which say why its attempts failed.
namespace perennial::tool {

// The notes of a job that the server can read: those that are damaged on its disk are left out.
// Nothing: the server lacks list-notes, or has no such job any more.
Result<std::optional<std::vector<wire::ToldNote>>> ask_notes(ServerConnection& server, JobId id);

// The numbers of the notes that a job keeps which counts `had`, and that are not among `notes`.
std::vector<uint32_t> missing_notes(const std::vector<wire::ToldNote>& notes, uint64_t had);

// For people: a line for each, and its text below. REQUIRES: both are in the order of numbers.
std::string notes_text(const std::vector<wire::ToldNote>& notes,
                       const std::vector<uint32_t>& missing = {});
// For people: the first line of a text, and behind a colon its last one if it has several: what has
// happened, and the last line of standard error. At most note_line_columns_max characters; "~"
// marks that there are more.
inline constexpr size_t note_line_columns_max = 120;
std::string note_line(std::string_view text);
nlohmann::ordered_json notes_json(const std::vector<wire::ToldNote>& notes);

}  // namespace perennial::tool
