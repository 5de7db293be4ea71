#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cmd/common/token.h"

// Who may use the server, and for what. Without users everybody may do everything, as in
// beanstalkd. etc/docs/security.md
namespace perennial::access {

// What a grant allows. rules.cc says which command needs which.
enum class Verb : uint8_t {
  Produce,  // Put jobs into a tube.
  Consume,  // Reserve the jobs of a tube, and finish them.
  Inspect,  // Look at a tube and its jobs.
  Manage,   // Kick, change, move, flush; pause and set the tube.
  Monitor,  // See the statistics of the server and of every tube. Belongs to no tube.
  // Look after the server: drain, checkpoints, reload, connections, the audit, other nodes. Belongs
  // to no tube.
  Admin,
};
struct VerbRow {
  Verb verb;
  std::string_view name;
  bool is_of_tubes;
};
inline constexpr std::array verb_rows = {
    VerbRow{Verb::Produce, "produce", true},  VerbRow{Verb::Consume, "consume", true},
    VerbRow{Verb::Inspect, "inspect", true},  VerbRow{Verb::Manage, "manage", true},
    VerbRow{Verb::Monitor, "monitor", false}, VerbRow{Verb::Admin, "admin", false},
};
std::optional<Verb> verb_named(std::string_view name);
constexpr std::string_view name_of(Verb verb) {
  return verb_rows[static_cast<size_t>(verb)].name;
}

class VerbSet {
 public:
  constexpr VerbSet() = default;
  constexpr VerbSet(std::initializer_list<Verb> verbs) {
    for (const Verb verb : verbs) add(verb);
  }
  constexpr void add(Verb verb) { bits_ |= bit(verb); }
  constexpr void add(VerbSet verbs) { bits_ |= verbs.bits_; }
  constexpr bool holds(Verb verb) const { return (bits_ & bit(verb)) != 0; }
  constexpr bool holds_any(VerbSet verbs) const { return (bits_ & verbs.bits_) != 0; }
  constexpr bool holds_all(VerbSet verbs) const { return (verbs.bits_ & ~bits_) == 0; }
  constexpr bool empty() const { return bits_ == 0; }
  // REQUIRES: it is not empty.
  constexpr Verb first() const { return static_cast<Verb>(std::countr_zero(bits_)); }
  constexpr bool operator==(const VerbSet&) const = default;

 private:
  static constexpr uint8_t bit(Verb verb) {
    return static_cast<uint8_t>(1u << static_cast<unsigned>(verb));
  }
  uint8_t bits_ = 0;
};

// Whether a tube's name fits a pattern, in which each "*" stands for any bytes, also for none. It
// does not recurse, and takes at most the product of the two lengths.
bool fits_pattern(std::string_view pattern, std::string_view name);
inline constexpr size_t pattern_bytes_max = 200;

// Allows verbs on the tubes that fit one of the patterns.
struct Grant {
  std::vector<std::string> tubes;
  VerbSet verbs;

  bool operator==(const Grant&) const = default;
};

// The names in a client's certificate.
struct CertificateNames {
  std::vector<std::string> uris = {};  // Of the subjectAltName.
  std::vector<std::string> dns = {};   // Of the subjectAltName.
  std::string common_name = {};        // Empty: there is none.
};

// The process at the other end of a unix socket, when it connected.
struct PeerProcess {
  uint32_t uid = 0;
  uint32_t gid = 0;
};

// How a client has shown who it is. monostate: it has not. UserName: its listener belongs to that
// user.
struct UserName {
  std::string name;
};
using Identity =
    std::variant<std::monostate, UserName, CertificateNames, PeerProcess, common::TokenRecord>;

struct User {
  std::string name;
  std::vector<common::TokenRecord> tokens = {};
  // Whole names: "spiffe://corp/mailer", "mailer.corp.example", "CN=mailer".
  std::vector<std::string> certificates = {};
  std::vector<uint32_t> uids = {};
  std::vector<uint32_t> gids = {};
  std::vector<Grant> grants = {};

  bool operator==(const User&) const = default;

  // The verbs that the grants allow on a tube, and those that belong to no tube.
  VerbSet verbs_on(std::string_view tube) const;
  // Whether a verb is allowed on every tube, also on those that do not exist yet.
  bool may_everywhere(Verb verb) const;
  // Whether any grant has the verb, on whatever tubes. Of a verb that belongs to no tube that says
  // all.
  bool may(Verb verb) const;
};

// All users. It never changes: a new configuration makes another one.
class Users {
 public:
  // Returns every problem: two users of one name, with one token id, certificate or process.
  static std::vector<std::string> problems(const std::vector<User>& users);
  // REQUIRES: problems() finds none.
  explicit Users(std::vector<User> users);

  // Each returns null if there is no such user.
  const User* find(std::string_view name) const;
  // Hashes the token, and compares, whether the id is known or not.
  const User* by_token(std::string_view token) const;
  // The names of the first kind that the certificate has decide: URIs, then DNS names, then the CN.
  const User* by_certificate(const CertificateNames& names) const;
  // A uid goes before a gid.
  const User* by_process(const PeerProcess& peer) const;

  // Of a token only the record is known here.
  const User* by_identity(const Identity& identity) const;

  const std::vector<User>& all() const { return users_; }

 private:
  struct OfToken {
    const User* user;
    common::TokenHash hash;
  };

  const std::vector<User> users_;
  std::map<std::string, const User*, std::less<>> by_name_;
  std::map<std::string, OfToken, std::less<>> by_token_id_;
  std::map<std::string, const User*, std::less<>> by_certificate_;
  std::map<uint32_t, const User*> by_uid_;
  std::map<uint32_t, const User*> by_gid_;
};

}  // namespace perennial::access
