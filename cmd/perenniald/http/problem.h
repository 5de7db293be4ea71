#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "cmd/perenniald/access/users.h"
#include "cmd/perenniald/http/message.h"

// Errors of HTTP as RFC 9457 has them: application/problem+json, whatever refuses a request.
namespace perennial::http {

// {"type", "title", "status", "detail", "error"}, and the members of `more`, an object. `type` is
// about:blank, so `title` is the meaning of the status. `detail` is a sentence for people. `error`
// is a word for programs, which follows from the status and stays.
Response problem_response(Status status, std::string_view detail,
                          const nlohmann::ordered_json& more = nlohmann::ordered_json::object());

// What no grant of the user allows, in words: the verb that is missing, and a grant that gives it.
// Verbs of the server belong to no tube. `subject`: access::subject_of. Empty: all tubes.
std::string forbidden_text(access::Verb missing, std::string_view subject);

}  // namespace perennial::http
