#include "cmd/perenniald/http/routes/pages.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "cmd/perenniald/console/assets.h"
#include "cmd/perenniald/http/gzip_answer.h"

namespace perennial::http {
namespace {

constexpr std::string_view page_path = "/index.html";
// Scripts come from here only, none is written into the page, and text never becomes markup.
constexpr std::string_view policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'";

Response response_of(const console::Asset& asset, const Request& request) {
  // The two forms have tags of their own, because they differ in their bytes.
  const bool is_packed = accepts_gzip(request);
  std::string etag(asset.etag);
  if (is_packed) etag.insert(etag.size() - 1, "-gzip");
  Response response = {
      .content_type = std::string(asset.content_type),
      .fields = {
          {"Content-Security-Policy", std::string(policy)},
          {"Cache-Control", asset.immutable ? "public, max-age=31536000, immutable" : "no-cache"},
          {"ETag", etag},
          {"Vary", "Accept-Encoding"}}};
  if (request.field("if-none-match") == etag) {
    response.status = Status::NotModified;
    return response;
  }
  if (is_packed) response.fields.emplace_back("Content-Encoding", "gzip");
  response.body = is_packed ? asset.gzipped : asset.plain;
  return response;
}

}  // namespace

std::optional<Response> page_of(const Request& request) {
  const std::span<const console::Asset> assets = console::assets();
  auto found = std::ranges::find(assets, std::string_view(request.path), &console::Asset::path);
  const bool is_page =
      request.path == "/" || request.field("accept").find("text/html") != std::string_view::npos;
  if (found == assets.end() && is_page) {
    found = std::ranges::find(assets, page_path, &console::Asset::path);
  }
  if (found == assets.end()) return std::nullopt;
  return response_of(*found, request);
}

}  // namespace perennial::http
