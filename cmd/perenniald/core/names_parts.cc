// Core's part in listings that take several turns.

#include <string_view>

#include "cmd/perenniald/core/beanstalk_session.h"
#include "cmd/perenniald/core/core.h"
#include "engine/types/check.h"

namespace perennial::core {

// Each part is formatted once, however many asked, and its bytes are shared.
void Core::absorb_names_parts() {
  for (const engine::NamesPart& part : output_.names_parts) {
    scratch_.clear();
    wire::append_names(scratch_, part.names);
    const BodyLoans::Loan text = loans_.lend_text(Body(scratch_));
    std::string head;
    if (part.is_first) wire::append_names_head(head, part.size);
    const std::string_view tail = part.is_last ? wire::names_tail : std::string_view();
    for (const ConnId id : part.conns) {
      BeanstalkSession* const conn = find(id);
      CHECK(conn != nullptr);
      const BatchIndex after = held_.after_all(conn->replies);
      conn->replies.outbox.push(after, head, loans_.share(text), tail);
      held_.hold(id, conn->replies, after);
      if (part.is_last) {
        conn->unanswered = false;
        make_runnable(*conn);
      }
      touch(*conn);
    }
  }
  if (scratch_.capacity() > scratch_bytes_max) scratch_ = {};
}

}  // namespace perennial::core
