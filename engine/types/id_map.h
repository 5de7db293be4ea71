#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "engine/types/basic.h"
#include "engine/types/check.h"

namespace perennial {

// A map from job ids to small values. Ids are dense: they come in order and most of their
// neighbours live when they do. So values lie in pages of consecutive ids, and what grows by
// rehashing is only the directory of pages, a two-hundredth of the jobs: no insertion stops the
// loop for long.
template <typename T>
class IdMap {
 public:
  T* find(JobId id) {
    Page* const page = find_page(id >> page_bits);
    if (page == nullptr || !page->used[id & page_mask]) return nullptr;
    return &page->values[id & page_mask];
  }
  const T* find(JobId id) const { return const_cast<IdMap*>(this)->find(id); }

  // REQUIRES: `id` is not in the map.
  void insert(JobId id, T value) {
    Page& page = take_page(id >> page_bits);
    CHECK(!page.used[id & page_mask]);
    page.used[id & page_mask] = true;
    page.values[id & page_mask] = std::move(value);
    ++page.count;
    ++size_;
  }

  // REQUIRES: `id` is in the map.
  void erase(JobId id) {
    Page* const page = find_page(id >> page_bits);
    CHECK(page != nullptr);
    CHECK(page->used[id & page_mask]);
    page->used[id & page_mask] = false;
    page->values[id & page_mask] = T{};
    --size_;
    if (--page->count > 0) return;
    if (last_page_ == page) last_page_ = nullptr;
    pages_.erase(id >> page_bits);
  }

  size_t size() const { return size_; }

 private:
  static constexpr unsigned page_bits = 8;
  static constexpr uint64_t page_mask = (1u << page_bits) - 1;

  struct Page {
    std::array<T, page_mask + 1> values{};
    std::bitset<page_mask + 1> used;
    uint32_t count = 0;
  };

  Page* find_page(uint64_t number) {
    if (last_page_ != nullptr && last_number_ == number) return last_page_;
    const auto found = pages_.find(number);
    if (found == pages_.end()) return nullptr;
    last_number_ = number;
    last_page_ = found->second.get();
    return last_page_;
  }

  Page& take_page(uint64_t number) {
    Page* page = find_page(number);
    if (page != nullptr) return *page;
    page = pages_.emplace(number, std::make_unique<Page>()).first->second.get();
    last_number_ = number;
    last_page_ = page;
    return *page;
  }

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  size_t size_ = 0;
  // Neighbours are asked for together: the page that was found last.
  uint64_t last_number_ = 0;
  Page* last_page_ = nullptr;
};

}  // namespace perennial
