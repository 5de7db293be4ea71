#include "cmd/perenniald/net/streams/forward_header.h"

#include <algorithm>

namespace perennial::perenniald {
namespace {

// With so many bytes it is no client's empty lines any more.
constexpr size_t begun_bytes_min = 5;

size_t common_bytes(std::string_view one, std::string_view other) {
  return static_cast<size_t>(std::ranges::mismatch(one, other).in1 - one.begin());
}

}  // namespace

size_t ForwardHeaders::take(std::string_view bytes) {
  size_t taken = 0;
  while (!done_ && taken < bytes.size()) {
    const size_t same = common_bytes(bytes.substr(taken), forward_header.substr(matched_));
    taken += same;
    matched_ += same;
    if (matched_ == forward_header.size()) {
      matched_ = 0;
      done_ = ++count_ == forward_hops_max;
    } else {
      done_ = taken < bytes.size() || matched_ < begun_bytes_min;
    }
  }
  return taken;
}

std::string_view ForwardHeaders::given_back() const {
  return forward_header.substr(0, done_ ? matched_ : 0);
}

}  // namespace perennial::perenniald
