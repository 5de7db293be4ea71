#pragma once

#include <string>
#include <vector>

#include "cmd/perenniald/access/users.h"
#include "cmd/perenniald/config/config.h"

// Who gets in where, as whom, and may do what: --print-access, and `perennial users check`.
namespace perennial::perenniald {

struct AccessReport {
  struct Listener {
    std::string address;
    std::string kind;     // "plain", "TLS", "unix socket", "HTTP" or "HTTPS".
    std::string ways_in;  // How its clients show who they are, or who everybody is.
  };

  struct User {
    std::string name;
    std::vector<std::string> shows;       // "token ID", "certificate NAME", "uid N", "gid N".
    std::vector<std::string> gets_in_at;  // Addresses.
    std::vector<std::string> may;         // "VERBS on TUBES", "VERBS of the server".
  };

  std::vector<Listener> listeners;
  bool has_users = false;  // Otherwise everybody may do everything.
  std::vector<User> users;
  std::vector<std::string> remarks;  // On what is hardly meant, as a user who gets in nowhere.
};

// `users` is null if there are none.
AccessReport access_report(const Config& config, const access::Users* users);

// For people, and as one object; both end with a newline.
std::string to_text(const AccessReport& report);
std::string to_json(const AccessReport& report);

}  // namespace perennial::perenniald
