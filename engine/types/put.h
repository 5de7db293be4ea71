#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/types/basic.h"
#include "engine/types/boxed.h"
#include "engine/types/job_fields.h"
#include "engine/types/option_values.h"

// What a job is put with: by a client, or by a schedule.
namespace perennial {

// What a put may have besides its numbers.
struct PutOptions {
  std::string tube;  // Empty: the used tube.
  std::optional<TriesOption> tries = {};
  std::optional<Backoff> backoff = {};
  std::string dead = {};  // Empty: not given.
  PositiveDuration expire = {};
  std::optional<KeyOption> key = {};
  std::optional<KeyUntil> until = {};
  std::optional<ConcurrencyKey> concurrency = {};
  // What delay_s and ttr_s of the put leave out: nanoseconds below a second.
  uint32_t delay_rest_ns = 0;
  uint32_t ttr_rest_ns = 0;

  bool operator==(const PutOptions&) const = default;
};
// A put with a complete body and its CRLF. The parser hands over the body beside the command. The
// engine gets only the size of the body.
struct Put {
  uint32_t priority;  // 0 is the most urgent.
  uint32_t delay_s;
  uint32_t ttr_s;  // As the client sent it. The engine makes 0 into 1: protocol.txt, "put".
  uint32_t body_bytes;
  using Options = PutOptions;
  Boxed<PutOptions> options = {};

  bool operator==(const Put&) const = default;
};

}  // namespace perennial
