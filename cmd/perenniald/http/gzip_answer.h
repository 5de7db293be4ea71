#pragma once

#include <memory>

#include "cmd/perenniald/http/answer.h"
#include "cmd/perenniald/http/message.h"

namespace perennial::http {

// Whether the client takes gzip: the field Accept-Encoding (RFC 9110, 12.5.3).
bool accepts_gzip(const Request& request);

// The same response with its body in gzip, if it is a text of 1,400 bytes or more and has an end;
// else as it is. It is packed in steps, as it is made. For answers to GET: a response that gives
// away a secret is not one, so its length tells nobody anything (BREACH).
std::unique_ptr<Answer> make_gzip_answer(std::unique_ptr<Answer> plain);

}  // namespace perennial::http
