#pragma once

#include <memory>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace perennial::store {

// XXH3 of 128 bits over bytes that come piece by piece, for whole files and streams. How they are
// cut into pieces does not matter. It finds accidents, and is no defence against malice. Movable;
// what was moved from can only be destroyed or assigned to.
class Hasher {
 public:
  Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  ~Hasher();

  void add(std::string_view bytes);
  // Of all bytes so far: 32 hexadecimal digits, the same that xxh128sum prints. More may follow.
  std::string hex() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace perennial::store
