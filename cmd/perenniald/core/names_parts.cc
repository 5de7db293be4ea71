// The part of Core that sends listings that take several turns.

#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include "cmd/perenniald/core/beanstalk_session.h"
#include "cmd/perenniald/core/core.h"
#include "engine/types/check.h"

namespace perennial::core {

// Each part is formatted once, and the connections that asked for it share its bytes.
void Core::absorb_names_parts() {
  for (const engine::NamesPart& part : output_.names_parts) {
    scratch_.clear();
    wire::append_names(scratch_, part.names);
    const SharedBodies::SharedBody text = shared_bodies_.share_text(Body(scratch_));
    std::string head;
    if (part.is_first) wire::append_names_head(head, part.size);
    const std::string_view tail = part.is_last ? wire::names_tail : std::string_view();
    for (const ConnId id : part.conns) {
      BeanstalkSession* const conn = find(id);
      CHECK(conn != nullptr);
      if (conn->access && conn->access->lists_all_tubes) {
        std::ranges::move(visible_to(*conn, part.names).names,
                          std::back_inserter(conn->access->listed.names));
        if (part.is_last)
          reply_to(*conn, std::make_unique<TubeNames>(std::exchange(conn->access->listed, {})));
        continue;
      }
      const BatchIndex after = held_.after_all(conn->replies);
      conn->replies.outbox.push(after, head, shared_bodies_.share(text), tail);
      held_.hold(id, conn->replies, after);
      if (part.is_last) {
        conn->unanswered = false;
        held_.count(conn->replies, conn->command);
        make_runnable(*conn);
      }
      touch(*conn);
    }
  }
  if (scratch_.capacity() > scratch_bytes_max) scratch_ = {};
}

}  // namespace perennial::core
