#include "wire/one_command.h"

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <variant>

#include "wire/parser.h"

namespace perennial::wire {
namespace {

constexpr uint32_t job_bytes_most = uint32_t{1} << 30;  // The largest limit that a parser has.

// The types of arguments and options that hold what somebody has typed.
template <typename T>
inline constexpr bool is_text =
    std::is_same_v<T, std::string> || std::is_same_v<T, KeyOption> ||
    std::is_same_v<T, ConcurrencyKey> || std::is_same_v<T, Change<TubeName>> ||
    std::is_same_v<T, CronOption>;
template <typename T>
inline constexpr bool is_text<std::optional<T>> = is_text<T>;

template <typename Of, typename Each>
bool has_same_text(const Of& sent, const Of& read, const Each& each) {
  using Value = std::remove_cvref_t<decltype(sent.*each.member)>;
  if constexpr (is_text<Value>) {
    return sent.*each.member == read.*each.member;
  } else {
    return true;
  }
}

// `table`: the arguments or the options of a row.
template <typename Of, typename Table>
bool has_same_texts(const Of& sent, const Of& read, const Table& table) {
  return std::apply([&](const auto&... each) { return (has_same_text(sent, read, each) && ...); },
                    table);
}

template <typename C>
bool is_read_as(const C& sent, const Command& command) {
  if constexpr (is_refused<C>) {
    return false;
  } else {
    const C* const read = std::get_if<C>(&command);
    if (read == nullptr) return false;
    constexpr auto row = command_row<C>();
    if (!has_same_texts(sent, *read, row.arguments)) return false;
    if constexpr (requires { typename C::Options; }) {
      const typename C::Options none = {};
      return has_same_texts(sent.options ? *sent.options : none,
                            read->options ? *read->options : none, row.options);
    } else {
      return has_same_texts(sent, *read, row.options);
    }
  }
}

}  // namespace

bool is_one_command(std::string_view bytes, const Command& command) {
  if (bytes.empty()) return false;
  Parser parser(job_bytes_most);
  const Step step = parser.feed({bytes.data(), bytes.size()});
  if (!step.command || step.consumed != bytes.size()) return false;
  if (const auto* batch = std::get_if<PutBatchRefused>(&*step.command)) {
    return batch->why == PutBatchRefused::Why::JobTooBig;
  }
  if (const auto* note = std::get_if<NoteRefused>(&*step.command)) {
    return note->why == NoteRefused::Why::TooBig;
  }
  if (const auto* schedule = std::get_if<ScheduleRefused>(&*step.command)) {
    return schedule->why == ScheduleRefused::Why::TooBig;
  }
  return std::visit([&](const auto& sent) { return is_read_as(sent, *step.command); }, command);
}

}  // namespace perennial::wire
