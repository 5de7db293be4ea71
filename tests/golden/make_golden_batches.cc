// Makes the golden bytes of batches of the newest format:
//
//   ninja -C build make_golden_batches
//   build/make_golden_batches tests/golden/batch_5
//
// For a new format only, once: what is there must never change.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "engine/types/check.h"
#include "store/batch/batch_codec.h"
#include "store/format/format.h"
#include "tests/golden/batches.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_golden_batches DIR, which is made, for example batch_6\n");
    return 2;
  }
  std::filesystem::create_directories(argv[1]);
  for (const perennial::golden::NamedBatch& one : perennial::golden::all_batches()) {
    if (one.format != perennial::store::newest_batch_format) continue;
    const std::string path = std::string(argv[1]) + "/" + std::string(one.name);
    CHECK(!std::filesystem::exists(path));
    std::string bytes;
    perennial::store::encode_batch(one.batch, bytes);
    std::ofstream(path, std::ios::binary) << bytes;
    std::printf("made %s\n", path.c_str());
  }
  return 0;
}
