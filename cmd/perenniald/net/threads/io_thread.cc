#include "cmd/perenniald/net/threads/io_thread.h"

#include <csignal>
#include <utility>

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cmd/common/secret.h"
#include "cmd/perenniald/loop/clock.h"
#include "cmd/perenniald/loop/thread_time.h"
#include "cmd/perenniald/loop/turn_budget.h"
#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

// Stands for the waker in the set, where others have the number of a connection, which is not 0.
constexpr ConnId waker_mark = 0;
// The bytes of one client that a batch reads. A client that has sent more is read again at once.
constexpr size_t together_bytes = TurnBudget::read_later_bytes_max;
// What may come on top of news_bytes_max, because it is looked at before each read.
constexpr size_t one_read_bytes_max = std::max(
    EpollSet::reports_max * together_bytes, TurnBudget::read_bytes_max + Stream::piece_bytes_max);

}  // namespace

static_assert(EpollSet::reports_max <= SocketBatch::sockets_max);

IoThread::IoThread(std::string name, bool io_uring, uint64_t handshakes_per_turn, Hooks hooks)
    : name_(std::move(name)),
      io_uring_(io_uring),
      handshakes_per_turn_(handshakes_per_turn),
      hooks_(std::move(hooks)),
      set_fd_(::epoll_create1(EPOLL_CLOEXEC)),
      buffer_(TurnBudget::read_bytes_max + Stream::piece_bytes_max) {
  CHECK(set_fd_ >= 0);
  CHECK(set_.add(waker_.fd(), waker_mark, {.reading = true}).ok());
}

IoThread::~IoThread() {
  CHECK(!thread_.joinable());
  ::close(set_fd_);
}

// ---- The loop's side.

void IoThread::start() {
  thread_ = std::thread([this] {
    ::pthread_setname_np(::pthread_self(), name_.c_str());
    begin();
    while (do_next_part()) continue;
  });
}

void IoThread::stop() {
  if (!thread_.joinable()) return;
  flush();
  stopping_ = true;
  waker_.wake();
  thread_.join();
}

void IoThread::order(const Order& order, std::string_view bytes) {
  if (order.kind == Order::Kind::Add) ++added_;
  if (order.kind == Order::Kind::Send) {
    order.socket->in_flight += bytes.size();
    in_flight_ += bytes.size();
    outgoing_.bytes += bytes;
  }
  outgoing_.items.push_back(order);
  outgoing_.items.back().bytes = bytes.size();
}

void IoThread::flush() {
  const bool has_orders = !outgoing_.empty();
  orders_.post(outgoing_);
  // Behind these orders, so that whoever has seen it takes them.
  const bool has_heard = heard_.exchange(heard_by_loop_) != heard_by_loop_;
  const bool is_awaited = has_heard && waits_until_heard_.exchange(false);
  if (has_orders || is_awaited) waker_.wake();
}

size_t IoThread::free_window(const IoSocket& socket) const {
  const size_t window = in_flight_ < in_flight_max ? window_bytes : narrow_window_bytes;
  const size_t used = socket.in_flight;
  return used < window ? window - used : 0;
}

bool IoThread::take(Mail<News>& mail) {
  if (!news_.take(mail)) return false;
  if (waits_for_loop_.exchange(false)) waker_.wake();
  return true;
}

Nanos IoThread::cpu_time() const {
  return thread_cpu_time(const_cast<std::thread&>(thread_).native_handle());
}

// ---- A turn.

void IoThread::begin() {
  if (!io_uring_) return;  // A ring belongs to the thread that makes it.
  Result<std::unique_ptr<SocketBatch>> made = SocketBatch::create();
  if (made.ok()) batch_ = made.take();
  received_.resize(EpollSet::reports_max * together_bytes);
}

bool IoThread::do_next_part() {
  switch (part_) {
    case Part::Announce:
      announce();
      part_ = Part::Look;
      return true;
    case Part::Look:
      look();
      part_ = Part::Wait;
      return true;
    case Part::Wait:
      wait();
      turn_began_.store(TurnClock::steady(), std::memory_order_relaxed);
      part_ = Part::Orders;
      return true;
    case Part::Orders:
      hooks_.before_send();
      heard_seen_ = heard_;
      if (!take_orders() && stopping_) break;
      end_rests();
      part_ = Part::Clients;
      return true;
    case Part::Clients:
      on_ready(std::span(reports_).first(reports_count_));
      shake_hands();
      part_ = Part::Tell;
      return true;
    case Part::Tell:
      tell_loop();
      turn_began_.store(0, std::memory_order_relaxed);
      part_ = Part::Announce;
      return true;
  }
  turn_began_.store(0, std::memory_order_relaxed);
  sockets_.clear();
  return false;
}

