#include "wire/batch_items.h"

#include "wire/command_line.h"

namespace perennial::wire {
namespace {

using Why = PutBatchRefused::Why;
constexpr std::string_view crlf = "\r\n";

// Removes CRLF from the front. Returns whether it was there.
bool take_crlf(std::string_view& text) {
  if (!text.starts_with(crlf)) return false;
  text.remove_prefix(crlf.size());
  return true;
}

// Removes an item from the front, without the CRLF behind it.
std::optional<Why> take_item(std::string_view& text, const ItemLimits& limits, PutBatch& batch,
                             std::vector<Body>& bodies) {
  const size_t end = text.find(crlf);
  if (end == std::string_view::npos) return Why::BadFormat;
  const std::optional<PutLine> line = parse_put_line(text.substr(0, end), limits.allowed);
  if (!line || line->tail != LineTail::Nothing) return Why::BadFormat;
  text.remove_prefix(end + crlf.size());
  const uint32_t bytes = line->put.body_bytes;
  if (bytes > limits.job_bytes_max) return Why::JobTooBig;
  // An item that ends behind the batch: one of the two sizes is wrong.
  if (bytes > text.size()) return Why::BadFormat;
  batch.items.push_back(line->put);
  bodies.emplace_back(text.substr(0, bytes));
  text.remove_prefix(bytes);
  return std::nullopt;
}

}  // namespace

std::optional<Why> parse_items(std::string_view text, const ItemLimits& limits, PutBatch& batch,
                               std::vector<Body>& bodies) {
  batch.items.reserve(batch.count.value);
  bodies.reserve(batch.count.value);
  for (uint64_t i = 0; i < batch.count.value; ++i) {
    if (i > 0 && !take_crlf(text)) return text.empty() ? Why::BadFormat : Why::ExpectedCrlf;
    if (const auto why = take_item(text, limits, batch, bodies)) return why;
  }
  if (text.empty()) return std::nullopt;
  return text.starts_with(crlf) ? Why::BadFormat : Why::ExpectedCrlf;
}

}  // namespace perennial::wire
