#include "cmd/perenniald/core/command_times.h"

#include <type_traits>
#include <utility>
#include <variant>

namespace perennial::core {
namespace {

template <typename C, typename... Others>
constexpr bool is_one_of = (std::is_same_v<C, Others> || ...);

template <typename C>
constexpr CommandKind kind_of_type() {
  if (is_one_of<C, Put, PutTooBig, PutTrailingJunk, PutNoCrlf, PutBatch, PutBatchRefused>) {
    return CommandKind::Put;
  }
  if (is_one_of<C, Delete, DeleteBatch>) return CommandKind::Delete;
  if (is_one_of<C, Release>) return CommandKind::Release;
  if (is_one_of<C, Bury>) return CommandKind::Bury;
  if (is_one_of<C, Reserve, ReserveWithTimeout, ReserveJob, ReserveBatch>) {
    return CommandKind::Reserve;
  }
  return CommandKind::Other;
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
