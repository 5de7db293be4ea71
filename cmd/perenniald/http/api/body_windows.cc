#include "cmd/perenniald/http/api/body_windows.h"

#include <utility>

namespace perennial::http {

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
