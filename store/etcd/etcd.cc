#include "store/etcd/etcd.h"

namespace perennial::store::etcd {

std::string_view name_of(CallError error) {
  switch (error) {
    case CallError::Unknown:
      return "unknown";
    case CallError::NoSpace:
      return "no space";
    case CallError::TooLarge:
      return "too large";
    case CallError::Compacted:
      return "compacted";
    case CallError::LeaseNotFound:
      return "lease not found";
    case CallError::Denied:
      return "denied";
    case CallError::Invalid:
      return "invalid";
  }
  CHECK(!"an error that is none");
  return {};
}

std::string_view name_of(Alarm::Kind kind) {
  switch (kind) {
    case Alarm::Kind::NoSpace:
      return "NOSPACE";
    case Alarm::Kind::Corrupt:
      return "CORRUPT";
  }
  CHECK(!"an alarm that is none");
  return {};
}

// The end is the smallest key that is greater than all with the prefix. Where the prefix has only
// bytes of 255, there is none: then etcd takes one zero byte for the end of all keys.
KeyRange keys_with_prefix(std::string_view prefix) {
  CHECK(!prefix.empty());
  std::string end(prefix);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) end.pop_back();
  if (end.empty())
    end.push_back('\0');
  else
    ++end.back();
  return {.key = std::string(prefix), .end = std::move(end)};
}

}  // namespace perennial::store::etcd
