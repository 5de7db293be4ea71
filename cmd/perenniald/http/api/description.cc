#include "cmd/perenniald/http/api/description.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "engine/types/check.h"

namespace perennial::http {
namespace {

std::string in_small_letters(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

Json reference(std::string_view kind, std::string_view name) {
  return {{"$ref", fmt::format("#/components/{}/{}", kind, name)}};
}

// Whether this status can be an answer.
using Applies = bool (*)(const Api::Route& route, const Json& operation);
struct ErrorRow {
  std::string_view status;
  std::string_view meaning;
  Applies applies;
};

bool has_body(const Api::Route& /*route*/, const Json& operation) {
  return operation.contains("requestBody");
}

// Refusals that belong to one path alone, such as 409, are in openapi.json.
constexpr ErrorRow error_rows[] = {
    {"400", "The request is not well-formed, or has a value or a parameter that is none.",
     [](const Api::Route&, const Json&) { return true; }},
    {"401", "The caller has not signed in, or shows a token that no user has.",
     [](const Api::Route& route, const Json&) { return !route.is_open; }},
    {"403", "No grant of the user allows it, or a page of another site asks.",
     [](const Api::Route& route, const Json&) {
       return route.method != "GET" || !route.needs.is_nothing();
     }},
    {"404", "What the path or the query names is not there, or the user may not see it.",
     [](const Api::Route& route, const Json&) {
       const bool is_judged = !route.needs.is_nothing() && !route.needs.verb();
       return route.path.find('{') != std::string_view::npos || is_judged;
     }},
    {"413", "The body is too large.", has_body},
    {"415", "The body is not application/json.", has_body},
    {"429", "Too many requests come from this address, or too much of this kind is under way.",
     [](const Api::Route&, const Json&) { return true; }},
    {"503",
     "The server does not do this now: it loads the jobs, is a standby, is draining, or is full.",
     [](const Api::Route& route, const Json&) { return !route.is_early; }},
};
constexpr std::string_view other_error = "Any other error.";

Json json_content(Json schema) {
  return {{"application/json", {{"schema", std::move(schema)}}}};
}

Json problem_content() {
  return {{"application/problem+json", {{"schema", reference("schemas", "Problem")}}}};
}

// A schema with properties is an object, which has no other ones. All must be there, unless the
// schema lists those that must.
void complete_schemas(Json& value) {
  if (value.is_object() && value.contains("properties")) {
    Json names = Json::array();
    for (const auto& [name, property] : value["properties"].items()) names.push_back(name);
    for (Json& property : value["properties"]) complete_schemas(property);
    if (!value.contains("required")) value["required"] = std::move(names);
    value["type"] = "object";
    value["additionalProperties"] = false;
    return;
  }
  if (!value.is_structured()) return;
  for (Json& inner : value) complete_schemas(inner);
}

// Makes a value that fits a schema: from its examples, or else from its type.
class ExampleMaker {
 public:
  explicit ExampleMaker(const Json& schemas) : schemas_(schemas) {}

  Json of(const Json& schema) const {
    if (schema.contains("$ref")) {
      const std::string name = schema["$ref"];
      return of(schemas_.at(name.substr(name.rfind('/') + 1)));
    }
    if (schema.contains("examples")) return schema["examples"].front();
    if (schema.contains("default")) return schema["default"];
    if (schema.contains("enum")) return schema["enum"].front();
    for (const char* const choice : {"oneOf", "anyOf"}) {
      if (schema.contains(choice)) return of_choice(schema[choice]);
    }
    const Json& type = schema["type"];
    return of_type(schema, type.is_array() ? type.front() : type);
  }

 private:
  Json of_choice(const Json& choices) const {
    const auto is_value = [](const Json& each) { return each.value("type", Json()) != "null"; };
    return of(*std::ranges::find_if(choices, is_value));
  }

  Json of_type(const Json& schema, const std::string& type) const {
    if (type == "object") return of_object(schema);
    if (type == "array") return Json::array({of(schema["items"])});
    if (type == "boolean") return false;
    if (type == "null") return nullptr;
    if (type == "string") return schema.contains("pattern") ? "1" : "";
    return schema.contains("minimum") ? schema["minimum"] : Json(0);
  }

  // Properties that may be left out are there if they have an example.
  Json of_object(const Json& schema) const {
    Json out = Json::object();
    if (!schema.contains("properties")) return out;
    const Json& required = schema["required"];
    for (const auto& [name, property] : schema["properties"].items()) {
      const bool is_required =
          std::find(required.begin(), required.end(), Json(name)) != required.end();
      if (is_required || property.contains("examples")) out[name] = of(property);
    }
    return out;
  }

  const Json& schemas_;
};

// {"schema": ...} stands for content of JSON, which gets an example.
void complete_content(Json& holder, const ExampleMaker& examples) {
  if (!holder.contains("schema")) return;
  Json content = json_content(std::move(holder["schema"]));
  if (holder.contains("content")) content.update(holder["content"]);
  Json& json = content["application/json"];
  json["example"] = holder.contains("example") ? holder["example"] : examples.of(json["schema"]);
  holder.erase("schema");
  holder.erase("example");
  holder["content"] = std::move(content);
}

Json path_parameters(std::string_view path) {
  Json parameters = Json::array();
  for (size_t at = path.find('{'); at != std::string_view::npos; at = path.find('{', at + 1)) {
    const size_t end = path.find('}', at);
    parameters.push_back(reference("parameters", path.substr(at + 1, end - at - 1)));
  }
  return parameters;
}

// In ascending order, with what all paths have in common.
Json all_responses(const Api::Route& route, const Json& operation, const ExampleMaker& examples) {
  std::map<std::string, Json, std::less<>> responses;
  for (const auto& [status, written] : operation["responses"].items()) {
    Json response = written;
    if (!response.contains("description")) response["description"] = "The answer.";
    if (status[0] >= '4') response["content"] = problem_content();
    complete_content(response, examples);
    responses[status] = std::move(response);
  }
  for (const ErrorRow& error : error_rows) {
    if (error.applies(route, operation) && !responses.contains(error.status)) {
      responses[std::string(error.status)] = reference("responses", error.status);
    }
  }
  Json out = Json::object();
  for (auto& [status, response] : responses) out[status] = std::move(response);
  out["default"] = reference("responses", "default");
  return out;
}

void complete_operation(Json& operation, const Api::Route& route, const ExampleMaker& examples) {
  operation["responses"] = all_responses(route, operation, examples);
  Json parameters = path_parameters(route.path);
  if (operation.contains("parameters")) {
    for (Json& written : operation["parameters"]) parameters.push_back(std::move(written));
  }
  if (!parameters.empty()) operation["parameters"] = std::move(parameters);
  if (operation.contains("requestBody")) {
    operation["requestBody"]["required"] = true;
    complete_content(operation["requestBody"], examples);
  }
  operation["x-needs"] = text_of(route.needs);
  if (route.is_open) operation["security"] = Json::array();
}

const Json& document() {
  static const Json whole = describe(Json::parse(written_description()), Api::routes());
  return whole;
}

std::set<std::string, std::less<>> query_parameters_of(const Json& document,
                                                       const Api::Route& route) {
  std::set<std::string, std::less<>> names;
  const Json& paths = document["paths"];
  const auto path = paths.find(std::string(route.path));
  if (path == paths.end() || !path->contains(in_small_letters(route.method))) return names;
  const Json& operation = (*path)[in_small_letters(route.method)];
  if (!operation.contains("parameters")) return names;
  for (const Json& written : operation["parameters"]) {
    const Json* parameter = &written;
    if (written.contains("$ref")) {
      const std::string name = written["$ref"];
      parameter = &document["components"]["parameters"][name.substr(name.rfind('/') + 1)];
    }
    if ((*parameter)["in"] == "query") names.insert((*parameter)["name"]);
  }
  return names;
}

Json error_responses() {
  Json responses = Json::object();
  const auto add = [&](std::string_view name, std::string_view meaning) {
    responses[std::string(name)] = {{"description", meaning}, {"content", problem_content()}};
  };
  for (const ErrorRow& error : error_rows) add(error.status, error.meaning);
  add("default", other_error);
  return responses;
}

}  // namespace

Json describe(Json document, std::span<const Api::Route> routes) {
  complete_schemas(document["components"]["schemas"]);
  complete_schemas(document["paths"]);
  document["components"]["responses"] = error_responses();
  const ExampleMaker examples(document["components"]["schemas"]);
  for (const Api::Route& route : routes) {
    const std::string method = in_small_letters(route.method);
    const auto path = document["paths"].find(std::string(route.path));
    if (path == document["paths"].end() || !path->contains(method)) continue;
    complete_operation((*path)[method], route, examples);
  }
  return document;
}

const std::string& api_description() {
  static const std::string text = dumped(document());
  return text;
}

const std::set<std::string, std::less<>>& query_parameters(const Api::Route& route) {
  using Names = std::set<std::string, std::less<>>;
  static const auto all = [] {
    std::map<std::pair<std::string_view, std::string_view>, Names> names;
    for (const Api::Route& each : Api::routes()) {
      names[{each.method, each.path}] = query_parameters_of(document(), each);
    }
    return names;
  }();
  return all.at({route.method, route.path});
}

}  // namespace perennial::http
