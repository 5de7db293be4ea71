#include "cmd/perenniald/core/command_times.h"

#include <variant>

namespace perennial::core {
namespace {

template <typename C>
constexpr CommandKind kind_of_type() {
  if constexpr (!is_refused<C>) {
    return command_row<C>().flags.kind;
  } else if constexpr (requires { typename C::CountsAs; }) {
    return kind_of_type<typename C::CountsAs>();
  } else {
    return CommandKind::Other;
  }
}

// Indexed as the variant is.
constexpr auto kinds = []<typename... C>(const std::variant<C...>* /*commands*/) {
  return std::array{kind_of_type<C>()...};
}(static_cast<const Command*>(nullptr));

}  // namespace

CommandKind kind_of(const Command& command) {
  return kinds[command.index()];
}

void CommandTimes::record(Nanos now) {
  for (const Group& group : released_) {
    for (size_t kind = 0; kind < group.counts.size(); ++kind) {
      if (group.counts[kind] == 0) continue;
      histograms_[kind].record_time(now - group.began, group.counts[kind]);
    }
  }
  released_.clear();
}

}  // namespace perennial::core
