#pragma once

#include <atomic>

#include "cmd/perenniald/checkpoints/checkpoints.h"
#include "cmd/perenniald/config/config.h"
#include "cmd/perenniald/core/core.h"
#include "cmd/perenniald/http/tube_metrics.h"
#include "cmd/perenniald/server/clock_check.h"
#include "store/types/options.h"

// The options of the layers below, made from the configuration.
namespace perennial::perenniald {

core::Options core_options(const Config& config);
// The threads that move the bytes of clients: those of the setting, or those that suit so many
// processors. 0: the loop moves them.
uint64_t io_thread_count(const Config& config, unsigned processors);
// Which tubes have series in /metrics.
http::TubeChoice metrics_tubes(const Config& config);
Checkpoints::Settings checkpoint_settings(const Config& config, const std::string& version);
ClockBounds clock_bounds(const Config& config);
// `is_written` decides which exit code a failure of the store has: that of an open, or, from the
// first batch on, that of a write. It outlives the store.
store::Options store_options(const Config& config, bool has_io_threads,
                             const std::atomic<bool>& is_written);

}  // namespace perennial::perenniald
