#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

// Runs part of a test in a forked child, so that it may crash. The parent receives what the child
// has sent before. The parent must never have run RocksDB, because fork() does not copy its
// threads.
namespace perennial::store {

// The pipe through which a child sends its reports.
class Pipe {
 public:
  explicit Pipe(int file) : file_(file) {}

  // Writes the report with one system call, so that a crash neither loses nor shortens it.
  template <typename Report>
  void send(const Report& report) const {
    send_bytes(&report, sizeof report);
  }
  void send_bytes(const void* bytes, size_t count) const;

 private:
  int file_;
};

struct ChildEnd {
  int signal = 0;  // The signal that ended the child, or 0.
  int exit_code = 0;
  std::string sent;

  // REQUIRES: the child has sent only reports of this type.
  template <typename Report>
  std::vector<Report> reports() const {
    std::vector<Report> out(sent.size() / sizeof(Report));
    if (!out.empty()) std::memcpy(out.data(), sent.data(), out.size() * sizeof(Report));
    return out;
  }
};

// A child that returns from `body` exits with 0, without destructors of static objects.
ChildEnd run_child(const std::function<void(const Pipe&)>& body);

}  // namespace perennial::store
