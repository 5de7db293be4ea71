#include "engine/engine.h"

#include <utility>

namespace perennial::engine {

// One line per event and per command: which function decides it, and which counter it is counted
// in. Nothing is counted that is BAD_FORMAT, but for put: beanstalkd's protocol.txt does not say,
// its code does.
struct Engine::Visitor {
  Engine& engine;
  ConnId id;

  Conn& conn() const { return engine.conn_of(id); }
  CommandCounts& counts() const { return engine.commands_; }
  void answer(Reply reply) const { engine.answer(conn(), std::move(reply)); }

  void operator()(const Opened&) const { engine.on_opened(id); }
  void operator()(const Closed&) const { engine.on_closed(conn()); }
  void operator()(const HalfClosed&) const { engine.on_half_closed(conn()); }
  void operator()(const Tick& tick) const { engine.on_tick(tick); }
  void operator()(const Drain&) const { engine.draining_ = true; }
  void operator()(const Damaged& damaged) const { engine.on_damaged(damaged.id); }
  void operator()(const Command& command) const { std::visit(*this, command); }

  void operator()(const Put& put) const {
    ++counts().put;
    engine.on_put(conn(), put);
  }
  void operator()(const PutTooBig&) const {
    ++counts().put;
    answer(Word::JobTooBig);
  }
  void operator()(const PutTrailingJunk&) const {
    ++counts().put;
    answer(Word::BadFormat);
  }
  void operator()(const PutNoCrlf&) const {
    ++counts().put;
    engine.make_producer(conn());
    engine.take_id();
    answer(Word::ExpectedCrlf);
  }
  void operator()(const Use& use) const {
    ++counts().use;
    engine.on_use(conn(), use.tube);
  }
  void operator()(const Reserve&) const {
    ++counts().reserve;
    engine.on_reserve(conn(), std::nullopt);
  }
  void operator()(const ReserveWithTimeout& reserve) const {
    ++counts().reserve_with_timeout;
    engine.on_reserve(conn(), reserve.timeout_s);
  }
  void operator()(const ReserveJob& reserve) const { engine.on_reserve_job(conn(), reserve.id); }
  void operator()(const Delete& command) const {
    ++counts().delete_;
    engine.on_delete(conn(), command.id);
  }
  void operator()(const Release& release) const {
    ++counts().release;
    engine.on_release(conn(), release);
  }
  void operator()(const Bury& bury) const {
    ++counts().bury;
    engine.on_bury(conn(), bury);
  }
  void operator()(const Touch& touch) const {
    ++counts().touch;
    engine.on_touch(conn(), touch.id);
  }
  void operator()(const Watch& watch) const {
    ++counts().watch;
    engine.on_watch(conn(), watch.tube);
  }
  void operator()(const Ignore& ignore) const {
    ++counts().ignore;
    engine.on_ignore(conn(), ignore.tube);
  }
  void operator()(const Peek& peek) const {
    ++counts().peek;
    engine.on_peek(conn(), engine.find_job(peek.id));
  }
  void operator()(const PeekReady&) const {
    ++counts().peek_ready;
    peek_top(tube().ready);
  }
  void operator()(const PeekDelayed&) const {
    ++counts().peek_delayed;
    peek_top(tube().delayed);
  }
  void operator()(const PeekBuried&) const {
    ++counts().peek_buried;
    peek_top(tube().buried);
  }
  void operator()(const Kick& kick) const {
    ++counts().kick;
    engine.on_kick(conn(), kick.bound);
  }
  void operator()(const KickJob& kick) const { engine.on_kick_job(conn(), kick.id); }
  void operator()(const StatsJob& stats) const {
    ++counts().stats_job;
    engine.on_stats_job(conn(), stats.id);
  }
  void operator()(const StatsTube& stats) const {
    ++counts().stats_tube;
    engine.on_stats_tube(conn(), stats.tube);
  }
  void operator()(const Stats&) const {
    ++counts().stats;
    engine.on_stats(conn());
  }
  void operator()(const ListTubes&) const {
    ++counts().list_tubes;
    engine.on_list_tubes(conn());
  }
  void operator()(const ListTubeUsed&) const {
    ++counts().list_tube_used;
    answer(Using{engine.tube_of(conn().used).name});
  }
  void operator()(const ListTubesWatched&) const {
    ++counts().list_tubes_watched;
    engine.on_list_tubes_watched(conn());
  }
  void operator()(const PauseTube& pause) const {
    ++counts().pause_tube;
    engine.on_pause_tube(conn(), pause);
  }
  void operator()(const Quit&) const { CHECK(!"quit is core's"); }
  void operator()(const Checkpoint&) const { CHECK(!"checkpoint is core's"); }
  void operator()(const Malformed& malformed) const {
    if (malformed.kind == Malformed::Kind::BadPauseTube) ++counts().pause_tube;
    const bool unknown = malformed.kind == Malformed::Kind::UnknownCommand;
    answer(unknown ? Word::UnknownCommand : Word::BadFormat);
  }

  const Tube& tube() const { return engine.tube_of(conn().used); }
  void peek_top(const auto& jobs) const {
    engine.on_peek(conn(), jobs.empty() ? nullptr : jobs.top().item);
  }
};

Engine::Engine(const Limits& limits) : limits_(limits) {
  CHECK(limits.moves_per_turn_max > 0);
  CHECK(limits.id_block > 0);
  CHECK(limits.cost_per_turn_max > 0);
  CHECK(limits.names_per_part_max > 0);
  tubes_.emplace_back();
  make_tube(0, "default");
}

Engine::~Engine() = default;

void Engine::apply(const Input& input, Output& out) {
  CHECK(input.now >= now_);
  if (input.now > now_ || std::holds_alternative<Tick>(input.event)) moves_ = cost_ = 0;
  const uint32_t moves_before = moves_;
  const uint64_t cost_before = cost_;
  now_ = input.now;
  room_ = input.room;
  out_ = &out;
  std::visit(Visitor{*this, input.conn}, input.event);
  out_ = nullptr;
  out.cost += cost_ - cost_before + (moves_ - moves_before) * cost::job_moved;
}

std::optional<Nanos> Engine::next_deadline(bool go_on) const {
  if (go_on && !left_over_.empty()) return now_;
  if (!leaving_.empty() || !listings_.empty() || !ended_tubes_.empty()) return now_;
  std::optional<Nanos> soonest;
  const auto consider = [&soonest](const auto& heap) {
    if (heap.empty()) return;
    const auto at = static_cast<Nanos>(heap.top().key);
    if (!soonest || at < *soonest) soonest = at;
  };
  if (go_on) consider(tubes_by_delay_);
  consider(tubes_by_pause_);
  consider(conns_by_deadline_);
  return soonest;
}

size_t Engine::memory_bytes() const {
  constexpr size_t heap_entry_bytes = sizeof(JobHeap::Entry);
  constexpr size_t tube_bytes = sizeof(Tube) + 512;
  constexpr size_t conn_bytes = sizeof(Conn) + 512;
  return pool_.bytes() + jobs_.memory_bytes() + jobs_.size() * heap_entry_bytes +
         (tube_list_.size() + ended_tubes_.size()) * tube_bytes + conns_.size() * conn_bytes +
         watched_bytes_;
}

void Engine::answer(const Conn& conn, Reply reply) {
  out_->replies.push_back({conn.id, std::move(reply)});
}

}  // namespace perennial::engine
