#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/perenniald/http/api/json.h"
#include "cmd/perenniald/http/message.h"
#include "engine/types/basic.h"
#include "engine/types/option_values.h"

// What a request of the API says, in its query or in the JSON of its body.
namespace perennial::http {

// The deepest JSON that is read (T32).
inline constexpr int json_depth_max = 64;
// The most members of all objects of a request together, and of each object of an array. None needs
// more than a tenth of them.
inline constexpr int json_members_max = 200;

// Whether the body has a JSON object in each line, or is the bytes of a job.
bool is_lines(const Request& request);
bool is_bytes(const Request& request);
// Whether the body is an array.
bool is_array(const Request& request);

// Takes the token out of the body of a sign-in, {"token": "..."}: a parser of JSON would leave
// copies of it in memory. The other text stays in its place. Empty: there is none that has the
// letters of a token; then the body is as it was.
common::SecretText take_token(common::SecretText& body);

// Reads the members of a JSON object. Whoever has taken all members that a request may have asks
// problem(): a member of another name is one, too.
class Fields {
 public:
  explicit Fields(const Request& request);
  // The parameters of a query as members: a number where a member of that name is one.
  static Fields of_query(std::string_view query);
  // The objects of a body that is an array or has them in its lines, in their order. Where those
  // are not 1 to `most` objects, `refusal` says so.
  static std::vector<Fields> of_array(const Request& request, size_t most,
                                      std::optional<Response>& refusal);

  // Each returns nothing if there is no such member. A member of another type, or out of its range,
  // is a problem.
  std::optional<std::string> text(const std::string& name);
  std::optional<uint64_t> number(const std::string& name, uint64_t max);
  // Seconds, with fractions. A number that is not 0 must be at least `least`.
  std::optional<Nanos> seconds(const std::string& name, Nanos least = 0);
  std::optional<std::string> tube(const std::string& name);
  // A list of ids of jobs, 1 to `most`, which must be there.
  std::vector<JobId> ids(const std::string& name, size_t most);
  std::optional<bool> yes_or_no(const std::string& name);
  std::optional<StateSet> states(const std::string& name);
  // How jobs have ended.
  std::optional<EndSet> ends(const std::string& name);
  // Reads the members of an object by `read`, which gets them as Fields of their own. Returns
  // whether there is such a member.
  template <typename Read>
  bool object(const std::string& name, Read read) {
    std::optional<Fields> fields = object_named(name);
    if (!fields) return false;
    read(*fields);
    take_problem(*fields);
    return true;
  }

  void add_problem(std::string_view text);
  // Why the request is refused: 400, or 415 for a body that is no JSON. None: it is not.
  std::optional<Response> problem();
  // The same in words, of an object within the body. Empty: none.
  const std::string& problem_text();

 private:
  Fields() = default;
  void refuse(std::string_view why);
  const Json* find(const std::string& name);
  std::optional<Fields> object_named(const std::string& name);
  void take_problem(Fields& inner);
  // The first member that nobody has asked for is a problem.
  void look_for_unknown();

  Json object_ = Json::object();
  std::set<std::string> known_;
  std::optional<Response> refusal_;
  std::string problem_;  // The first.
};

// Reads the parameters of a query. A bad one is a problem.
class Query {
 public:
  // `query` outlives this.
  explicit Query(std::string_view query) : query_(query) {}

  // None: the query does not name it.
  std::optional<std::string> text(std::string_view name);
  // The same of what people write: as forms and most libraries send it, a "+" is a space and "%2B"
  // a plus. Names of tubes may have a plus and have no space, so theirs are what they are.
  std::optional<std::string> words(std::string_view name);
  uint64_t number(std::string_view name, uint64_t otherwise, uint64_t min, uint64_t max);
  void add_problem(std::string text) { problem_ = std::move(text); }
  const std::string& problem() const { return problem_; }

 private:
  std::optional<std::string> decoded(std::string_view name, const std::vector<std::string>& values);

  const std::string_view query_;
  std::string problem_;
};

// Of a query: "100". None: it is no number up to `max`.
std::optional<uint64_t> number_of(std::string_view text, uint64_t max);
// "ready,buried".
std::optional<StateSet> states_of(std::string_view text);
// "deleted,flushed".
std::optional<EndSet> ends_of(std::string_view text);
std::vector<std::string> names_of(StateSet states);
std::vector<std::string> names_of(EndSet ends);

}  // namespace perennial::http
