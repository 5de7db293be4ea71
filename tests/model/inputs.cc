#include "tests/model/inputs.h"

#include <algorithm>
#include <vector>

namespace perennial::model {
namespace {

// The events that are no commands.
constexpr size_t opened = 0;
constexpr size_t closed = 1;
constexpr size_t half_closed = 2;
constexpr size_t tick = 3;
constexpr size_t drain = 4;
constexpr size_t damaged = 5;
constexpr size_t first_command = 6;

}  // namespace

Inputs::Inputs(uint64_t seed) : random_(seed) {
  for (uint32_t& weight : weights_) weight = chance(6) ? 0 : 1 + below(12);
  weights_[opened] = 2;
  weights_[tick] = 6 + below(10);
  weights_[drain] = 0;
  weights_[half_closed] = std::min(weights_[half_closed], 1u);
  weights_[closed] = std::min(weights_[closed], 2u);
  // Without jobs and workers there is little to see.
  weights_[first_command] = 10 + below(20);
  weights_[first_command + 4] = 5 + below(20);
}

engine::Input Inputs::next(const Naive& naive) {
  pass_time(naive);
  engine::Input input{.now = now_, .conn = 0, .room = !chance(40), .event = engine::Tick{}};
  std::discrete_distribution<size_t> kinds(weights_.begin(), weights_.end());
  const size_t kind = chance(2000) ? drain : kinds(random_);
  if (naive.conns().empty() || (kind == opened && naive.conns().size() < 6)) {
    input.conn = ++last_conn_;
    input.event = engine::Opened{};
    return input;
  }
  input.event = event(kind, naive);
  if (std::holds_alternative<Command>(input.event)) {
    const std::optional<ConnId> conn = ready_conn(naive);
    if (!conn) input.event = engine::Tick{};
    input.conn = conn.value_or(0);
  }
  if (std::holds_alternative<engine::Closed>(input.event) ||
      std::holds_alternative<engine::HalfClosed>(input.event)) {
    auto conn = naive.conns().begin();
    std::advance(conn, below(static_cast<uint32_t>(naive.conns().size())));
    input.conn = *conn;
  }
  return input;
}

std::optional<ConnId> Inputs::ready_conn(const Naive& naive) {
  std::vector<ConnId> ready;
  for (const ConnId conn : naive.conns()) {
    if (!naive.unanswered(conn)) ready.push_back(conn);
  }
  if (ready.empty()) return std::nullopt;
  return ready[below(static_cast<uint32_t>(ready.size()))];
}

engine::Event Inputs::event(size_t kind, const Naive& naive) {
  switch (kind) {
    case opened:
    case tick:
      return engine::Tick{};
    case closed:
      return engine::Closed{};
    case half_closed:
      return engine::HalfClosed{};
    case drain:
      return engine::Drain{};
    case damaged:
      if (!chance(10)) return engine::Tick{};
      return engine::Damaged{some_id(naive)};
    default:
      return command(kind - first_command, naive);
  }
}

Command Inputs::command(size_t kind, const Naive& naive) {
  switch (kind) {
    case 0:
      return Put{chance(8) ? 1024 + below(2) : below(3), chance(3) ? below(4) : 0, below(5),
                 below(100)};
    case 1:
      return Use{some_tube()};
    case 2:
      return Watch{some_tube()};
    case 3:
      return Ignore{some_tube()};
    case 4:
      return Reserve{};
    case 5:
      return ReserveWithTimeout{below(4)};
    case 6:
      return ReserveJob{some_id(naive)};
    case 7:
      return Delete{some_id(naive)};
    case 8:
      return Release{some_id(naive), below(3), chance(2) ? below(3) : 0};
    case 9:
      return Bury{some_id(naive), below(3)};
    case 10:
      return Touch{some_id(naive)};
    case 11:
      return Peek{some_id(naive)};
    case 12:
      return PeekReady{};
    case 13:
      return PeekDelayed{};
    case 14:
      return PeekBuried{};
    case 15:
      return Kick{chance(4) ? 1000 : below(4)};
    case 16:
      return KickJob{some_id(naive)};
    case 17:
      return StatsJob{some_id(naive)};
    case 18:
      return StatsTube{some_tube()};
    case 19:
      return Stats{};
    case 20:
      return ListTubes{};
    case 21:
      return ListTubesWatched{};
    case 22:
      return PauseTube{some_tube(), below(4)};
    case 23:
      return ListTubeUsed{};
    default:
      if (chance(2)) return PutNoCrlf{};
      if (chance(2)) return PutTooBig{};
      if (chance(2)) return PutTrailingJunk{};
      if (chance(2)) return Malformed{Malformed::Kind::BadPauseTube};
      return Malformed{chance(2) ? Malformed::Kind::BadFormat : Malformed::Kind::UnknownCommand};
  }
}

// Mostly one of the newest.
JobId Inputs::some_id(const Naive& naive) {
  const auto newest = naive.next_id();
  const JobId back = chance(4) ? below(60) : below(10);
  return newest > back ? newest - back : 1;
}

std::string Inputs::some_tube() {
  static const std::array<std::string, 4> names = {"default", "a", "b", "c"};
  return names[below(names.size())];
}

void Inputs::pass_time(const Naive& naive) {
  switch (below(8)) {
    case 0:
      now_ += below(1000) * nanos_per_ms;
      return;
    case 1:
      now_ += nanos_per_second;
      return;
    case 2:
      now_ = std::max(now_, naive.next_deadline().value_or(now_));
      return;
    case 3:
      now_ += 1;
      return;
    default:
      return;
  }
}

}  // namespace perennial::model
