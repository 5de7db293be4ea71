#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace perennial {

// A value that is there or not, in the size of a pointer: for what few objects have. Unlike a
// unique_ptr it is copied and compared by its value.
template <typename T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}  // NOLINT: like std::optional.
  Boxed(const std::optional<T>& value)                               // NOLINT
      : value_(value ? std::make_unique<T>(*value) : nullptr) {}
  Boxed(const Boxed& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(const Boxed& other) {
    if (this != &other) value_ = other ? std::make_unique<T>(*other) : nullptr;
    return *this;
  }
  Boxed& operator=(Boxed&&) noexcept = default;
  ~Boxed() = default;

  explicit operator bool() const { return value_ != nullptr; }
  // REQUIRES: there is a value.
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }
  T& operator*() { return *value_; }
  T* operator->() { return value_.get(); }
  // The value, which is made if there is none.
  T& make() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }
  // Replaces the value by a new one.
  T& emplace() {
    value_ = std::make_unique<T>();
    return *value_;
  }
  void reset() { value_.reset(); }
  // A copy of the value.
  std::optional<T> copy() const { return value_ ? std::optional<T>(*value_) : std::nullopt; }

  friend bool operator==(const Boxed& a, const Boxed& b) {
    return a.value_ && b.value_ ? *a == *b : !a.value_ && !b.value_;
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace perennial
