#include "cmd/perenniald/http/problem.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "engine/types/check.h"

namespace perennial::http {
namespace {

struct Row {
  Status status;
  std::string_view title;  // RFC 9110, 15, and RFC 6585.
  std::string_view error;
};
constexpr std::array problem_rows = {
    Row{Status::BadRequest, "Bad Request", "bad_request"},
    Row{Status::Unauthorized, "Unauthorized", "unauthorized"},
    Row{Status::Forbidden, "Forbidden", "forbidden"},
    Row{Status::NotFound, "Not Found", "not_found"},
    Row{Status::MethodNotAllowed, "Method Not Allowed", "method_not_allowed"},
    Row{Status::RequestTimeout, "Request Timeout", "timeout"},
    Row{Status::Conflict, "Conflict", "conflict"},
    Row{Status::ContentTooLarge, "Content Too Large", "too_large"},
    Row{Status::UnsupportedMediaType, "Unsupported Media Type", "unsupported_media_type"},
    Row{Status::MisdirectedRequest, "Misdirected Request", "misdirected_request"},
    Row{Status::TooManyRequests, "Too Many Requests", "too_many_requests"},
    Row{Status::FieldsTooLarge, "Request Header Fields Too Large", "fields_too_large"},
    Row{Status::NotImplemented, "Not Implemented", "not_implemented"},
    Row{Status::ServiceUnavailable, "Service Unavailable", "unavailable"},
    Row{Status::VersionNotSupported, "HTTP Version Not Supported", "version_not_supported"},
};

const Row& row_of(Status status) {
  const auto* const row = std::ranges::find(problem_rows, status, &Row::status);
  CHECK(row != problem_rows.end());
  return *row;
}

}  // namespace

Response problem_response(Status status, std::string_view detail,
                          const nlohmann::ordered_json& more) {
  const Row& row = row_of(status);
  nlohmann::ordered_json problem = {{"type", "about:blank"},
                                    {"title", row.title},
                                    {"status", static_cast<unsigned>(status)},
                                    {"detail", detail},
                                    {"error", row.error}};
  problem.update(more);
  return {.status = status,
          .content_type = "application/problem+json",
          .body = problem.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
                  "\n"};
}

std::string forbidden_text(access::Verb missing, std::string_view subject) {
  const access::VerbRow& row = access::verb_rows[static_cast<size_t>(missing)];
  std::string where;
  std::string tubes = "\"*\"";
  if (row.is_of_tubes && subject.empty()) {
    where = " on every tube";
  } else if (row.is_of_tubes && subject.find(' ') != std::string_view::npos) {
    where = fmt::format(" on the tube of {}", subject);  // "job 7".
    tubes = "TUBE";
  } else if (row.is_of_tubes) {
    where = fmt::format(" on the tube {}", subject);
    tubes = fmt::format("\"{}\"", subject);
  }
  return fmt::format(
      "No grant of the user allows this. It needs the verb {}{}. A grant that gives it: "
      "{{tubes: [{}], verbs: [{}]}}.",
      row.name, where, tubes, row.name);
}

}  // namespace perennial::http