bool IoThread::would_block() const {
  if (part_ != Part::Wait || !may_block_) return false;
  pollfd looked_at = {.fd = looks_at_set_ ? set_fd_ : waker_.fd(), .events = POLLIN, .revents = 0};
  return ::poll(&looked_at, 1, 0) == 0;
}

// Once the kernel has refused a call, each client has a call of its own.
bool IoThread::may_batch() const {
  return batch_ != nullptr && batch_->status().ok();
}

// Whether bytes of clients may be read: the loop is not too far behind.
bool IoThread::may_read() const {
  return news_.bytes_waiting() + mail_.size() < news_bytes_max;
}

// From here on it has to be woken.
void IoThread::announce() {
  waits_for_loop_ = !may_read();
  waits_until_heard_ = !resting_.empty();
  waker_.going_to_sleep();
}

// While nothing may be read, the set is not looked at: it would report the same sockets again and
// again. What is in flight to clients rests meanwhile, until the loop takes the news.
void IoThread::look() {
  looks_at_set_ = may_read();  // The loop may have taken them before it knew.
  const bool may_shake_hands = looks_at_set_ && !handshakes_.empty();
  const bool may_end_rests = !resting_.empty() && heard_ != heard_seen_;
  may_block_ = !orders_.has_mail() && !may_shake_hands && !may_end_rests && !stopping_;
}

void IoThread::wait() {
  const int timeout_ms = may_block_ ? -1 : 0;
  reports_count_ = 0;
  if (looks_at_set_) {
    reports_count_ = set_.wait(reports_, timeout_ms);
  } else {
    pollfd waker = {.fd = waker_.fd(), .events = POLLIN, .revents = 0};
    if (::poll(&waker, 1, timeout_ms) > 0) waker_.drain();
  }
  waker_.is_awake();
}

void IoThread::tell_loop() {
  if (mail_.empty()) return;
  posted_ += mail_.items.size();
  news_.post(mail_);
  hooks_.wake_loop();
}

bool IoThread::take_orders() {
  if (!orders_.take(incoming_)) return false;
  size_t at = 0;
  for (const Order& order : incoming_.items) {
    carry_out(order, std::string_view(incoming_.bytes).substr(at, order.bytes));
    at += order.bytes;
  }
  send_batch();
  incoming_.clear();
  return true;
}

void IoThread::carry_out(const Order& order, std::string_view bytes) {
  IoSocket& socket = *order.socket;
  switch (order.kind) {
    case Order::Kind::Add: {
      sockets_.emplace(socket.id, std::unique_ptr<IoSocket>(&socket));
      socket.was_open = socket.stream->is_open();
      socket.wanted = order.interest;
      // Otherwise the kernel watches no more sockets, and this one is never changed in the set.
      if (!set_.add(socket.stream->fd(), socket.id, order.interest).ok()) return fail(socket);
      socket.watched = order.interest;
      return;
    }
    case Order::Kind::Send:
      return send(socket, bytes);
    case Order::Kind::Watch:
      socket.wanted = order.interest;
      tell_if_writable(socket);
      return watch(socket);
    case Order::Kind::Close:
      if (socket.is_in_batch) send_batch();
      socket.wanted = {};
      socket.is_closing = true;
      if (order.in_order && !socket.has_failed && !socket.unsent.empty()) return watch(socket);
      if (order.in_order && !socket.has_failed) socket.stream->end();
      return close(socket);
  }
}

