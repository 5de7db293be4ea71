#include "cmd/perenniald/http/api/options.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cmd/common/base64.h"
#include "cmd/perenniald/http/api/protocol_value.h"
#include "wire/arguments.h"
#include "wire/job_line.h"

namespace perennial::http {
namespace {

constexpr uint32_t priority_default = 1024;
constexpr Nanos ttr_default = 60 * nanos_per_second;

std::optional<uint32_t> positive_number(Fields& fields, const std::string& name, uint32_t max) {
  const std::optional<uint64_t> number = fields.number(name, max);
  if (number && *number == 0) {
    fields.add_problem(fmt::format("{} must be a whole number from 1 to {}.", name, max));
    return std::nullopt;
  }
  return number ? std::optional(static_cast<uint32_t>(*number)) : std::nullopt;
}

std::optional<Nanos> positive_seconds(Fields& fields, const std::string& name) {
  const std::optional<Nanos> time = fields.seconds(name);
  if (time && *time == 0) fields.add_problem(fmt::format("{} must be more than 0.", name));
  return time;
}

std::optional<Backoff> backoff(Fields& fields) {
  return protocol_value<Backoff>(
      fields, "backoff",
      "the first delay and the longest one, in seconds or with ms, such as \"5:600\" or "
      "\"500ms:60\"");
}

// An empty key is none.
void read_key(Fields& fields, PutOptions& options) {
  const std::optional<std::string> key = fields.text("key");
  const auto seconds = fields.number("key_seconds", duration_seconds_max);
  const auto until = protocol_value<KeyUntil>(fields, "key_until", "deleted, reserved or ttl");
  if (!key || key->empty()) {
    if (seconds || until) fields.add_problem("key_seconds and key_until belong to a key.");
    return;
  }
  if (!wire::is_tube_name(*key)) fields.add_problem("key must have the form of a tube's name.");
  if (until == KeyUntil::Ttl && seconds.value_or(0) == 0) {
    fields.add_problem("A key until ttl needs key_seconds.");
  }
  options.key = KeyOption{.key = *key, .seconds = static_cast<uint32_t>(seconds.value_or(0))};
  options.until = until;
}

}  // namespace

PutOptions read_put_options(Fields& fields) {
  PutOptions options;
  options.tube = fields.tube("tube").value_or("default");
  if (const auto tries = positive_number(fields, "tries", tries_max)) {
    options.tries = TriesOption{*tries};
  }
  options.backoff = backoff(fields);
  options.dead = fields.tube("dead").value_or("");
  options.expire.nanos = positive_seconds(fields, "expire_seconds").value_or(0);
  read_key(fields, options);
  options.concurrency = protocol_value<ConcurrencyKey>(
      fields, "concurrency", "a key, and how many of its jobs run at once, such as \"customer:2\"");
  return options;
}

Put read_put(Fields& fields) {
  PutOptions options = read_put_options(fields);
  const auto priority = fields.number("priority", UINT32_MAX).value_or(priority_default);
  const Nanos delay = fields.seconds("delay_seconds").value_or(0);
  const Nanos ttr = fields.seconds("ttr_seconds").value_or(ttr_default);
  if (ttr > 0 && ttr < ttr_ms_min * nanos_per_ms) {
    fields.add_problem("ttr_seconds must be 0.01 or more, or 0, which is 1.");
  }
  options.delay_rest_ns = static_cast<uint32_t>(delay % nanos_per_second);
  options.ttr_rest_ns = static_cast<uint32_t>(ttr % nanos_per_second);
  Put put = {.priority = static_cast<uint32_t>(priority),
             .delay_s = static_cast<uint32_t>(delay / nanos_per_second),
             .ttr_s = static_cast<uint32_t>(ttr / nanos_per_second),
             .body_bytes = 0};
  put.options = std::move(options);
  return put;
}

std::string read_body(Fields& fields) {
  const std::optional<std::string> text = fields.text("body");
  const std::optional<std::string> encoded = fields.text("body_base64");
  if (text.has_value() == encoded.has_value()) {
    fields.add_problem("Either body or body_base64 is needed.");
  }
  std::optional<std::string> body = text;
  if (encoded) body = common::from_base64(*encoded);
  if (encoded && !body) fields.add_problem("body_base64 is not well-formed.");
  return std::move(body).value_or("");
}

TubeSettings read_settings(Fields& fields) {
  TubeSettings settings;
  settings.tries = positive_number(fields, "tries", tries_max);
  settings.backoff = backoff(fields);
  settings.dead = fields.tube("dead");
  settings.expire = positive_seconds(fields, "expire_seconds");
  settings.reserved = positive_number(fields, "reserved", UINT32_MAX);
  settings.rate = protocol_value<Rate>(fields, "rate",
                                       "a number of jobs and a time in seconds, such as \"10:1\"");
  settings.drain = fields.yes_or_no("drain");
  settings.keep = positive_seconds(fields, "keep_seconds");
  settings.keep_max = positive_number(fields, "keep_max", UINT32_MAX);
  return settings;
}

Json settings_json(const TubeSettings& settings) {
  return {{"tries", settings.tries.value_or(0)},
          {"backoff", wire::backoff_text(settings.backoff)},
          {"dead", settings.dead.value_or("")},
          {"expire_seconds", in_seconds(settings.expire.value_or(0))},
          {"reserved", settings.reserved.value_or(0)},
          {"rate", wire::rate_text(settings.rate)},
          {"drain", settings.drain.value_or(false)},
          {"keep_seconds", in_seconds(settings.keep.value_or(0))},
          {"keep_max", settings.keep_max.value_or(0)}};
}

Json settings_with_value(const TubeSettings& settings) {
  const Json all = settings_json(settings);
  const std::pair<const char*, bool> rows[] = {
      {"tries", settings.tries.has_value()},       {"backoff", settings.backoff.has_value()},
      {"dead", settings.dead.has_value()},         {"expire_seconds", settings.expire.has_value()},
      {"reserved", settings.reserved.has_value()}, {"rate", settings.rate.has_value()},
      {"drain", settings.drain.has_value()},       {"keep_seconds", settings.keep.has_value()},
      {"keep_max", settings.keep_max.has_value()}};
  Json out = Json::object();
  for (const auto& [name, has_value] : rows) {
    if (has_value) out[name] = all.at(name);
  }
  return out;
}

}  // namespace perennial::http
