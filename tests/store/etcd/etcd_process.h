#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/support/temp_dir.h"

namespace perennial::store::etcd {

// Whether the programs of etcd are there: beside the test, or where ETCD and ETCDCTL say.
bool etcd_is_present();

// Real members of one etcd cluster on the loopback interface, with their data in memory where that
// is possible. The destructor kills them.
class EtcdCluster {
 public:
  // The flags are added to those of each member. With https they hold the certificate.
  explicit EtcdCluster(size_t members, std::vector<std::string> flags = {},
                       std::string scheme = "http");
  ~EtcdCluster();
  EtcdCluster(const EtcdCluster&) = delete;
  EtcdCluster& operator=(const EtcdCluster&) = delete;

  const std::vector<std::string>& endpoints() const { return endpoints_; }
  // Starts a member that has ended, with its data.
  void start(size_t member);
  void signal(size_t member, int number) const;
  // Ends it with SIGKILL and waits for that.
  void kill_now(size_t member);
  // Runs etcdctl on the first member. Returns whether it succeeded.
  bool control(const std::vector<std::string>& arguments) const;
  std::string log() const;

 private:
  struct Member {
    uint16_t client_port = 0;
    uint16_t peer_port = 0;
    pid_t pid = -1;
  };
  std::vector<std::string> arguments(size_t member) const;

  std::vector<std::string> flags_;
  std::string scheme_;
  support::TempDir dir_;
  std::vector<Member> members_;
  std::vector<std::string> endpoints_;
};

}  // namespace perennial::store::etcd
