#include "cmd/perennial/cluster/node_calls.h"

#include <fstream>
#include <memory>

#include <curl/curl.h>
#include <fmt/format.h>

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

Result<std::string> authorization(const std::string& token_file) {
  if (token_file.empty()) return std::string();
  std::ifstream file(token_file);
  std::string token;
  if (std::getline(file, token) && !token.empty()) return "Authorization: Bearer " + token;
  return Status(
      StatusCode::InvalidArgument,
      token_file + " (peer_token_file) has no token in its first line, or cannot be read");
}

}  // namespace

Result<std::string> ask_node(const perenniald::ClusterConfig& cluster, const std::string& address,
                             const std::string& path, int64_t seconds_max) {
  const Result<std::string> field = authorization(cluster.peer_token_file);
  if (!field.ok()) return field.status();
  const std::unique_ptr<CURL, void (*)(CURL*)> call(curl_easy_init(), curl_easy_cleanup);
  CHECK(call != nullptr);
  const auto set = [&](CURLoption option, auto value) {
    CHECK(curl_easy_setopt(call.get(), option, value) == CURLE_OK);
  };
  const std::string url =
      fmt::format("{}://{}{}", cluster.peer_ca.empty() ? "http" : "https", address, path);
  std::string answer;
  char error[CURL_ERROR_SIZE] = {};
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROXY, "");  // Nodes are reached directly.
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, node_connect_ms);
  set(CURLOPT_TIMEOUT, static_cast<long>(seconds_max));
  set(CURLOPT_ERRORBUFFER, error);
  set(CURLOPT_WRITEFUNCTION, on_answer);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&answer));
  if (!cluster.peer_ca.empty()) set(CURLOPT_CAINFO, cluster.peer_ca.c_str());
  const std::unique_ptr<curl_slist, void (*)(curl_slist*)> fields(
      field->empty() ? nullptr : curl_slist_append(nullptr, field->c_str()), curl_slist_free_all);
  if (fields != nullptr) set(CURLOPT_HTTPHEADER, fields.get());
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
