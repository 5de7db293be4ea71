#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "cmd/perenniald/http/message.h"

namespace perennial::http {

// A response that is made in steps, so that a long one does not hold the loop.
class Answer {
 public:
  enum class Step : uint8_t {
    Again,      // There is more to do.
    Waits,      // Nothing can be done before wake() is called.
    Elsewhere,  // The same, because a worker does it: the answer keeps its place (LongAnswers).
    Whole,      // The response is whole.
  };

  Answer() = default;
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  virtual ~Answer() = default;

  // Does at most a millisecond's work. It may be called more often than it asks for.
  virtual Step step() = 0;
  // REQUIRES: step() has returned Whole.
  virtual Response take() = 0;
  // Whether the steps that are left, take() and the end of this use nothing but what it has itself,
  // and none waits. Then another thread may do them.
  virtual bool is_apart() const { return false; }
  // Of a response that `is_endless`: the bytes that follow now, after all earlier ones have left.
  // It is called after each wake().
  virtual std::string more() { return {}; }
  // Whether an endless response ends now.
  virtual bool is_over() { return false; }
  // Whether a client that closes its side, before the response is whole, gives it up.
  virtual bool ends_with_client() const { return false; }

  // Has step(), or more(), called again soon. The connection sets it before the first step.
  std::function<void()> wake;
};

// A response that is known at once.
class ShortAnswer final : public Answer {
 public:
  explicit ShortAnswer(Response response) : response_(std::move(response)) {}
  Step step() override { return Step::Whole; }
  Response take() override { return std::move(response_); }

 private:
  Response response_;
};

inline std::unique_ptr<Answer> answer_now(Response response) {
  return std::make_unique<ShortAnswer>(std::move(response));
}

}  // namespace perennial::http
