#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "cmd/perenniald/net/streams/epoll_set.h"
#include "cmd/perenniald/net/streams/stream.h"
#include "engine/types/basic.h"

namespace perennial::perenniald {

// A client whose bytes a thread moves. The loop makes it, gives it to its thread with Order::Add,
// and may use it until it gives Order::Close; then the thread destroys it.
struct IoSocket {
  IoSocket(ConnId conn, std::string share_of_it, std::unique_ptr<Stream> its_stream)
      : id(conn), share(std::move(share_of_it)), stream(std::move(its_stream)) {}

  const ConnId id;
  const std::string share;  // Its address, for handshakes that take turns.
  // The thread's. The loop asks only for what does not change: its descriptor; after News::Opened
  // who the client is and how it talks; after News::Failed why.
  const std::unique_ptr<Stream> stream;
  // Bytes that the loop has given and the kernel has not taken.
  std::atomic<size_t> in_flight = 0;
  // Something was read that it has sent to its session, if only half a record of TLS; or is being
  // read. The kernel does not have it any more, and the loop has not heard of it.
  std::atomic<bool> is_read = false;
  // How often a part of its handshake was read, or is being read. Each time is one piece of news.
  std::atomic<uint64_t> handshake_reads = 0;

  // ---- The thread's alone.
  EpollSet::Interest wanted = {};   // What the loop wants to hear.
  EpollSet::Interest watched = {};  // What the set watches it for.
  std::string unsent = {};          // What the stream did not take.
  size_t unheard = 0;               // Bytes that were read, and not all of them were heard.
  uint64_t unheard_until = 0;       // The last news of them, in IoThread::posted_.
  bool rests = false;               // It is not read until that news is heard.
  bool is_in_batch = false;         // Bytes of it are in the batch that is being sent.
  bool was_told_read = false;       // The loop has news of what was read first.
  bool waits = false;               // For its turn to go on with its handshake.
  bool was_open = false;            // The loop was told.
  bool has_ended = false;           // The client sends nothing more, or the stream has failed.
  bool has_failed = false;
  bool is_closing = false;  // The loop has left it, and it ends when all is sent.
};

}  // namespace perennial::perenniald
