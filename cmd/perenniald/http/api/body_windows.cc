#include "cmd/perenniald/http/api/body_windows.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace perennial::http {

Response BodyWindow::of(JobId id, std::string_view body) const {
  const size_t begin = std::min<size_t>(offset_, body.size());
  return {.content_type = "application/octet-stream",
          .body = std::string(body.substr(begin, length_)),
          .fields = {{"Content-Disposition", fmt::format("attachment; filename=\"job-{}\"", id)},
                     {"Content-Security-Policy", "sandbox; default-src 'none'"},
                     {"Perennial-Body-Bytes", fmt::format("{}", body.size())}}};
}

const std::string* BodyWindows::find(JobId job, Nanos now) {
  if (job_ != job) return nullptr;
  used_ = now;
  return &body_;
}

void BodyWindows::keep(JobId job, std::string body, Nanos now) {
  if (body.capacity() > bytes_max_) return;
  job_ = job;
  body_ = std::move(body);
  used_ = now;
}

void BodyWindows::on_time(Nanos now) {
  if (job_ == 0 || now - used_ < life) return;
  job_ = 0;
  std::string().swap(body_);  // An assignment would keep the memory.
}

}  // namespace perennial::http
