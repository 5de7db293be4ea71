#include "cmd/perenniald/server/tls_reload.h"

#include <algorithm>
#include <utility>

#include "cmd/perenniald/process/log.h"
#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

// A file that is written in two steps may be read half; the next look reads it whole.
constexpr uint64_t look_ms = 60'000;

}  // namespace

TlsReload::TlsReload(uv_loop_t& loop, TurnClock& clock, const Config& config,
                     TlsListeners listeners)
    : clock_(clock), listeners_(std::move(listeners)) {
  for (const ListenerConfig& listener : config.listeners) names_.push_back(listener.address);
  CHECK(uv_timer_init(&loop, &timer_) == 0);
  timer_.data = this;
}

void TlsReload::start() {
  if (!has_any()) return;
  for (size_t i = 0; i < listeners_.size(); ++i) {
    if (listeners_[i] == nullptr) continue;
    log(Level::Info, "tls.listener",
        {{"address", names_[i]}, {"valid_until", listeners_[i]->certificate_end()}});
  }
  const auto fired = [](uv_timer_t* timer) { static_cast<TlsReload*>(timer->data)->look(); };
  // The first look finds what has changed while the store was loaded.
  CHECK(uv_timer_start(&timer_, fired, 0, look_ms) == 0);
}

std::vector<std::pair<std::string, Status>> TlsReload::reload_all() {
  std::vector<std::pair<std::string, Status>> read;
  for (size_t i = 0; i < listeners_.size(); ++i) {
    if (listeners_[i] != nullptr) read.emplace_back(names_[i], reload(i));
  }
  return read;
}

void TlsReload::look() {
  for (size_t i = 0; i < listeners_.size(); ++i) {
    if (listeners_[i] == nullptr || !listeners_[i]->files_changed()) continue;
    ignore(reload(i), "it is in the log, and is_current() remembers it");
  }
}

Status TlsReload::reload(size_t listener) {
  TlsListener& tls = *listeners_[listener];
  Status reloaded = tls.reload(clock_.now());
  if (reloaded.ok()) {
    bad_.erase(listener);
    reloaded_at_ = clock_.now();
    log(Level::Info, "tls.reload",
        {{"address", names_[listener]}, {"valid_until", tls.certificate_end()}});
    has_news_ = true;
  } else {
    bad_.insert(listener);
    log(Level::Error, "tls.reload",
        {{"address", names_[listener]},
         {"error", reloaded.message()},
         {"still_valid_until", tls.certificate_end()}});
  }
  return reloaded;
}

void TlsReload::close() {
  uv_close(reinterpret_cast<uv_handle_t*>(&timer_), nullptr);
}

std::vector<std::pair<std::string, std::time_t>> TlsReload::certificate_ends() const {
  std::vector<std::pair<std::string, std::time_t>> ends;
  for (size_t i = 0; i < listeners_.size(); ++i) {
    if (listeners_[i] != nullptr) ends.emplace_back(names_[i], listeners_[i]->certificate_end_at());
  }
  return ends;
}

bool TlsReload::has_any() const {
  return std::ranges::any_of(listeners_, [](const auto& each) { return each != nullptr; });
}

}  // namespace perennial::perenniald
