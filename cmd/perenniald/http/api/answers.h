#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cmd/perenniald/http/answer.h"
#include "cmd/perenniald/http/api/json.h"
#include "cmd/perenniald/http/sign_in.h"

// The answers that most requests get.
namespace perennial::http {

// How many rows a page has unless the request says it, and at most.
inline constexpr uint64_t page_default = 100;
inline constexpr uint64_t page_max = 1'000;

inline std::unique_ptr<Answer> answer_with(const Json& value) {
  return answer_now(json_response(Status::Ok, value));
}
inline std::unique_ptr<Answer> refuse(Status status, std::string_view message) {
  return answer_now(problem_response(status, message));
}
inline std::unique_ptr<Answer> not_found(std::string_view message) {
  return refuse(Status::NotFound, message);
}

// What the caller may do with the server as a whole, and whether it may inspect any tube.
inline Json may_json(const Caller& caller) {
  return {{"monitor", caller.may(access::Verb::Monitor)},
          {"admin", caller.may(access::Verb::Admin)},
          {"inspect", caller.may(access::Verb::Inspect)}};
}
// What it may do with one tube.
inline Json may_json(const Caller& caller, std::string_view tube) {
  const access::VerbSet verbs =
      caller.user != nullptr ? caller.user->verbs_on(tube) : access::VerbSet();
  Json may = Json::object();
  for (const access::VerbRow& row : access::verb_rows) {
    if (!row.is_of_tubes) continue;
    may[std::string(row.name)] = caller.users == nullptr || verbs.holds(row.verb);
  }
  return may;
}
inline Json user_json(const Caller& caller) {
  return caller.user != nullptr ? Json(caller.user->name) : Json(nullptr);
}

}  // namespace perennial::http
