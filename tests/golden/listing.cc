#include "tests/golden/listing.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "store/disk/hash.h"
#include "store/reader.h"

namespace perennial::golden {
namespace {

constexpr size_t shown_bytes_max = 64;

// As it is, save what is no printable ASCII; a long one as its hash.
std::string text_of(std::string_view bytes) {
  if (bytes.size() > shown_bytes_max) {
    store::Hasher hasher;
    hasher.add(bytes);
    return fmt::format("{} bytes, xxh128 {}", bytes.size(), hasher.hex());
  }
  std::string out = "\"";
  for (const char byte : bytes) {
    const bool is_plain = byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\';
    out += is_plain ? std::string(1, byte) : fmt::format("\\x{:02x}", static_cast<uint8_t>(byte));
  }
  return out + "\"";
}

std::string line_of(const JobRow& job, std::string_view body) {
  return fmt::format(
      "job {} {} tube={} priority={} delay={} ttr={} created={} order={} reserves={} timeouts={} "
      "releases={} buries={} kicks={} body={}\n",
      job.id, state_name(job.state), job.tube, job.priority, job.delay_s, job.ttr_s, job.created,
      job.order, job.reserves, job.timeouts, job.releases, job.buries, job.kicks, text_of(body));
}

}  // namespace

Result<std::string> list(const std::string& data_dir) {
  Result<std::unique_ptr<store::Reader>> reader = store::Reader::open({.path = data_dir});
  if (!reader.ok()) return reader.take_status();
  const store::CommitRow& commit = (*reader)->commit();
  std::string out =
      fmt::format("commit epoch={} index={} known_durable={} now={}\nnext_id {}\n", commit.epoch,
                  commit.index, commit.known_durable, commit.now, (*reader)->next_id());
  store::Reader::Bodies bodies = (*reader)->bodies();
  const auto tube = [&](TubeId id, std::string_view name) {
    out += fmt::format("tube {} {}\n", id, text_of(name));
    return Status();
  };
  const auto pause = [&](const TubePaused& paused) {
    out +=
        fmt::format("pause tube={} pause={} until={}\n", paused.tube, paused.pause, paused.until);
    return Status();
  };
  const auto job = [&](const JobRow& row) {
    const Result<std::string_view> body = bodies.read(row.id);
    if (!body.ok()) return body.status();
    out += line_of(row, *body);
    return Status();
  };
  Status loaded = (*reader)->load({.tube = tube, .pause = pause, .job = job});
  if (!loaded.ok()) return loaded;
  return out;
}

}  // namespace perennial::golden