void IoThread::on_ready(std::span<const EpollSet::Report> reports) {
  receiving_.clear();
  for (const EpollSet::Report& report : reports) {
    if (report.conn == waker_mark) {
      waker_.drain();
      continue;
    }
    const auto found = sockets_.find(report.conn);
    if (found == sockets_.end()) continue;
    IoSocket& socket = *found->second;
    const bool is_simple = report.can == EpollSet::Interest{.reading = true} &&
                           socket.watched.reading && socket.stream->is_plain();
    if (is_simple && may_batch()) {
      receiving_.push_back(&socket);
    } else {
      on_ready(socket, report.can);
    }
  }
  if (!receiving_.empty()) receive_together(receiving_);
}

void IoThread::on_ready(IoSocket& socket, EpollSet::Interest can) {
  const EpollSet::Interest watched = socket.watched;
  if (can.ending && watched.ending) {
    socket.wanted.ending = false;
    tell(socket, News::Kind::Ending);
    watch(socket);
  }
  if (can.writing && watched.writing) {
    send_unsent(socket);  // The socket may be gone now. It can be read in the next turn.
  } else if (can.reading && watched.reading) {
    read(socket);
  }
}

// ---- Reading.

void IoThread::receive_together(std::span<IoSocket* const> sockets) {
  if (!may_read()) return;
  for (size_t i = 0; i < sockets.size(); ++i) {
    const std::span<char> slot = std::span(received_).subspan(i * together_bytes, together_bytes);
    sockets[i]->is_read = true;
    batch_->receive(sockets[i]->stream->fd(), slot);
  }
  const std::span<const Stream::Outcome> outcomes = batch_->run();
  for (size_t i = 0; i < sockets.size(); ++i) {
    const Stream::Outcome got = outcomes[i];
    on_read(*sockets[i], got, std::span(received_).subspan(i * together_bytes, got.bytes));
    if (got.bytes == together_bytes) read(*sockets[i]);
  }
}

void IoThread::read(IoSocket& socket) {
  if (!may_read() || socket.rests) return;
  if (!socket.stream->is_open() && !socket.waits) {
    // One after the other, in turns of their addresses: shake_hands().
    socket.waits = true;
    handshakes_.add(socket.id, socket.share);
    return watch(socket);
  }
  socket.is_read = true;
  const Stream::Outcome got = socket.stream->read(buffer_, TurnBudget::read_bytes_max);
  on_read(socket, got, std::span(buffer_).first(got.bytes));
}

// Those that are open come first in each turn, because they were read before.
void IoThread::shake_hands() {
  for (uint64_t step = 0; step < handshakes_per_turn_ && may_read(); ++step) {
    const std::optional<ConnId> id = handshakes_.take();
    if (!id) return;
    IoSocket& socket = *sockets_.at(*id);
    ++socket.handshake_reads;
    const Stream::Outcome got = socket.stream->read(buffer_, TurnBudget::read_bytes_max);
    socket.waits = false;
    on_read(socket, got, std::span(buffer_).first(got.bytes));
  }
}

void IoThread::on_read(IoSocket& socket, Stream::Outcome got, std::span<char> bytes) {
  const bool is_open = socket.stream->is_open();
  const bool opens = is_open && !std::exchange(socket.was_open, is_open);
  if (opens) tell(socket, News::Kind::Opened);
  switch (got.state) {
    case Stream::State::Blocked:
      if (!is_open || (!opens && !std::exchange(socket.was_told_read, true)))
        tell(socket, News::Kind::Read);
      break;
    case Stream::State::Done:
      socket.is_read = socket.was_told_read = true;
      // No reallocation leaves a copy behind.
      mail_.bytes.reserve(news_bytes_max + one_read_bytes_max);
      mail_.bytes.append(bytes.data(), bytes.size());
      common::wipe(bytes);
      socket.has_ended = got.is_last;
      mail_.items.push_back({.conn = socket.id, .bytes = bytes.size(), .is_last = got.is_last});
      rest_if_unheard(socket, bytes.size());
      break;
    case Stream::State::Ended:
      socket.has_ended = true;
      tell(socket, News::Kind::Ended);
      break;
    case Stream::State::Failed:
      return fail(socket);
  }
  watch(socket);
}

void IoThread::rest_if_unheard(IoSocket& socket, size_t bytes) {
  if (heard_seen_ >= socket.unheard_until) socket.unheard = 0;
  socket.unheard += bytes;
  socket.unheard_until = posted_ + mail_.items.size();
  if (socket.unheard < unheard_bytes_max || socket.rests) return;
  socket.rests = true;
  resting_.push_back(socket.id);
}

