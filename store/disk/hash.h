#pragma once

#include <memory>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace perennial::store {

// XXH3 of 128 bits over bytes that are added in pieces, for files and streams. The sizes of the
// pieces do not change the hash. The hash detects accidental damage, and does not protect against
// an attacker. Movable; a moved-from object can only be destroyed or assigned to.
class Hasher {
 public:
  Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  ~Hasher();

  void add(std::string_view bytes);
  // Returns the hash of all bytes so far: 32 hexadecimal digits, as xxh128sum prints them. More
  // bytes may be added afterwards.
  std::string hex() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace perennial::store
