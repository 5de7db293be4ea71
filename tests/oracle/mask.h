#pragma once

#include <string>
#include <string_view>

namespace perennial::oracle {

// Returns a reply without what may differ between beanstalkd 1.12 and this server, or between two
// moments: the values of pid, times and similar keys, the quotes of 1.13, this server's own keys,
// and the byte count. Replies without YAML are returned unchanged.
std::string masked(std::string_view reply);

// The value of a key in a reply that holds YAML, or an empty string.
std::string_view value_of(std::string_view reply, std::string_view key);

}  // namespace perennial::oracle
