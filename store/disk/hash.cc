#include "store/disk/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "engine/types/check.h"

namespace perennial::store {

Hasher::Hasher() : state_(XXH3_createState()) {
  CHECK(state_ != nullptr);
  CHECK(XXH3_128bits_reset(state_.get()) == XXH_OK);
}
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;
Hasher::~Hasher() = default;

void Hasher::add(std::string_view bytes) {
  CHECK(XXH3_128bits_update(state_.get(), bytes.data(), bytes.size()) == XXH_OK);
}

std::string Hasher::hex() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

void Hasher::Free::operator()(XXH3_state_s* state) const {
  XXH3_freeState(state);
}

}  // namespace perennial::store
