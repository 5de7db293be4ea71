#include "cmd/perennial/cluster/node_calls.h"

#include <memory>

#include <curl/curl.h>
#include <fmt/format.h>

#include "cmd/common/peer/peer_request.h"
#include "engine/types/check.h"

namespace perennial::tool {
namespace {

constexpr long node_connect_ms = 3'000;
constexpr size_t answer_bytes_max = 1 << 20;

size_t on_answer(const char* bytes, size_t, size_t count, void* out) {
  auto& answer = *static_cast<std::string*>(out);
  if (answer.size() + count > answer_bytes_max) return 0;  // Ends the call with an error.
  answer.append(bytes, count);
  return count;
}

}  // namespace

Result<std::string> ask_node(const perenniald::ClusterConfig& cluster, const std::string& address,
                             const std::string& path, int64_t seconds_max) {
  const common::PeerAccess access = perenniald::peer_access(cluster);
  const std::unique_ptr<CURL, void (*)(CURL*)> call(curl_easy_init(), curl_easy_cleanup);
  CHECK(call != nullptr);
  const auto set = [&](CURLoption option, auto value) {
    CHECK(curl_easy_setopt(call.get(), option, value) == CURLE_OK);
  };
  const std::string url = common::peer_url(access, address, path);
  std::string answer;
  char error[CURL_ERROR_SIZE] = {};
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, node_connect_ms);
  set(CURLOPT_TIMEOUT, static_cast<long>(seconds_max));
  set(CURLOPT_ERRORBUFFER, error);
  set(CURLOPT_WRITEFUNCTION, on_answer);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&answer));
  const Result<common::HttpFields> fields = common::set_peer_access(call.get(), access);
  if (!fields.ok()) return fields.status();
  const CURLcode code = curl_easy_perform(call.get());
  if (code != CURLE_OK) {
    return Status(StatusCode::Io,
                  fmt::format("{}: {}", url, error[0] != 0 ? error : curl_easy_strerror(code)));
  }
  long status = 0;
  CHECK(curl_easy_getinfo(call.get(), CURLINFO_RESPONSE_CODE, &status) == CURLE_OK);
  if (status == 200) return answer;
  while (answer.ends_with('\n')) answer.pop_back();
  return Status(StatusCode::Io, fmt::format("{}: status {}: {}", url, status, answer));
}

}  // namespace perennial::tool
