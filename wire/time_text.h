#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/types/basic.h"

// Moments as RFC 3339 writes them. All are nanoseconds since the epoch.
namespace perennial::wire {

// In UTC, with milliseconds: "2026-03-29T01:59:00.000Z".
std::string utc_text(Nanos time);
// The same, and an empty text for 0: it is not known.
std::string utc_text_if_known(Nanos time);

// The reverse, in any offset and with any fraction: "2026-03-29T01:59:00+01:00". None: it is no
// such time, or not between 1970 and 2262.
std::optional<Nanos> read_time(std::string_view text);

}  // namespace perennial::wire
