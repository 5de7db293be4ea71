#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cmd/perenniald/snapshot/checkpoint_fetch.h"
#include "engine/types/status.h"

namespace perennial::perenniald {

// Downloads the body of the response to a GET, piece by piece.
class HttpDownload {
 public:
  // `options` outlives this.
  explicit HttpDownload(const FetchOptions& options);
  ~HttpDownload();
  HttpDownload(const HttpDownload&) = delete;
  HttpDownload& operator=(const HttpDownload&) = delete;

  // Waits for the next bytes. They stay until the next call. Empty: the body has ended. Io: it was
  // not whole, or was refused; or cancelled. InvalidArgument: there is no token to show.
  Result<std::string_view> next();

 private:
  struct Handles;

  Status advance();
  Status outcome(int code) const;

  const FetchOptions& options_;
  std::unique_ptr<Handles> handles_;
  Status begun_;  // An error: the request could not be made.
  std::string received_;
  std::string given_;
  bool has_ended_ = false;
  bool has_begun_ = false;
};

}  // namespace perennial::perenniald
