#include "store/types/damage.h"

#include <charconv>

#include <fmt/format.h>

namespace perennial::store {

std::string table_name(uint64_t number) {
  return fmt::format("{:06}.sst", number);
}

uint64_t table_number_of(std::string_view name) {
  constexpr std::string_view suffix = ".sst";
  if (!name.ends_with(suffix)) return 0;
  name.remove_suffix(suffix.size());
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? number : 0;
}

}  // namespace perennial::store
