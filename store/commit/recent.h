#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace perennial::store {

// The last 512 values of a measurement that is made with each batch.
class Recent {
 public:
  void add(uint64_t value) { values_[added_++ % values_.size()] = value; }

  double mean() const {
    if (count() == 0) return 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < count(); ++i) sum += values_[i];
    return static_cast<double>(sum) / static_cast<double>(count());
  }
  // The value that 99 of 100 do not exceed.
  uint64_t p99() const {
    if (count() == 0) return 0;
    auto sorted = values_;
    const size_t place = count() * 99 / 100;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(place),
                     sorted.begin() + static_cast<ptrdiff_t>(count()));
    return sorted[place];
  }

 private:
  size_t count() const { return std::min(added_, values_.size()); }

  std::array<uint64_t, 512> values_ = {};
  size_t added_ = 0;
};

}  // namespace perennial::store
