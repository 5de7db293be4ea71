#pragma once

#include "cmd/perenniald/core/core.h"
#include "store/types/options.h"

namespace perennial::perenniald {

// What the layers below are given of the configuration.
struct LayerOptions {
  core::Options core;
  store::Options store;
};

}  // namespace perennial::perenniald
