#pragma once

#include <cstddef>
#include <string_view>

// The header with which a standby begins each connection on which it passes a client on to the
// leader. It says "this was passed on once", and nothing else: a header of the PROXY protocol,
// version 2 (haproxy, doc/proxy-protocol.txt), with the command LOCAL, by which the real ends of
// the connection count, and with one field of our own.
//
// Each standby puts one in front of what its client sends, and changes no byte of that. So
// - the headers in front of a client's bytes are as many as the standbys that have passed it on,
//   and no number has to be read, raised and written anew;
// - a header leaves before the client has said a word, so that a silent client is counted, too.
//   Nobody who comes from a standby is silent.
// The leader removes them. A standby that finds forward_hops_max of them refuses the client: those
// who are passed on come back to standbys, because the leader's `client_address` leads to one.
//
// Anybody may send it, because it gives no right and changes no address: the leader ignores it, and
// who sends too many to a standby is closed, as by an end of its own. Older versions take it for
// the header of a proxy and refuse it, so it goes only to a leader that says that it reads it
// (store/cluster/records.h).
namespace perennial::perenniald {

inline constexpr std::string_view forward_header(
    "\r\n\r\n\0\r\nQUIT\n"  // The signature.
    "\x20\x00"              // Version 2, LOCAL; of no family.
    "\x00\x16"              // So many bytes follow.
    "\xe0\x00\x13"          // A field of a type for own use (PP2_TYPE_MIN_CUSTOM), and its size.
    "perennial forwarded",
    38);

// Two are normal while the lead changes: a client is passed on to the former leader, which passes
// it on to the next.
inline constexpr size_t forward_hops_max = 3;

// Reads the headers in front of what a client sends. Any split of the bytes gives the same result,
// but for one within the first four bytes of a header: these are empty lines of a client of the
// queue, too, whose answer must not wait for more. A header is sent at once and fits into the
// smallest segment, so no network splits it there; and if one did, it would be refused by its name.
class ForwardHeaders {
 public:
  // Takes the next bytes of the client. Returns how many of them, from the first on, may be part of
  // a header. The rest is the client's, as is all that follows.
  size_t take(std::string_view bytes);

  // Those that are whole. At most forward_hops_max: a further one is the client's.
  size_t count() const { return count_; }
  // No more bytes are taken.
  bool done() const { return done_; }
  // What was taken and has become no header: bytes of the client, before those that were not taken.
  // Empty until done().
  std::string_view given_back() const;

 private:
  size_t count_ = 0;
  size_t matched_ = 0;  // Bytes of the next one.
  bool done_ = false;
};

}  // namespace perennial::perenniald
