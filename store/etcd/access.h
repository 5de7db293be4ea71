#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "store/etcd/etcd.h"

namespace perennial::store::etcd {

// The authentication token of calls, and the calls that wait for one. Without a user no token is
// needed, and no call waits.
class Access {
 public:
  using Go = std::function<void(std::optional<Failure>)>;
  using WaitId = uint64_t;

  // `fetch` requests a token from etcd. set() or fail() must be called when etcd has answered.
  Access(Executor& executor, bool has_user, std::function<void()> fetch);
  // Drops the calls that wait, without calling them.
  ~Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

  // Calls `go` at once if there is a token or none is needed. Otherwise calls it later, by
  // `deadline` at the latest, with a failure if there is still no token.
  WaitId when_ready(Nanos deadline, Go go);
  // `go` is not called any more. Does nothing if it was called.
  void cancel(WaitId wait);

  const std::string& token() const { return token_; }
  // Empty: etcd has authentication switched off.
  void set(std::string token);
  void fail(const Failure& failure);
  // etcd does not accept this token any more. Later calls wait for a new one.
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
