#include <memory>
#include <string>
#include <string_view>

#include <xxhash.h>

#include "engine/types/check.h"
#include "store/batch/batch_codec.h"
#include "store/format/bytes.h"
#include "store/format/format.h"
#include "tests/fuzz/targets.h"

namespace perennial::fuzz {
namespace {

// Either it is refused, and the message says why, or it says the same again.
void decode(std::string_view input) {
  // In a block of exactly its size, so that a read behind its end is noticed.
  const std::unique_ptr<char[]> bytes(new char[input.size()]);
  input.copy(bytes.get(), input.size());
  const Result<store::Batch> batch = store::decode_batch({bytes.get(), input.size()});
  if (!batch.ok()) {
    const StatusCode code = batch.status().code();
    CHECK(code == StatusCode::Corruption || code == StatusCode::Unsupported);
    CHECK(!batch.status().message().empty());
    return;
  }
  std::string again;
  store::encode_batch(*batch, again);
  CHECK(again == input);
}

}  // namespace

// As it is; and with the hash behind it that no fuzzer guesses.
void batch(std::string_view input) {
  decode(input);
  std::string hashed(input);
  hashed.resize(input.size() + 8);
  store::put(hashed.data() + input.size(), XXH3_64bits(input.data(), input.size()));
  decode(hashed);
}

}  // namespace perennial::fuzz
