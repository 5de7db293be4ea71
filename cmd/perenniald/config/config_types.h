#pragma once

#include "cmd/perenniald/config/cluster_config.h"
#include "cmd/perenniald/config/config.h"
#include "cmd/perenniald/config/listener_config.h"
#include "cmd/perenniald/config/tube_defaults.h"
#include "cmd/perenniald/config/user_config.h"
#include "cmd/perenniald/config/value_types.h"

// The types that only the settings of the server have, and not those inside of sections.
namespace perennial::perenniald {

Status set_port(uint16_t& member, const ConfigField&, std::string_view text);
std::string port_text(const uint16_t& value, const ConfigField&);
Status set_auto_count(std::optional<uint64_t>& member, const ConfigField& field,
                      std::string_view text);
std::string auto_count_text(const std::optional<uint64_t>& value, const ConfigField& field);
Status set_local_address(std::string& member, const ConfigField&, std::string_view text);
Status add_address(std::vector<std::string>& member, const ConfigField&, std::string_view text);
Status add_proxy(std::vector<std::string>& member, const ConfigField&, std::string_view text);
Status add_metrics_pattern(std::vector<std::string>& member, const ConfigField& field,
                           std::string_view text);
Status add_tube_group(TubeGroups& groups, const MapEntry& entry);
std::vector<MapEntry> tube_group_entries(const TubeGroups& groups);
Status add_extension(ExtensionSet& member, const ConfigField&, std::string_view text);
std::vector<std::string> extension_texts(const ExtensionSet& allowed);

inline constexpr auto port_type = value_type<uint16_t, set_port, port_text>(false, true);
// A number, or `auto`, which is none.
inline constexpr auto auto_count_type =
    value_type<std::optional<uint64_t>, set_auto_count, auto_count_text>();
// One that only this machine reaches, or nothing.
inline constexpr auto local_address_type = value_type<std::string, set_local_address, text_of>();

// A list that "key:" makes empty.
template <typename T, Status (*Add)(T&, const ConfigField&, std::string_view),
          std::vector<std::string> (*Texts)(const T&)>
constexpr TypeOf<T> empty_or_list_type(std::string_view form, bool is_quoted) {
  TypeOf<T> type = list_type<T, Add, Texts>(form, is_quoted);
  type.may_be_nothing = true;
  return type;
}
inline constexpr auto addresses_type =
    empty_or_list_type<std::vector<std::string>, add_address, texts_of>(
        "an address or a list of them", false);
// Addresses and networks, or unix_proxies.
inline constexpr auto proxies_type =
    empty_or_list_type<std::vector<std::string>, add_proxy, texts_of>(
        "an address or a list of them", false);
// Of tubes.
inline constexpr auto patterns_type =
    empty_or_list_type<std::vector<std::string>, add_metrics_pattern, texts_of>(
        "a pattern or a list of them", true);
inline constexpr auto tube_groups_type = map_type<TubeGroups, add_tube_group, tube_group_entries>(
    "lines of the form 'mail-*: mail'", "a pattern and a name", false);

// A list allows the extensions that it names and the probe, also when it is empty. The words `all`
// and `none` may only stand alone.
inline constexpr TypeOf<ExtensionSet> extensions_type = [] {
  auto type = list_type<ExtensionSet, add_extension, extension_texts>("one value", false);
  type.clear = [](void* value) { *static_cast<ExtensionSet*>(value) = ExtensionSet::probe(); };
  type.stands_alone = [](std::string_view text) { return text == "all" || text == "none"; };
  return type;
}();

inline constexpr Word<store::Durability> durability_words[] = {
    {durability_name(store::Durability::Commit), store::Durability::Commit},
    {durability_name(store::Durability::Interval), store::Durability::Interval},
    {durability_name(store::Durability::Never), store::Durability::Never}};
inline constexpr auto durability_type = word_type<store::Durability, durability_words>();
inline constexpr Word<CheckpointFrom> checkpoint_from_words[] = {{"local", CheckpointFrom::Local},
                                                                 {"any", CheckpointFrom::Any}};
inline constexpr auto checkpoint_from_type = word_type<CheckpointFrom, checkpoint_from_words>();
inline constexpr Word<LogFormat> log_format_words[] = {{"logfmt", LogFormat::Logfmt},
                                                       {"json", LogFormat::Json}};
inline constexpr auto log_format_type = word_type<LogFormat, log_format_words>();
inline constexpr Word<AdminOn> admin_on_words[] = {
    {"any", AdminOn::Any}, {"unix", AdminOn::Unix}, {"none", AdminOn::None}};
inline constexpr auto admin_on_type = word_type<AdminOn, admin_on_words>();
inline constexpr Word<GroupAccess> group_access_words[] = {
    {"none", GroupAccess::None}, {"read", GroupAccess::Read}, {"write", GroupAccess::Write}};
inline constexpr auto group_access_type = word_type<GroupAccess, group_access_words>();

inline constexpr auto listeners_type =
    sections_type<ListenerConfig, listener_fields, finish_listener>("{address: ..., tls: {...}}",
                                                                    "a listener", true);
inline constexpr auto users_type = sections_type<access::User, user_fields, finish_user>(
    "{name: ..., tokens: [...], grants: [...]}", "a user", true);

inline constexpr TypeOf<ClusterConfig> cluster_type = {{
    .shape = Shape::Section,
    .form = "{name: ..., node: ..., etcd: [...], client_address: ...}",
    .may_be_nothing = true,
    .clear = [](void* value) { *static_cast<ClusterConfig*>(value) = {}; },
    .fields = cluster_fields,
    .refusal = [] { return check_cluster_is_built(cluster_is_built()); },
    .object = [](void* value) { return value; },
    .objects =
        [](const void* value) {
          const bool is_set = static_cast<const ClusterConfig*>(value)->is_set();
          return is_set ? std::vector<const void*>{value} : std::vector<const void*>{};
        },
    .finish =
        [](void* object, const GivenKeys&) {
          return check_cluster(*static_cast<const ClusterConfig*>(object));
        },
}};

}  // namespace perennial::perenniald
