#pragma once

#include "cmd/perenniald/core/core.h"
#include "store/types/options.h"

namespace perennial::perenniald {

// The options of the layers below, made from the configuration.
struct LayerOptions {
  core::Options core;
  store::Options store;
};

}  // namespace perennial::perenniald
