#pragma once

#include <vector>

#include "cmd/perenniald/config/value_types.h"
#include "engine/types/job_fields.h"
#include "engine/types/status.h"

// The setting `tubes`: what tubes have without a set-tube.
namespace perennial::perenniald {

// Adds the settings of one name, or of all names with one beginning: "mail-*: {tries: 3}". The
// options are those of set-tube. InvalidArgument: one of them is not valid, or there is none.
Status add_tube_defaults(std::vector<TubeDefaults>& tubes, const MapEntry& entry);
std::vector<MapEntry> tube_entries(const std::vector<TubeDefaults>& tubes);

inline constexpr auto tubes_type =
    map_type<std::vector<TubeDefaults>, add_tube_defaults, tube_entries>(
        "lines of the form 'tube: {tries: 3}'", "a name and settings, as in 'mail: {tries: 3}'",
        true);

}  // namespace perennial::perenniald
