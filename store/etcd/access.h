#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "store/etcd/etcd.h"

namespace perennial::store::etcd {

// The token with which calls show whose they are, and the calls that wait for one. Without a user
// there is nothing to wait for.
class Access {
 public:
  using Go = std::function<void(std::optional<Failure>)>;
  using WaitId = uint64_t;

  // `fetch` asks etcd for a token, and has set() or fail() called when etcd has answered.
  Access(Executor& executor, bool has_user, std::function<void()> fetch);
  // Calls none that wait.
  ~Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

  // Calls `go` at once where there is a token or none is needed. Otherwise it is called later, at
  // `deadline` at the latest, with a failure if there is no token then.
  WaitId when_ready(Nanos deadline, Go go);
  // `go` is not called any more. Does nothing if it was called.
  void cancel(WaitId wait);

  const std::string& token() const { return token_; }
  // Empty: etcd wants none.
  void set(std::string token);
  void fail(const Failure& failure);
  // etcd does not take this token any more. Later calls wait for a new one.
  void forget(const std::string& token);
  // Another user, or none, calls from now on.
  void change_user(bool has_user);

 private:
  struct Waiting {
    TimerId timer = 0;
    Go go;
  };

  void release_all(const std::optional<Failure>& failure);
  void release(WaitId wait, std::optional<Failure> failure);

  Executor& executor_;
  bool has_user_;
  const std::function<void()> fetch_;
  bool is_ready_;
  bool is_fetching_ = false;
  std::string token_;
  std::map<WaitId, Waiting> waiting_;
  WaitId next_wait_ = 1;
};

}  // namespace perennial::store::etcd
