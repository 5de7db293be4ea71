#include "cmd/perenniald/http/routes/rate_limit.h"

#include <algorithm>

namespace perennial::http {
namespace {

double tokens_since(double tokens, Nanos since, Nanos now) {
  const double seconds = static_cast<double>(now - since) / static_cast<double>(nanos_per_second);
  return std::min(RateLimit::burst, tokens + seconds * RateLimit::per_second);
}

}  // namespace

bool RateLimit::allows(const std::string& address, Nanos now) {
  if (address.empty()) return true;
  if (buckets_.size() >= addresses_max && !buckets_.contains(address)) {
    forget_full(now);
    if (buckets_.size() >= addresses_max) return false;
  }
  const auto [found, is_new] = buckets_.try_emplace(address, Bucket{.since = now});
  Bucket& bucket = found->second;
  bucket.tokens = tokens_since(bucket.tokens, bucket.since, now);
  bucket.since = now;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

void RateLimit::forget_full(Nanos now) {
  std::erase_if(buckets_, [&](const auto& entry) {
    return tokens_since(entry.second.tokens, entry.second.since, now) >= burst;
  });
}

}  // namespace perennial::http
