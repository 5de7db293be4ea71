#pragma once

#include <string_view>

#include "cmd/perenniald/config/config.h"
#include "cmd/perenniald/config/layers.h"

// How a row of the configuration is bound to the option of a layer.
namespace perennial::perenniald {

constexpr ConfigOrigin text_default(std::string_view text) {
  return {text, nullptr, nullptr};
}

template <auto Member, auto Option>
constexpr ConfigOrigin engine_option() {
  return {{},
          [](const Config& config, LayerOptions& layers) {
            auto& option = layers.core.engine.*Option;
            option = static_cast<std::decay_t<decltype(option)>>(config.*Member);
          },
          [](const LayerOptions& layers, Config& config) {
            config.*Member = layers.core.engine.*Option;
          }};
}

template <auto Member, auto Option>
constexpr ConfigOrigin core_option() {
  return {{},
          [](const Config& config, LayerOptions& layers) {
            auto& option = layers.core.*Option;
            option = static_cast<std::decay_t<decltype(option)>>(config.*Member);
          },
          [](const LayerOptions& layers, Config& config) { config.*Member = layers.core.*Option; }};
}

// A duration there, milliseconds here.
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

template <auto Member, auto Option>
constexpr ConfigOrigin store_option() {
  return {
      {},
      [](const Config& config, LayerOptions& layers) {
        auto& option = layers.store.*Option;
        option = static_cast<std::decay_t<decltype(option)>>(config.*Member);
      },
      [](const LayerOptions& layers, Config& config) { config.*Member = layers.store.*Option; }};
}

// 0, which is the default, is what suits the disk.
template <auto Member, auto Option>
constexpr ConfigOrigin store_option_or_derived() {
  return {"0",
          [](const Config& config, LayerOptions& layers) {
            layers.store.*Option = config.*Member == 0 ? store::derived : config.*Member;
          },
          nullptr};
}

// The server's default is not the layer's.
constexpr ConfigOrigin with_default(std::string_view text, ConfigOrigin origin) {
  return {text, origin.to_layers, nullptr};
}

}  // namespace perennial::perenniald