void IoThread::end_rests() {
  std::erase_if(resting_, [this](ConnId conn) {
    const auto found = sockets_.find(conn);
    if (found == sockets_.end()) return true;
    IoSocket& socket = *found->second;
    if (heard_seen_ < socket.unheard_until) return false;
    socket.rests = false;
    watch(socket);
    return true;
  });
}

// ---- Writing.

// What the stream does not take at once is sent when the set reports its socket.
void IoThread::send(IoSocket& socket, std::string_view bytes) {
  if (socket.has_failed) return count_sent(socket, bytes.size());
  if (socket.is_in_batch || (batch_ != nullptr && !batch_->has_slot())) send_batch();
  if (!socket.unsent.empty()) {
    socket.unsent += bytes;
    return;
  }
  if (!may_batch() || !socket.stream->is_plain()) {
    return on_sent(socket, bytes, socket.stream->write(bytes));
  }
  batch_->send(socket.stream->fd(), bytes);
  socket.is_in_batch = true;
  sending_.push_back({.socket = &socket, .bytes = bytes});
}

void IoThread::send_batch() {
  if (sending_.empty()) return;
  const std::span<const Stream::Outcome> outcomes = batch_->run();
  for (size_t i = 0; i < sending_.size(); ++i) {
    sending_[i].socket->is_in_batch = false;
    on_sent(*sending_[i].socket, sending_[i].bytes, outcomes[i]);
  }
  sending_.clear();
}

void IoThread::on_sent(IoSocket& socket, std::string_view bytes, Stream::Outcome sent) {
  if (sent.state == Stream::State::Failed) {
    count_sent(socket, bytes.size());
    return fail(socket);
  }
  socket.unsent.assign(bytes.substr(sent.bytes));
  count_sent(socket, sent.bytes);
  watch(socket);
}

void IoThread::send_unsent(IoSocket& socket) {
  if (socket.stream->flush().state == Stream::State::Failed) return fail(socket);
  if (!socket.unsent.empty()) {
    const Stream::Outcome sent = socket.stream->write(socket.unsent);
    if (sent.state == Stream::State::Failed) return fail(socket);
    socket.unsent.erase(0, sent.bytes);
    if (socket.unsent.empty()) socket.unsent.shrink_to_fit();
    count_sent(socket, sent.bytes);
  }
  if (socket.is_closing && socket.unsent.empty()) {
    socket.stream->end();
    return close(socket);
  }
  watch(socket);
}

void IoThread::count_sent(IoSocket& socket, size_t bytes) {
  socket.in_flight -= bytes;
  in_flight_ -= bytes;
  tell_if_writable(socket);
}

// Says so when half of a window is free, so that a client that reads slowly causes few news.
void IoThread::tell_if_writable(IoSocket& socket) {
  if (!socket.wanted.writing) return;
  const size_t window = in_flight_ < in_flight_max ? window_bytes : narrow_window_bytes;
  if (socket.in_flight > window / 2) return;
  socket.wanted.writing = false;
  tell(socket, News::Kind::Writable);
}

// ---- Ends.

void IoThread::fail(IoSocket& socket) {
  if (socket.has_failed) return;
  socket.has_failed = socket.has_ended = true;
  count_sent(socket, socket.unsent.size());
  socket.unsent.clear();
  if (socket.is_closing) return close(socket);
  tell(socket, News::Kind::Failed);
  watch(socket);
}

// The socket is gone afterwards.
void IoThread::close(IoSocket& socket) {
  in_flight_ -= socket.in_flight;
  tell(socket, News::Kind::Closed);
  handshakes_.remove(socket.id);
  sockets_.erase(socket.id);
}

void IoThread::watch(IoSocket& socket) {
  const bool sends = !socket.unsent.empty() || socket.stream->has_unsent();
  const EpollSet::Interest interest = {
      .reading = socket.wanted.reading && !socket.has_ended && !socket.waits && !socket.rests,
      .writing = sends && !socket.has_failed,
      .ending = socket.wanted.ending && !socket.has_ended};
  if (interest == socket.watched) return;
  socket.watched = interest;
  set_.change(socket.stream->fd(), socket.id, interest);
}

}  // namespace perennial::perenniald
