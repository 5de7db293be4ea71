#include "cmd/perennial/export/export_options.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/arguments/protocol_option.h"

namespace perennial::tool {
namespace {

// None: the key is missing, or says that nothing is set.
std::optional<std::string> given(const StatsReply& stats, std::string_view key) {
  const std::optional<std::string_view> text = stats.text(key);
  if (!text || text->empty() || *text == "0") return std::nullopt;
  return std::string(*text);
}

template <typename C, typename Options>
Status read_extras(std::initializer_list<GivenOption> options, Extras<Options>& extras) {
  std::vector<std::string_view> names;
  for (const GivenOption& option : options) {
    if (option.text) names.push_back(option.name);
  }
  extras.names = fmt::format("{}", fmt::join(names, ", "));
  Status read = read_options<C>(options, extras.options, extras.needed);
  return read.ok() ? Status() : Status(StatusCode::Io, "the server here says: " + read.message());
}

}  // namespace

uint32_t rounded_up(uint64_t seconds) {
  return static_cast<uint32_t>(std::min<uint64_t>(seconds + 1, u32_max));
}

bool allows_all(ExtensionSet allowed, ExtensionSet needed) {
  return std::ranges::all_of(extension_rows, [&](const ExtensionRow& row) {
    return !needed.allows(row.extension) || allowed.allows(row.extension);
  });
}

Result<Extras<perennial::PutOptions>> extras_of_job(const StatsReply& job, uint32_t delay_s) {
  std::optional<std::string> key = given(job, "idp");
  if (key) *key += fmt::format(":{}", job.count("idp-ttl"));
  if (key && job.count("idp-ttl") == 0) key->resize(key->rfind(':'));
  std::optional<std::string> expire = given(job, "expire-left");
  if (expire) {
    // It counts from the end of the copy's delay on.
    const uint32_t left = rounded_up(job.count("expire-left"));
    expire = fmt::format("{}", std::max<uint32_t>(left > delay_s ? left - delay_s : 0, 1));
  }
  Extras<perennial::PutOptions> extras;
  Status read = read_extras<Put>({{"tries", given(job, "tries")},
                                  {"backoff", given(job, "backoff")},
                                  {"dead", given(job, "dead")},
                                  {"expire", expire},
                                  {"idp", key},
                                  {"con", given(job, "con")}},
                                 extras);
  if (!read.ok()) return read;
  return extras;
}

Result<std::vector<Extras<SetTube>>> extras_of_tube(const StatsReply& tube,
                                                    const std::string& name) {
  const std::initializer_list<GivenOption> groups[] = {
      {{"tries", given(tube, "tries")},
       {"backoff", given(tube, "backoff")},
       {"dead", given(tube, "dead")},
       {"expire", given(tube, "expire")},
       {"reserved", given(tube, "reserved-max")},
       {"rate", given(tube, "rate")}},
      {{"keep", given(tube, "keep")}, {"keep-max", given(tube, "keep-max")}}};
  std::vector<Extras<SetTube>> out;
  for (const std::initializer_list<GivenOption>& group : groups) {
    Extras<SetTube> extras = {.options = {.tube = name}};
    if (Status read = read_extras<SetTube>(group, extras); !read.ok()) return read;
    if (extras.names.empty()) continue;
    extras.needed = extras.needed.with(Extension::SetTube);
    out.push_back(std::move(extras));
  }
  return out;
}

}  // namespace perennial::tool
