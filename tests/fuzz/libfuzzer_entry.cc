// The entry point for libFuzzer. FUZZ_TARGET is the target of this program.

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  perennial::fuzz::FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
