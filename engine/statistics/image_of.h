#pragma once

#include "engine/types/image.h"

namespace perennial::engine {

class State;

// All that is kept on disk of a state.
Image image_of(const State& state);

}  // namespace perennial::engine
