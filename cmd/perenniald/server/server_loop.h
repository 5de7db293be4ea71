#pragma once

#include <cstdint>

#include <uv.h>

namespace perennial::perenniald {

// libuv's loop, and the handles in it that belong to the server as a whole: its timers, the
// wake-ups by other threads, the signals, and the handle that ends each turn. It only says what has
// happened.
//
// A turn ends in before_poll(), just before the loop blocks. It does not end in a uv_check handle,
// because timer callbacks run after that one, and their work would wait until the next poll is
// over.
class ServerLoop {
 public:
  // Whom it tells, on the loop's thread.
  class Owner {
   public:
    virtual ~Owner() = default;
    // The loop is about to block.
    virtual void before_poll() = 0;
    // wake_for_log() and wake_for_load() were called. Several calls may be one.
    virtual void on_log_news() = 0;
    virtual void on_loaded() = 0;
    virtual void on_phase_time() = 0;
    virtual void on_second() = 0;
    virtual void on_signal(int number) = 0;
  };

  // `owner` outlives the run.
  explicit ServerLoop(Owner& owner);
  // REQUIRES: everything in the loop is closed.
  ~ServerLoop();
  ServerLoop(const ServerLoop&) = delete;
  ServerLoop& operator=(const ServerLoop&) = delete;

  uv_loop_t& loop() { return loop_; }

  // Opens the handles. `reads_hangup`: whether SIGHUP is told, or ends the process.
  void open(bool reads_hangup);
  // Makes the threads of libuv's pool.
  void make_pool();
  // Returns when everything in the loop is closed.
  void run();
  // Closes the handles. This is the last call before run() returns.
  void close();

  // on_phase_time() is called after `first_ms`, and then every `every_ms`; 0: only once.
  void start_phase_timer(uint64_t first_ms, uint64_t every_ms);
  void stop_phase_timer() { uv_timer_stop(&phase_timer_); }
  void start_seconds();

  // Any thread.
  void wake_for_log() { uv_async_send(&log_news_); }
  void wake_for_load() { uv_async_send(&loaded_); }

  // Whether libuv polls without blocking.
  void block_unless(bool at_once);
  // For how long libuv would block now, in milliseconds; -1: for ever.
  int timeout_ms() { return uv_backend_timeout(&loop_); }

 private:
  Owner& owner_;
  uv_loop_t loop_;
  uv_prepare_t prepare_;
  uv_idle_t at_once_;  // While it is active the loop does not block.
  uv_timer_t phase_timer_;
  uv_timer_t second_timer_;
  uv_async_t log_news_;
  uv_async_t loaded_;
  uv_signal_t signals_[4];
  uv_work_t first_work_ = {};
};

}  // namespace perennial::perenniald
