#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace perennial::wire {

// Who speaks another protocol on this port. A web page can make a browser send a POST whose body
// holds commands, and a TLS record can be made to hold some: beanstalkd runs them. Such a
// connection is to be closed, and nothing of it is to be run.
enum class Stranger : uint8_t { Http, Tls };

constexpr std::string_view stranger_name(Stranger stranger) {
  return stranger == Stranger::Http ? "http" : "tls";
}

// Looks at the first bytes of a connection, however they are split.
class FirstBytes {
 public:
  // Whether the bytes so far are the beginning of another protocol's. Once they cannot be any more,
  // it costs nothing and is not asked further: decided().
  std::optional<Stranger> take(std::string_view bytes);
  bool decided() const { return decided_; }

 private:
  static constexpr size_t bytes_max = 8;  // The longest method and its space.

  std::array<char, bytes_max> bytes_ = {};
  uint8_t count_ = 0;
  bool decided_ = false;
};

// Whether a line is the header without which no browser sends a request: "Host:", in any case.
bool is_host_header(std::string_view line);

}  // namespace perennial::wire
