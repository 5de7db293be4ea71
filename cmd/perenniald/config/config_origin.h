#pragma once

#include <string_view>
#include <type_traits>

#include "cmd/perenniald/config/config.h"
#include "cmd/perenniald/core/core.h"
#include "store/types/options.h"

// Connects a row of the table to the option of a layer.
namespace perennial::perenniald {

// The options of the layers below, made from the configuration.
struct LayerOptions {
  core::Options core;
  store::Options store;
};

constexpr ConfigOrigin text_default(std::string_view text) {
  return {text, nullptr, nullptr};
}

// `Path`: the members that lead from LayerOptions to the option.
template <auto Member, auto... Path>
constexpr ConfigOrigin option_at() {
  return {{},
          [](const Config& config, LayerOptions& layers) {
            auto& option = (layers.*....*Path);
            option = static_cast<std::decay_t<decltype(option)>>(config.*Member);
          },
          [](const LayerOptions& layers, Config& config) { config.*Member = (layers.*....*Path); }};
}

template <auto Member, auto Option>
constexpr ConfigOrigin engine_option() {
  return option_at<Member, &LayerOptions::core, &core::Options::engine, Option>();
}

template <auto Member, auto Option>
constexpr ConfigOrigin core_option() {
  return option_at<Member, &LayerOptions::core, Option>();
}

template <auto Member, auto Option>
constexpr ConfigOrigin store_option() {
  return option_at<Member, &LayerOptions::store, Option>();
}

// The option is a duration in nanoseconds, and the setting is in milliseconds.
template <auto Member, auto Option>
constexpr ConfigOrigin core_option_ms() {
  return {{},
          [](const Config& config, LayerOptions& layers) {
            layers.core.*Option = static_cast<Nanos>(config.*Member) * nanos_per_ms;
          },
          [](const LayerOptions& layers, Config& config) {
            config.*Member = static_cast<uint64_t>(layers.core.*Option / nanos_per_ms);
          }};
}

// 0, the default, means a value that the store derives from the size of the disk.
template <auto Member, auto Option>
constexpr ConfigOrigin store_option_or_derived() {
  return {"0",
          [](const Config& config, LayerOptions& layers) {
            layers.store.*Option = config.*Member == 0 ? store::derived : config.*Member;
          },
          nullptr};
}

// A setting whose default differs from the default of the layer's option.
constexpr ConfigOrigin with_default(std::string_view text, ConfigOrigin origin) {
  return {text, origin.to_layers, nullptr};
}

}  // namespace perennial::perenniald
