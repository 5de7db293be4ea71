#include "cmd/perenniald/server/options.h"

#include "cmd/perenniald/checkpoints/checkpoint_dir.h"
#include "cmd/perenniald/process/failure.h"
#include "cmd/perenniald/process/log.h"

namespace perennial::perenniald {
namespace {

Level level_of(std::string_view at, std::string_view fields) {
  if (at == "store.load") return Level::Debug;  // What it found is in store.recovered, once.
  if (at == "store.log_forced") return Level::Warning;
  const bool is_scarce = at == "store.room" && !fields.starts_with("state=ok ");
  return is_scarce ? Level::Warning : Level::Info;
}

}  // namespace

core::Options core_options(const Config& config) {
  core::Options options;
  options.engine.jobs_max = config.jobs_max;
  options.engine.tubes_max = static_cast<uint32_t>(config.tubes_max);
  options.engine.watched_max = static_cast<uint32_t>(config.watched_max);
  options.engine.reserved_max = static_cast<uint32_t>(config.reserved_max);
  options.engine.moves_per_turn_max = static_cast<uint32_t>(config.moves_per_turn_max);
  options.job_bytes_max = static_cast<uint32_t>(config.job_bytes_max);
  options.pipeline_bytes_max = config.pipeline_bytes_max;
  options.output_bytes_max = config.output_bytes_max;
  options.output_total_bytes_max = config.output_total_bytes_max;
  options.pending_bytes_max = config.pending_bytes_max;
  options.batch_bytes_max = config.batch_bytes_max;
  options.body_cache_bytes = config.body_cache_bytes;
  options.memory_bytes_max = config.memory_bytes_max;
  options.sync_idle = static_cast<Nanos>(config.sync_idle_ms) * nanos_per_ms;
  return options;
}

Checkpoints::Settings checkpoint_settings(const Config& config, const std::string& version) {
  return {.dir = checkpoint_dir(config.checkpoint_dir, config.data_dir),
          .data_dir = config.data_dir,
          .server_version = version,
          .every = static_cast<Nanos>(config.checkpoint_every_s) * nanos_per_second,
          .keep = config.checkpoint_keep};
}

store::Options store_options(const Config& config, const std::atomic<bool>& serving) {
  store::Options options;
  options.data_dir = config.data_dir;
  options.durability = config.durability;
  options.sync_interval_ms = static_cast<uint32_t>(config.sync_interval_ms);
  options.log_bytes_max = config.log_bytes_max;
  options.recover = config.recover;
  const auto or_derived = [](uint64_t bytes) { return bytes == 0 ? store::derived : bytes; };
  options.low_water_bytes = or_derived(config.low_water_bytes);
  options.ballast_bytes = or_derived(config.ballast_bytes);
  options.open_bytes_min = or_derived(config.open_bytes_min);
  options.events.info = [](std::string_view at, std::string_view fields) {
    log_fields(level_of(at, fields), at, fields);
  };
  options.events.fatal = [&serving](const Status& status) {
    end_process(serving ? running_failure(status) : open_failure(status));
  };
  return options;
}

}  // namespace perennial::perenniald
