#include "cmd/perenniald/core/large_answers.h"

#include <utility>

#include "engine/types/check.h"

namespace perennial::core {

bool LargeAnswers::may_make() const {
  if (answers_.empty()) return false;
  const Answer& first = answers_.front();
  return shared_bodies_.is_shared_now(first.job) || has_memory(first.bytes);
}

LargeAnswers::Answer LargeAnswers::take() {
  CHECK(!answers_.empty());
  Answer first = std::move(answers_.front());
  answers_.pop_front();
  return first;
}

void LargeAnswers::drop_connection(ConnId conn) {
  std::erase_if(answers_, [&](const Answer& answer) {
    return answer.command ? answer.conn == conn : waits_.drop(answer.job, conn);
  });
}

void LargeAnswers::drop_body(JobId job) {
  std::erase_if(answers_, [job](const Answer& answer) { return answer.job == job; });
}

}  // namespace perennial::core
