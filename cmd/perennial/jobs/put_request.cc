#include "cmd/perennial/jobs/put_request.h"

#include "cmd/perennial/arguments/protocol_option.h"

namespace perennial::tool {
namespace {

Status check_key(const PutOptions& options, const perennial::PutOptions& read) {
  if (options.lines && read.key)
    return {StatusCode::InvalidArgument, "--idp and --lines exclude each other"};
  if (read.until && !read.key) return {StatusCode::InvalidArgument, "--until needs --idp"};
  if (read.until == KeyUntil::Ttl && read.key->seconds == 0)
    return {StatusCode::InvalidArgument, "--until ttl needs a time: --idp KEY:DURATION"};
  return {};
}

Status read_times(const PutOptions& options, Put& put, perennial::PutOptions& rest) {
  const std::string delay = protocol_value("delay", options.delay);
  const std::string ttr = protocol_value("ttr", options.ttr);
  std::string_view text = delay;
  if (!wire::take_split(text, ExtensionSet::all(), put.delay_s, rest.delay_rest_ns) ||
      !text.empty())
    return wrong_value("delay", options.delay);
  text = ttr;
  if (!wire::take_split_ttr(text, ExtensionSet::all(), put.ttr_s, rest.ttr_rest_ns) ||
      !text.empty())
    return wrong_value("ttr", options.ttr);
  return {};
}

}  // namespace

Result<PutRequest> read_put(const PutOptions& options) {
  PutRequest request{};
  request.put.priority = options.priority;
  perennial::PutOptions read;
  if (Status times = read_times(options, request.put, read); !times.ok()) return times;
  Status status = read_options<Put>({{"idp", options.idp},
                                     {"until", options.until},
                                     {"tries", options.tries},
                                     {"backoff", options.backoff},
                                     {"dead", options.dead},
                                     {"expire", options.expire},
                                     {"con", options.concurrency}},
                                    read, request.needed);
  if (status.ok()) status = check_key(options, read);
  if (!status.ok()) return status;
  if (read.delay_rest_ns > 0 || read.ttr_rest_ns > 0)
    request.needed = request.needed.with(Extension::Milliseconds);
  if (!(read == perennial::PutOptions())) request.put.options = std::move(read);
  return request;
}

}  // namespace perennial::tool
