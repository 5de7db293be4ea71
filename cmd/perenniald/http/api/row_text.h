#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cmd/perenniald/http/api/json.h"

namespace perennial::http {

// The rows of a page as bytes. They are made in steps, because a thousand rows take 20 ms.
class RowText {
 public:
  // So many rows take less than a millisecond.
  static constexpr size_t rows_per_step = 25;

  void add(const Json& row) {
    if (!text_.empty()) text_ += ',';
    text_ += dumped(row);
  }
  // {others, "name": [rows]}. REQUIRES: there are others.
  Response response(std::string_view name, const Json& others) const {
    std::string body = dumped(others);
    body.pop_back();
    body.reserve(body.size() + text_.size() + name.size() + 8);
    fmt::format_to(std::back_inserter(body), ",\"{}\":[{}]}}\n", name, text_);
    return {.status = Status::Ok, .content_type = "application/json", .body = std::move(body)};
  }

 private:
  std::string text_;
};

}  // namespace perennial::http
