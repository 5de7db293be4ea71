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

// The input is refused with a message, or its decoded form encodes to the same bytes.
void decode(std::string_view input) {
  // A block of exactly this size, so that a read beyond its end is detected.
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

// Decodes the input as it is, and with the correct hash appended, which no fuzzer guesses.
void batch(std::string_view input) {
  decode(input);
  std::string hashed(input);
  hashed.resize(input.size() + 8);
  store::put(hashed.data() + input.size(), XXH3_64bits(input.data(), input.size()));
  decode(hashed);
}

}  // namespace perennial::fuzz
