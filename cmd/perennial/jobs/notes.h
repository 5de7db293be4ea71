#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cmd/perennial/arguments/arguments.h"

// The notes of a job, which say why its attempts failed.
namespace perennial::tool {

// The server may lack list-notes, or have no such job any more: then there are none.
Result<std::vector<wire::ToldNote>> ask_notes(ServerConnection& server, JobId id);

// For people: a line for each, and its text below.
std::string notes_text(const std::vector<wire::ToldNote>& notes);
// The first line of the newest one, and behind a colon its last one if it has several: what has
// happened, and the last line of standard error. Empty: there is none.
std::string newest_line(const std::vector<wire::ToldNote>& notes);
nlohmann::ordered_json notes_json(const std::vector<wire::ToldNote>& notes);

}  // namespace perennial::tool
