#include "cmd/perennial-bench/load/bodies.h"

#include <cstring>
#include <random>

namespace perennial::bench {
namespace {

constexpr unsigned places_bits = 20;
constexpr size_t places = size_t{1} << places_bits;

}  // namespace

Bodies::Bodies(uint32_t bytes, uint64_t seed) : bytes_(bytes), pool_(bytes + places, ' ') {
  std::mt19937_64 random(seed);
  for (char& letter : pool_) letter = static_cast<char>('!' + random() % 90);
}

void Bodies::write(char* place, Nanos time) const {
  const bool has_time = bytes_ >= sizeof time;
  const std::string_view letters = letters_at(has_time ? time : 0);
  if (has_time) std::memcpy(place, &time, sizeof time);
  letters.copy(place + (bytes_ - letters.size()), letters.size());
}

bool Bodies::is_one(std::string_view body) const {
  if (body.size() != bytes_) return false;
  const std::string_view letters = letters_at(time_of(body).value_or(0));
  return body.ends_with(letters);
}

std::optional<Nanos> Bodies::time_of(std::string_view body) const {
  Nanos time = 0;
  if (body.size() < sizeof time) return std::nullopt;
  std::memcpy(&time, body.data(), sizeof time);
  return time;
}

// Knuth's multiplicative hash spreads times that lie close together over the pool.
std::string_view Bodies::letters_at(Nanos time) const {
  const uint64_t hash = static_cast<uint64_t>(time) * 0x9e3779b97f4a7c15;
  const size_t length = bytes_ >= sizeof time ? bytes_ - sizeof time : bytes_;
  return std::string_view(pool_).substr(hash >> (64 - places_bits), length);
}

}  // namespace perennial::bench
