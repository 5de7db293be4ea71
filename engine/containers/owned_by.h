#pragma once

#include <memory>

namespace perennial::engine {

// A member that everybody may read, and only `Owner` may change.
template <typename Owner, typename T>
class OwnedBy {
 public:
  const T& operator*() const { return value_; }
  const T* operator->() const { return &value_; }

 private:
  friend Owner;

  T value_ = {};
};

// One that may not be there.
template <typename Owner, typename T>
class OwnedBy<Owner, std::unique_ptr<T>> {
 public:
  explicit operator bool() const { return value_ != nullptr; }
  // REQUIRES: it is there.
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

 private:
  friend Owner;

  std::unique_ptr<T> value_;
};

}  // namespace perennial::engine
