#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/types/status.h"

// A setting is a row: its key, where its value is in an object, and the type of the value. The type
// says how a value is read and written. Some types are sections, which have rows of their own:
// `cluster` is one, and `listeners` is a list of them. The settings of the server are the rows of a
// section, too, whose object is a Config.
namespace perennial::perenniald {

struct Config;
struct ConfigField;
struct LayerOptions;
using ConfigFields = std::span<const ConfigField>;

// What is wrong with a configuration: one line for each problem, ready to be shown.
using Problems = std::vector<std::string>;

// The keys that a file gives to one object. Those of a section in it are "SECTION.KEY".
using GivenKeys = std::set<std::string, std::less<>>;

enum class Shape : uint8_t {
  Value,    // One text.
  List,     // Any number of texts. A single one needs no list around it.
  Map,      // Names, each with a text or with options.
  Section,  // A map of keys.
  Sections  // A list of such maps.
};

// An entry of a Map: the name, and either the text or the options.
struct MapEntry {
  std::string name;
  std::string text = {};
  std::vector<std::pair<std::string, std::string>> options = {};
};

// How the values of one type are read and written. Each function gets a pointer to the value. Those
// that a shape does not need are null.
struct ValueType {
  Shape shape = Shape::Value;
  // What a value looks like: "an address" of a List, "{ca: ..., key: ...}" of a Section, or a whole
  // message of a Map.
  std::string_view form = {};
  std::string_view item = "one value";  // What an element of a List or a Map is.
  std::string_view owner = {};          // "a user": what a Sections is a list of.
  bool is_quoted = false;               // Written with quotes, also where YAML needs none.
  bool is_number = false;
  bool may_be_nothing = false;  // "key:" stands for an empty list, map or section.
  bool has_options = false;     // Of a Map.

  void (*copy)(void* to, const void* from) = nullptr;
  // Makes a List, a Map or a section empty.
  void (*clear)(void*) = nullptr;
  // Sets a Value, or adds to a List. InvalidArgument: the message says what is accepted.
  Status (*set)(void*, const ConfigField&, std::string_view text) = nullptr;
  // The inverse: one text of a Value, and one for each element of a List.
  std::vector<std::string> (*texts)(const void*, const ConfigField&) = nullptr;
  // Whether an element of a List is only valid without a list around it.
  bool (*stands_alone)(std::string_view text) = nullptr;

  Status (*add)(void*, const MapEntry&) = nullptr;
  std::vector<MapEntry> (*entries)(const void*) = nullptr;

  ConfigFields (*fields)() = nullptr;
  // Why no section is accepted, or nothing.
  std::string (*refusal)() = nullptr;
  // The object of a Section, or a new one at the end of a Sections.
  void* (*object)(void*) = nullptr;
  // Those that are there: none or one of a Section.
  std::vector<const void*> (*objects)(const void*) = nullptr;
  // Completes an object whose values are each valid, and returns every problem of it as a whole.
  Problems (*finish)(void* object, const GivenKeys&) = nullptr;
};

// The type of values that are a T.
template <typename T>
struct TypeOf : ValueType {};

// Where a value is in an object, and its type.
struct ValuePlace {
  const ValueType* type;
  void* (*of)(void* object);
};

// The value is this member of the object.
template <auto Member, typename Object, typename T>
constexpr ValuePlace place_of(T Object::*, const TypeOf<T>& type) {
  return {&type, [](void* object) -> void* { return &(static_cast<Object*>(object)->*Member); }};
}
template <auto Member, typename T>
constexpr ValuePlace at(const TypeOf<T>& type) {
  return place_of<Member>(Member, type);
}

// Where a setting's default is written, and which option of a layer it sets: config_origin.h.
struct ConfigOrigin {
  std::string_view text = {};  // The default as the file has it; empty if a layer has it.
  // Copies the setting to a layer's option. Null: only the server itself reads the setting.
  void (*to_layers)(const Config&, LayerOptions&) = nullptr;
  // Copies the default from the initialiser of the layer's option. Null: the default is `text`.
  void (*from_layers)(const LayerOptions&, Config&) = nullptr;
};

// The flag that sets the setting as well.
struct ConfigFlag {
  std::string_view names = {};  // "-b,--data-dir". Empty: there is none.
  std::string_view type = {};
  std::string_view help = {};  // {0} is the default, and {1} the highest value.
  bool clamps = false;         // Lower a value to the highest, with a warning, as beanstalkd does.
};

// A row of the table of a section: everything about one setting.
struct ConfigField {
  std::string_view key;
  ValuePlace place;
  // In a section the default is the initialiser of the member, and only the text of the origin is
  // used: the row is not printed while its value is that text.
  ConfigOrigin origin = {};
  uint64_t lowest = 0;  // Of a number: the value; of a text: its length.
  uint64_t highest = 0;
  std::string_view help = {};
  ConfigFlag flag = {};
  std::string_view former_key = {};  // A name that older files may use.
  bool is_always_shown = false;      // In a section: also while it is empty.
  bool is_reloaded = false;          // A reload uses a new value, so no restart is needed.

  const ValueType& type() const { return *place.type; }
  // Whether it is a uint64_t with these bounds.
  bool is_bounded() const { return type().is_number && highest > 0; }
  void* value(void* object) const { return place.of(object); }
  // `place` only adds an offset, so it does not change the object.
  const void* value(const void* object) const { return place.of(const_cast<void*>(object)); }
};

// A row of a section.
constexpr ConfigField row(std::string_view key, ValuePlace place, uint64_t lowest = 0,
                          uint64_t highest = 0) {
  return {.key = key, .place = place, .lowest = lowest, .highest = highest};
}
constexpr ConfigField hidden_at(std::string_view text, ConfigField field) {
  field.origin.text = text;
  return field;
}
constexpr ConfigField always_shown(ConfigField field) {
  field.is_always_shown = true;
  return field;
}
constexpr ConfigField reloaded(ConfigField field) {
  field.is_reloaded = true;
  return field;
}

// Finds a row by its key or its former key, or returns null.
const ConfigField* find_field(ConfigFields fields, std::string_view key);

// Sets a value from text, or adds to a list. InvalidArgument: the message says what is accepted.
Status set_value(const ConfigField& field, void* object, std::string_view text);

// The names of the rows that differ and that a reload does not use, in the order of the table.
// Those of a section are "SECTION.KEY".
std::vector<std::string> differences(ConfigFields fields, const void* one, const void* other);
// Copies what a reload uses.
void copy_reloaded(ConfigFields fields, void* to, const void* from);

// Whether YAML, as it is printed, preserves this text. It does if the text is UTF-8.
bool fits_yaml(std::string_view text);
// The value as YAML in one line.
std::string value_yaml(const ConfigField& field, const void* object);

}  // namespace perennial::perenniald
