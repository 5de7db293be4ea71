#include "cmd/perenniald/http/gzip_answer.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <zlib.h>

#include "cmd/common/list.h"
#include "engine/types/check.h"

namespace perennial::http {
namespace {

// Below it the response is one packet anyway.
constexpr size_t packed_from_bytes = 1'400;
// So much is packed in less than a millisecond.
constexpr size_t bytes_of_step = 64 << 10;
// The least work. JSON of jobs becomes a tenth of its size; the best level saves a third more.
constexpr int level = 1;
constexpr int window_bits_of_gzip = 15 + 16;  // As zlib.h says: 16 more for a header of gzip.
constexpr int memory_level = 8;               // 256 KiB with that window.

// Makes gzip of a text that is given in parts.
class Packer {
 public:
  Packer() {
    is_there_ = ::deflateInit2(&stream_, level, Z_DEFLATED, window_bits_of_gzip, memory_level,
                               Z_DEFAULT_STRATEGY) == Z_OK;
  }
  ~Packer() {
    if (is_there_) ::deflateEnd(&stream_);
  }
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  // False: there is no memory for it.
  bool is_there() const { return is_there_; }
  // REQUIRES: is_there(). Adds what it makes to `out`. No part comes behind the last one.
  void pack(std::string_view part, bool is_last, std::string& out) {
    // zlib does not change what it reads, though the type does not say so.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
    stream_.avail_in = static_cast<uInt>(part.size());
    int result = Z_OK;
    do {
      const size_t before = out.size();
      out.resize(before + grown_bytes);
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + before);
      stream_.avail_out = grown_bytes;
      result = ::deflate(&stream_, is_last ? Z_FINISH : Z_NO_FLUSH);
      CHECK(result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR);
      out.resize(before + grown_bytes - stream_.avail_out);
    } while (is_last ? result != Z_STREAM_END : stream_.avail_in > 0);
  }

 private:
  static constexpr uInt grown_bytes = 16 << 10;

  z_stream stream_ = {};
  bool is_there_ = false;
};

bool is_text(std::string_view content_type) {
  return content_type.starts_with("text/") || content_type.starts_with("application/json") ||
         content_type.starts_with("application/openmetrics-text");
}

bool is_worth_packing(const Response& response) {
  const bool is_packed = std::ranges::any_of(
      response.fields, [](const auto& field) { return field.first == "Content-Encoding"; });
  return response.status == Status::Ok && !response.is_endless && !is_packed &&
         response.body.size() >= packed_from_bytes && is_text(response.content_type);
}

class GzipAnswer final : public Answer {
 public:
  explicit GzipAnswer(std::unique_ptr<Answer> plain) : plain_(std::move(plain)) {}

  Step step() override {
    if (!response_) {
      plain_->wake = wake;
      if (const Step made = plain_->step(); made != Step::Whole) return made;
      response_ = plain_->take();
      if (is_worth_packing(*response_)) packer_.emplace();
      if (packer_ && !packer_->is_there()) packer_.reset();
      // Its end may need the loop, and whoever packs may be another thread.
      if (packer_) plain_.reset();
    }
    return packer_ ? pack_part() : Step::Whole;
  }
  Response take() override { return *std::exchange(response_, std::nullopt); }
  bool is_apart() const override { return response_ ? packer_.has_value() : plain_->is_apart(); }
  std::string more() override { return plain_->more(); }
  bool is_over() override { return plain_->is_over(); }
  bool ends_with_client() const override { return plain_ != nullptr && plain_->ends_with_client(); }

 private:
  Step pack_part() {
    const std::string_view rest = std::string_view(response_->body).substr(read_);
    const std::string_view part = rest.substr(0, bytes_of_step);
    read_ += part.size();
    const bool is_last = part.size() == rest.size();
    packer_->pack(part, is_last, packed_);
    if (!is_last) return Step::Again;
    packer_.reset();
    response_->body = std::move(packed_);
    response_->fields.emplace_back("Content-Encoding", "gzip");
    response_->fields.emplace_back("Vary", "Accept-Encoding");
    return Step::Whole;
  }

  std::unique_ptr<Answer> plain_;     // Null: its response is being packed.
  std::optional<Response> response_;  // It is whole, and is being packed.
  std::optional<Packer> packer_;
  size_t read_ = 0;  // Of the body.
  std::string packed_;
};

}  // namespace

bool accepts_gzip(const Request& request) {
  for (const std::string_view item : common::list_items(request.field("accept-encoding"))) {
    if (common::trimmed(item.substr(0, item.find(';'))) != "gzip") continue;
    const size_t at = std::min(item.find("q="), item.find("Q="));
    if (at == std::string_view::npos) return true;
    double weight = 0;  // One of 0 refuses it.
    const std::string_view number = item.substr(at + 2);
    std::from_chars(number.data(), number.data() + number.size(), weight);
    return weight > 0;
  }
  return false;
}

std::unique_ptr<Answer> make_gzip_answer(std::unique_ptr<Answer> plain) {
  return std::make_unique<GzipAnswer>(std::move(plain));
}

}  // namespace perennial::http
