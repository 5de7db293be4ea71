#pragma once

#include "cmd/perenniald/http/message.h"

namespace perennial::http {

// A response that is made in steps, so that a long one does not hold the loop.
class Answer {
 public:
  Answer() = default;
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  virtual ~Answer() = default;

  // Does at most a millisecond's work. Returns whether the response is whole.
  virtual bool step() = 0;
  // REQUIRES: step() has returned true.
  virtual Response take() = 0;
};

// A response that is known at once.
class ShortAnswer final : public Answer {
 public:
  explicit ShortAnswer(Response response) : response_(std::move(response)) {}
  bool step() override { return true; }
  Response take() override { return std::move(response_); }

 private:
  Response response_;
};

}  // namespace perennial::http
