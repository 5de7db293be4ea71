#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "store/salvage/salvaged.h"

// What a salvage has found, for people.
namespace perennial::tool {

// "1-3, 7, 9-12", at most so many runs of ids that follow each other.
std::string runs_of_ids(const store::IdList& ids, size_t runs_max = 20);

// A line for each damaged table with what cannot be read of it, and one for each kind of loss.
// Empty if nothing is damaged.
std::vector<std::string> damage_lines(const store::Salvaged& salvaged);

// " (commits 5 to 9)" of a log that is damaged, or empty where they are not known.
std::string lost_commits_text(const store::Salvaged& salvaged);

// What a repair keeps and loses, with all ids that are kept in the account.
nlohmann::ordered_json salvaged_json(const store::Salvaged& salvaged);

}  // namespace perennial::tool
