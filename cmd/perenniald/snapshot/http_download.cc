#include "cmd/perenniald/snapshot/http_download.h"

#include <chrono>

#include <curl/curl.h>
#include <fmt/format.h>

#include "cmd/common/peer/peer_request.h"
#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

using SteadyClock = std::chrono::steady_clock;

// How often cancellation is checked.
constexpr int poll_ms = 200;
constexpr long connect_ms = 5'000;
constexpr long buffer_bytes = 256 << 10;

size_t on_body(const char* bytes, size_t, size_t count, void* received) {
  static_cast<std::string*>(received)->append(bytes, count);
  return count;
}

}  // namespace

struct HttpDownload::Handles {
  CURLM* multi = nullptr;
  CURL* easy = nullptr;
  common::HttpFields fields{nullptr, curl_slist_free_all};
  char error[CURL_ERROR_SIZE] = {};
};

HttpDownload::HttpDownload(const FetchOptions& options)
    : options_(options), handles_(std::make_unique<Handles>()) {
  // A second call does nothing.
  CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
  handles_->multi = curl_multi_init();
  handles_->easy = curl_easy_init();
  CHECK(handles_->multi != nullptr);
  CHECK(handles_->easy != nullptr);
  const auto set = [this](CURLoption option, auto value) {
    CHECK(curl_easy_setopt(handles_->easy, option, value) == CURLE_OK);
  };
  set(CURLOPT_URL, options.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_FAILONERROR, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
  set(CURLOPT_BUFFERSIZE, buffer_bytes);
  set(CURLOPT_ERRORBUFFER, handles_->error);
  set(CURLOPT_WRITEFUNCTION, on_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&received_));
  Result<common::HttpFields> fields = common::set_peer_access(handles_->easy, options.access);
  if (fields.ok()) {
    handles_->fields = fields.take();
  } else {
    begun_ = fields.take_status();
  }
  CHECK(curl_multi_add_handle(handles_->multi, handles_->easy) == CURLM_OK);
}

HttpDownload::~HttpDownload() {
  curl_multi_remove_handle(handles_->multi, handles_->easy);
  curl_easy_cleanup(handles_->easy);
  curl_multi_cleanup(handles_->multi);
}

Result<std::string_view> HttpDownload::next() {
  if (!begun_.ok()) return begun_;
  const int64_t limit_s = has_begun_ ? options_.stall_s : options_.first_s;
  const SteadyClock::time_point end = SteadyClock::now() + std::chrono::seconds(limit_s);
  while (received_.empty() && !has_ended_) {
    if (options_.cancelled && options_.cancelled()) return Status(StatusCode::Io, "asked to stop");
    if (SteadyClock::now() > end) {
      return Status(StatusCode::Io, fmt::format("nothing has come for {} s", limit_s));
    }
    if (Status done = advance(); !done.ok()) return done;
  }
  has_begun_ = has_begun_ || !received_.empty();
  given_.clear();
  given_.swap(received_);
  return std::string_view(given_);
}

// Does what can be done now, or waits a little.
Status HttpDownload::advance() {
  int running = 0;
  CHECK(curl_multi_perform(handles_->multi, &running) == CURLM_OK);
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(handles_->multi, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    has_ended_ = true;
    return outcome(message->data.result);
  }
  if (!received_.empty()) return {};
  CHECK(curl_multi_poll(handles_->multi, nullptr, 0, poll_ms, nullptr) == CURLM_OK);
  return {};
}

Status HttpDownload::outcome(int code) const {
  if (code == CURLE_OK) return {};
  const auto* const text = curl_easy_strerror(static_cast<CURLcode>(code));
  return {StatusCode::Io, handles_->error[0] != 0 ? handles_->error : text};
}

}  // namespace perennial::perenniald
