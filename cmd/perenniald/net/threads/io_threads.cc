#include "cmd/perenniald/net/threads/io_threads.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/types/check.h"

namespace perennial::perenniald {

IoThreads::IoThreads(const Settings& settings) {
  CHECK(settings.count > 0);
  for (uint64_t i = 0; i < settings.count; ++i) {
    threads_.push_back(std::make_unique<IoThread>(
        fmt::format("perennial-io-{}", i), settings.io_uring, settings.handshakes_per_turn,
        IoThread::Hooks{.wake_loop = [this] { waker_.wake(); },
                        .before_send = settings.before_send}));
  }
}

void IoThreads::start() {
  for (const auto& thread : threads_) thread->start();
}

void IoThreads::stop() {
  for (const auto& thread : threads_) thread->stop();
}

IoThread& IoThreads::choose(bool is_http) {
  constexpr size_t enough_for_http = 3;
  std::span<const std::unique_ptr<IoThread>> fit = threads_;
  if (threads_.size() >= enough_for_http) {
    fit = is_http ? fit.last(1) : fit.first(threads_.size() - 1);
  }
  return **std::ranges::min_element(fit, {}, [](const auto& thread) { return thread->sockets(); });
}

void IoThreads::flush() {
  for (const auto& thread : threads_) thread->flush();
}

bool IoThreads::has_news() const {
  return std::ranges::any_of(threads_, [](const auto& thread) { return thread->has_news(); });
}

size_t IoThreads::sockets() const {
  size_t sockets = 0;
  for (const auto& thread : threads_) sockets += thread->sockets();
  return sockets;
}

size_t IoThreads::in_flight() const {
  size_t bytes = 0;
  for (const auto& thread : threads_) bytes += thread->in_flight();
  return bytes;
}

}  // namespace perennial::perenniald
