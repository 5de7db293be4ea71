#include <algorithm>
#include <span>
#include <utility>

#include "cmd/perenniald/net/address_shares.h"
#include "cmd/perenniald/net/connections.h"

// Clients whose bytes a thread moves: threads/io_thread.h. What then becomes of each of them is in
// connections.cc, and the same as if the loop had moved them.
namespace perennial::perenniald {

void Connections::give_to_thread(Connection& conn, bool reading) {
  if (threads_ == nullptr || conn.proxy != nullptr || !owner_.may_use_thread(conn.socket)) return;
  IoThread& thread = threads_->choose(conn.socket.role == ListenerRole::Http);
  conn.watched_for = {.reading = reading};
  auto remote = std::make_unique<RemoteStream>(thread, std::move(conn.stream), conn.id,
                                               share_of(conn.socket), conn.watched_for);
  conn.remote = remote.get();
  conn.stream = std::move(remote);
}

void Connections::flush() {
  if (threads_ != nullptr) threads_->flush();
}

void Connections::wait(int timeout_ms) {
  if (threads_ == nullptr) return sockets_.wait(timeout_ms);
  threads_->flush();
  if (timeout_ms != 0 && !may_block()) timeout_ms = 0;
  sockets_.wait(timeout_ms);
  threads_->waker().is_awake();
  take_news();
}

bool Connections::may_block() {
  threads_->waker().going_to_sleep();
  return !has_unheard_news() && !threads_->has_news();
}

// The set has reported the waker. While the loop blocks in libuv it is always taken as asleep.
void Connections::on_waker() {
  Waker& waker = threads_->waker();
  waker.drain();
  take_news();
  waker.going_to_sleep();
  if (has_unheard_news() || threads_->has_news()) waker.wake();
}

bool Connections::has_unheard_news() const {
  return std::ranges::any_of(heard_, [](const Heard& heard) { return !heard.mail.empty(); });
}

// The rest is heard in the next turn when the time for reading is over; but a few are always, so
// that threads take turns with the clients that the loop itself reads.
void Connections::take_news() {
  constexpr size_t few = SocketSet::reports_max;
  for (size_t i = 0; i < heard_.size(); ++i) {
    Heard& heard = heard_[i];
    if (heard.mail.empty() && !threads_->all()[i]->take(heard.mail)) continue;
    clock_.now();  // The turn may begin here.
    size_t count = 0;
    for (; heard.items < heard.mail.items.size(); ++count) {
      if (count >= few && !budget_.may_read()) break;
      const News news = heard.mail.items[heard.items++];
      const std::span<char> bytes = std::span(heard.mail.bytes).subspan(heard.bytes, news.bytes);
      heard.bytes += news.bytes;
      if (news.kind == News::Kind::Closed) threads_->all()[i]->on_closed();
      on_news(news, bytes);
    }
    threads_->all()[i]->on_heard(count);
    if (heard.items < heard.mail.items.size()) continue;
    heard.mail.clear();
    heard.items = heard.bytes = 0;
  }
}

void Connections::on_news(const News& news, std::span<char> bytes) {
  if (news.kind == News::Kind::Closed) {
    --leaving_;
    return owner_.on_slot_free();
  }
  const auto found = connections_.find(news.conn);
  if (found != connections_.end()) on_news(found->second, news, bytes);
}

// What is on its way when the loop reads no more of a client is given to its session all the same:
// the thread has it already, and only the session knows how to keep it. Not so at a stop.
void Connections::on_news(Connection& conn, const News& news, std::span<char> bytes) {
  using State = Stream::State;
  if (conn.session == nullptr) conn.remote->on_handshake_news();
  Stream::Outcome got = {.state = State::Blocked};
  switch (news.kind) {
    case News::Kind::Received:
      if (stopped_) return;
      got = {.state = State::Done, .bytes = news.bytes, .is_last = news.is_last};
      break;
    case News::Kind::Ended:
      if (stopped_) return;
      got.state = State::Ended;
      break;
    case News::Kind::Failed:
      got.state = State::Failed;
      break;
    case News::Kind::Ending:
      if (conn.watched_for.ending) on_ending(conn);
      return;
    case News::Kind::Writable:
      if (!std::exchange(conn.watched_for.writing, false)) return;  // It is told once.
      return on_writable(conn);
    case News::Kind::Opened:
      conn.remote->on_opened();
      is_served(conn, got);
      return;
    case News::Kind::Read:
    case News::Kind::Closed:
      break;
  }
  if (conn.session == nullptr) {
    is_served(conn, got);
  } else if (news.kind == News::Kind::Read) {
    mark_read(conn);
  } else {
    on_read(conn, got, bytes, must_read_later());
  }
}

}  // namespace perennial::perenniald
