#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cmd/perenniald/config/field.h"

// The types of values that several sections have, and how other types are made.
namespace perennial::perenniald {

Status bad_value(std::string message);

// A TypeOf<T> of one text, made of two functions.
template <typename T, Status (*Set)(T&, const ConfigField&, std::string_view),
          std::string (*Text)(const T&, const ConfigField&)>
constexpr TypeOf<T> value_type(bool is_quoted = false, bool is_number = false) {
  return {{.is_quoted = is_quoted,
           .is_number = is_number,
           .copy = [](void* to,
                      const void* from) { *static_cast<T*>(to) = *static_cast<const T*>(from); },
           .set = [](void* value, const ConfigField& field,
                     std::string_view text) { return Set(*static_cast<T*>(value), field, text); },
           .texts =
               [](const void* value, const ConfigField& field) {
                 return std::vector<std::string>{Text(*static_cast<const T*>(value), field)};
               }}};
}

// A TypeOf<T> of any number of texts. `form` as in ValueType.
template <typename T, Status (*Add)(T&, const ConfigField&, std::string_view),
          std::vector<std::string> (*Texts)(const T&)>
constexpr TypeOf<T> list_type(std::string_view form, bool is_quoted) {
  return {{.shape = Shape::List,
           .form = form,
           .is_quoted = is_quoted,
           .copy = [](void* to,
                      const void* from) { *static_cast<T*>(to) = *static_cast<const T*>(from); },
           .clear = [](void* value) { *static_cast<T*>(value) = T(); },
           .set = [](void* value, const ConfigField& field,
                     std::string_view text) { return Add(*static_cast<T*>(value), field, text); },
           .texts = [](const void* value,
                       const ConfigField&) { return Texts(*static_cast<const T*>(value)); }}};
}

// A TypeOf<T> of named entries. `form` as in ValueType.
template <typename T, Status (*Add)(T&, const MapEntry&),
          std::vector<MapEntry> (*Entries)(const T&)>
constexpr TypeOf<T> map_type(std::string_view form, std::string_view item, bool has_options) {
  return {{.shape = Shape::Map,
           .form = form,
           .item = item,
           .may_be_nothing = true,
           .has_options = has_options,
           .clear = [](void* value) { *static_cast<T*>(value) = T(); },
           .add = [](void* value,
                     const MapEntry& entry) { return Add(*static_cast<T*>(value), entry); },
           .entries = [](const void* value) { return Entries(*static_cast<const T*>(value)); }}};
}

// A list of sections, each of which fills in a T.
template <typename T, ConfigFields (*Fields)(), Problems (*Finish)(T&, const GivenKeys&)>
constexpr TypeOf<std::vector<T>> sections_type(std::string_view form, std::string_view owner,
                                               bool may_be_nothing = false) {
  using List = std::vector<T>;
  return {
      {.shape = Shape::Sections,
       .form = form,
       .owner = owner,
       .may_be_nothing = may_be_nothing,
       .clear = [](void* value) { static_cast<List*>(value)->clear(); },
       .fields = Fields,
       .object = [](void* value) -> void* { return &static_cast<List*>(value)->emplace_back(); },
       .objects =
           [](const void* value) {
             std::vector<const void*> objects;
             for (const T& object : *static_cast<const List*>(value)) objects.push_back(&object);
             return objects;
           },
       .finish = [](void* object,
                    const GivenKeys& given) { return Finish(*static_cast<T*>(object), given); }}};
}

// The words that stand for the values of a T.
template <typename T>
struct Word {
  std::string_view name;
  T value;
};

template <typename T, const auto& Words>
Status set_word(T& member, const ConfigField&, std::string_view text) {
  std::vector<std::string_view> names;
  for (const Word<T>& word : Words) {
    if (word.name == text) {
      member = word.value;
      return {};
    }
    names.push_back(word.name);
  }
  return bad_value(fmt::format("'{}' is not one of {}", text, fmt::join(names, ", ")));
}

template <typename T, const auto& Words>
std::string word_text(const T& value, const ConfigField&) {
  return std::string(std::ranges::find(Words, value, &Word<T>::value)->name);
}

// One of a few words, each of which stands for a value.
template <typename T, const auto& Words>
constexpr TypeOf<T> word_type(bool is_quoted = false) {
  return value_type<T, set_word<T, Words>, word_text<T, Words>>(is_quoted);
}

Status set_count(uint64_t& member, const ConfigField& field, std::string_view text);
std::string count_text(const uint64_t& value, const ConfigField& field);
Status set_bytes(uint64_t& member, const ConfigField& field, std::string_view text);
std::string bytes_text(const uint64_t& value, const ConfigField& field);
Status set_switch(bool& member, const ConfigField& field, std::string_view text);
std::string switch_text(const bool& value, const ConfigField& field);
Status set_text(std::string& member, const ConfigField& field, std::string_view text);
Status set_file(std::string& member, const ConfigField& field, std::string_view text);
std::string text_of(const std::string& value, const ConfigField& field);
Status add_pattern(std::vector<std::string>& member, const ConfigField& field,
                   std::string_view text);
std::vector<std::string> texts_of(const std::vector<std::string>& values);

inline constexpr auto count_type = value_type<uint64_t, set_count, count_text>(false, true);
// A size, which may have a unit.
inline constexpr auto bytes_type = value_type<uint64_t, set_bytes, bytes_text>(false, true);
inline constexpr auto switch_type = value_type<bool, set_switch, switch_text>();
inline constexpr auto text_type = value_type<std::string, set_text, text_of>();
// The path of a file.
inline constexpr auto file_type = value_type<std::string, set_file, text_of>(true);

// Whether the text has the bytes of a tube's name, and "*".
bool is_tube_pattern(std::string_view pattern);
Status check_tube_pattern(std::string_view text);

}  // namespace perennial::perenniald
