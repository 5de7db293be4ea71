#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "engine/types/check.h"

namespace perennial {

// What went wrong outside of the program. Callers branch on the code, people read the message.
enum class StatusCode : unsigned char {
  Ok,
  // The request makes no sense: a setting, an address or a flag.
  InvalidArgument,
  NotFound,
  Locked,       // Another process holds the data directory.
  NoSpace,      // The disk or the quota is full.
  Io,           // A read, write or sync failed for any other reason.
  Corruption,   // The bytes on disk are not what this program wrote.
  Unsupported,  // The data is from a version of this program that this one does not know.
};

// The result of an operation that can fail without a bug in the code. A mistake of the client is a
// Reply, and a bug is a CHECK; neither is ever a Status.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {
    CHECK(code != StatusCode::Ok);
  }

  bool ok() const { return code_ == StatusCode::Ok; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // Returns the same status with what was being done in front of its message: "open data directory:
  // ...".
  Status with(std::string_view doing) && {
    if (!ok()) message_ = std::string(doing) + ": " + message_;
    return std::move(*this);
  }

 private:
  StatusCode code_ = StatusCode::Ok;
  std::string message_;
};

// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit on purpose
  Result(Status status) : value_(std::move(status)) {
    CHECK(!this->status().ok());
  }  // NOLINT: likewise

  bool ok() const { return std::holds_alternative<T>(value_); }
  // REQUIRES: !ok() for status(), ok() for the rest.
  const Status& status() const { return std::get<Status>(value_); }
  Status take_status() { return std::move(std::get<Status>(value_)); }
  T& operator*() { return std::get<T>(value_); }
  const T& operator*() const { return std::get<T>(value_); }
  T* operator->() { return &std::get<T>(value_); }
  const T* operator->() const { return &std::get<T>(value_); }
  T take() { return std::move(std::get<T>(value_)); }

 private:
  std::variant<T, Status> value_;
};

// Drops a status on purpose. `reason` says in words why that is right.
inline void ignore(const Status& /*status*/, std::string_view /*reason*/) {}

}  // namespace perennial
