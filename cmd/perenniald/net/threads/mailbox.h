#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cmd/common/secret.h"

namespace perennial::perenniald {

// What one thread has for another: items in their order, and the bytes of those that have some, one
// behind the other in the same order.
template <typename Item>
struct Mail {
  std::vector<Item> items;
  std::string bytes;

  bool empty() const { return items.empty(); }
  size_t size() const { return bytes.size() + items.size() * sizeof(Item); }  // In bytes.
  // Wipes the bytes, which may hold a secret, and keeps a little of the memory.
  void clear() {
    constexpr size_t kept_bytes_max = 1 << 20;
    items.clear();
    common::wipe(bytes);
    bytes.clear();
    if (bytes.capacity() > kept_bytes_max) bytes.shrink_to_fit();
  }
};

// A queue from one thread to another. What it was given goes over in one piece, with one lock for
// each side: it is written into once a turn, and emptied once a turn. Nothing here blocks or
// bounds: the writer looks at bytes_waiting(), and wakes the reader.
template <typename Item>
class Mailbox {
 public:
  // Empties `mail` into it, behind what is there. Only the writer calls this.
  void post(Mail<Item>& mail) {
    if (mail.empty()) return;
    const std::scoped_lock lock(mutex_);
    if (waiting_.empty()) {
      std::swap(waiting_, mail);
    } else {
      waiting_.items.insert(waiting_.items.end(), mail.items.begin(), mail.items.end());
      waiting_.bytes += mail.bytes;
      mail.clear();
    }
    bytes_ = waiting_.size();
    has_mail_ = true;
  }

  // Fills `mail`, which is empty, and keeps its memory for later. Returns false if there is
  // nothing. Only the reader calls this.
  bool take(Mail<Item>& mail) {
    if (!has_mail_) return false;
    const std::scoped_lock lock(mutex_);
    std::swap(waiting_, mail);
    bytes_ = 0;
    has_mail_ = false;
    return true;
  }

  // Both on any thread. The writer's post() is seen by a reader that asks afterwards.
  bool has_mail() const { return has_mail_; }
  size_t bytes_waiting() const { return bytes_; }  // Those of items, too.

 private:
  std::mutex mutex_;  // Guards waiting_, and changes of the two below.
  Mail<Item> waiting_;
  std::atomic<bool> has_mail_ = false;
  std::atomic<size_t> bytes_ = 0;
};

}  // namespace perennial::perenniald
