#include "cmd/perenniald/server/options.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "cmd/common/calendar/system_calendar.h"
#include "cmd/perenniald/checkpoints/checkpoint_dir.h"
#include "cmd/perenniald/config/config_origin.h"
#include "cmd/perenniald/process/failure.h"
#include "cmd/perenniald/process/log.h"
#include "store/types/unsynced_env.h"

namespace perennial::perenniald {
namespace {

Level level_of(std::string_view at) {
  if (at == "store.load") return Level::Debug;  // store.recovered reports the same in one line.
  const bool is_loss = at == "store.log_forced" || at == "store.forced_start";
  const bool is_damage = at == "store.damage" || at == "store.damage_contained" ||
                         at == "store.damage_not_contained" || at == "store.damage_record" ||
                         at == "store.damage_of_notes" || at == "store.damage_of_ended" ||
                         at == "store.damaged_note" || at == "store.mark_damaged";
  if (at == "store.damaged_rows") return Level::Error;
  return is_loss || is_damage ? Level::Warning : Level::Info;
}

}  // namespace

core::Options core_options(const Config& config) {
  LayerOptions layers;
  set_layer_options(config, layers);
  layers.core.engine.measured_as =
      http::measured_as(config.metrics_tube_histograms, config.metrics_tube_groups);
  layers.core.engine.calendar = std::make_shared<const calendar::SystemCalendar>();
  return std::move(layers.core);
}

// Where there are two, the loop and the thread would share them with clients and RocksDB, and take
// from each other what they save.
uint64_t io_thread_count(const Config& config, unsigned processors) {
  if (config.io_threads) return *config.io_threads;
  constexpr unsigned few = 2;
  constexpr unsigned per_thread = 4;
  constexpr unsigned most = 8;
  return processors <= few ? 0 : std::clamp(processors / per_thread, 1U, most);
}

http::TubeChoice metrics_tubes(const Config& config) {
  http::TubeChoice choice = {.first = config.metrics_tubes,
                             .groups = config.metrics_tube_groups,
                             .tubes_max = config.metrics_tubes_max};
  // Whoever wants to know how long the jobs of a tube wait wants to know how many they are.
  choice.first.insert(choice.first.end(), config.metrics_tube_histograms.begin(),
                      config.metrics_tube_histograms.end());
  return choice;
}

Checkpoints::Settings checkpoint_settings(const Config& config, const std::string& version) {
  return {.dir = checkpoint_dir(config.checkpoint_dir, config.data_dir),
          .data_dir = config.data_dir,
          .group_access = config.data_group_access,
          .server_version = version,
          .every = static_cast<Nanos>(config.checkpoint_every_s) * nanos_per_second,
          .keep = config.checkpoint_keep};
}

ClockBounds clock_bounds(const Config& config) {
  constexpr Nanos nanos_per_day = 86'400 * nanos_per_second;
  return {.behind_max = static_cast<Nanos>(config.clock_behind_seconds_max) * nanos_per_second,
          .ahead_max = static_cast<Nanos>(config.clock_ahead_days_max) * nanos_per_day,
          .is_accepted = config.accept_clock};
}

// Where threads carry the bytes of clients there are processors for more threads, and the loop is
// what limits the server. It then writes a batch itself only if few clients wait for it, whom the
// handover to the committer would cost more than the loop's time is worth.
constexpr size_t few_operations = 32;

store::Options store_options(const Config& config, bool has_io_threads,
                             const std::atomic<bool>& is_written) {
  LayerOptions layers;
  set_layer_options(config, layers);
  store::Options options = std::move(layers.store);
  if (config.cluster.is_set()) {
    // A batch is committed in etcd. The sync here lets etcd's log be trimmed.
    options.durability = store::Durability::Interval;
    options.sync_interval_ms = static_cast<uint32_t>(config.cluster.sync_ms);
  }
  if (has_io_threads) options.caller_operations_max = few_operations;
  options.env = store::group_env(config.data_group_access);
  if (config.is_ephemeral) {
    options.env = store::unsynced_env();
    options.ballast_bytes = 0;
  }
  options.events.info = [](std::string_view at, std::string_view fields) {
    log_fields(level_of(at), at, fields);
  };
  options.events.scarce = [](std::string_view at, std::string_view fields) {
    log_fields(Level::Warning, at, fields);
  };
  options.events.fatal = [&is_written, data_dir = options.data_dir](const Status& status) {
    end_process(is_written ? running_failure(status) : open_failure(status, data_dir));
  };
  return options;
}

}  // namespace perennial::perenniald
