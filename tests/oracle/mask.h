#pragma once

#include <string>
#include <string_view>

namespace perennial::oracle {

// A reply without what may differ between beanstalkd 1.12 and this server, or from one moment to
// the next: the values of pid, times and the like, the quotes that came with 1.13, our own keys,
// and with them the byte count. Replies without YAML are returned as they are.
std::string masked(std::string_view reply);

// The value of a key in a reply that holds YAML; empty without it.
std::string_view value_of(std::string_view reply, std::string_view key);

}  // namespace perennial::oracle
