#pragma once

#include <optional>
#include <string>
#include <utility>

#include "cmd/perenniald/net/streams/proxy_header.h"
#include "cmd/perenniald/net/streams/stream.h"

namespace perennial::perenniald {

// The stream of a client whose proxy has not said yet for whom it connects. It reads the header and
// no byte behind it, removes the headers of standbys in front of it, and never opens: the caller
// takes the header, releases the socket, and gives it to the stream of the client.
class ProxyStream final : public Stream {
 public:
  // Takes over the socket, and closes it.
  explicit ProxyStream(int fd) : plain_(fd) {}

  bool is_open() const override { return false; }
  Outcome read(std::span<char> buffer, size_t bytes_max) override;
  Outcome write(std::string_view /*bytes*/) override { return {.state = State::Failed}; }
  int fd() const override { return plain_.fd(); }
  int release() override { return plain_.release(); }
  std::string failure() const override { return failure_; }

  // Without a value until it is whole.
  const std::optional<ProxyHeader>& header() const { return header_; }

 private:
  PlainStream plain_;
  std::string held_;     // Of a header that is not whole.
  size_t forwards_ = 0;  // Headers of standbys.
  std::optional<ProxyHeader> header_;
  std::string failure_;
};

}  // namespace perennial::perenniald
