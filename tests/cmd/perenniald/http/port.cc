#include "tests/cmd/perenniald/http/port.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "cmd/perenniald/http/api/description.h"
#include "engine/types/check.h"
#include "tests/support/fake_calendar.h"

namespace perennial::http {

std::string get(const std::string& path, const std::string& fields) {
  return "GET " + path + " HTTP/1.1\r\n" + fields + "\r\n";
}

Port::Port()
    : harness_({.engine = {.calendar = std::make_shared<const support::FakeCalendar>()},
                .audit =
                    [this](const access::AuditEvent& event) {
                      if (!event.refused) return;
                      refusals_.push_back(
                          fmt::format("{} {} {}", event.user, event.action, event.subject));
                    }}),
      queue_({.open = [this](ConnId conn, const access::ClientRights& rights) -> core::Session& {
                return harness_.core().open(conn, harness_.now(), rights);
              },
              .now = [this] { return harness_.now(); }}),
      sign_ins_(harness_.core().gate(), [this] { return harness_.now(); }) {
  harness_.set_internal([this](ConnId conn) { queue_.on_changed(conn); });
}

ProcessFacts Port::Sources::process() {
  ProcessFacts facts;
  facts.version = "1.2.3";
  return facts;
}

StoreFacts Port::Sources::store() {
  StoreFacts facts;
  facts.state = "ok";
  return facts;
}

void Port::Sources::find_in_bodies(std::vector<JobId> jobs,
                                   std::function<bool(std::string_view)> is_wanted,
                                   std::function<void(std::vector<JobId>)> done) {
  std::vector<JobId> found;
  port_.reads_.push_back(jobs.size());
  for (const JobId job : jobs) {
    const auto body = port_.harness_.store().body(job);
    if (body && is_wanted(*body)) found.push_back(job);
  }
  port_.searched_.push_back([found, done] { done(found); });
}

std::optional<Http::Handled> Port::Sources::answer_node(const Request& request) {
  if (request.path != "/cluster/checkpoint") return std::nullopt;
  return Http::Handled{"/cluster/checkpoint", answer_now({.body = "a copy"})};
}

std::unique_ptr<Answer> Port::open(const std::string& bytes) {
  RequestParser parser;
  parser.add(bytes);
  const std::optional<Request> request = parser.next();
  if (!request) return nullptr;
  Http::Handled handled = routes_.handle(*request, rights_);
  route_ = handled.route;
  handled.answer->wake = [this] { woken_ = true; };
  return std::move(handled.answer);
}

bool Port::run(Answer& answer) {
  for (;;) {
    woken_ = false;
    ++steps_;
    const Answer::Step step = answer.step();
    if (step == Answer::Step::Whole) return true;
    harness_.pump();
    for (const auto& done : std::exchange(searched_, {})) done();
    if (step == Answer::Step::Waits && !woken_) return false;
  }
}

std::string Port::ask(const std::string& bytes) {
  const std::unique_ptr<Answer> answer = open(bytes);
  if (answer == nullptr) return "none";
  CHECK(run(*answer));
  const std::string out = render(answer->take(), true, bytes.starts_with("HEAD "));
  harness_.pump();
  return out;
}

Port::Got Port::got(const std::string& bytes) {
  const std::string out = ask(bytes);
  Got got;
  constexpr size_t status_at = std::string_view("HTTP/1.1 ").size();
  std::from_chars(out.data() + status_at, out.data() + status_at + 3, got.status);
  size_t at = out.find("\r\n") + 2;
  for (size_t end = out.find("\r\n", at); end != at; end = out.find("\r\n", at)) {
    const size_t colon = out.find(": ", at);
    std::string name = out.substr(at, colon - at);
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    got.fields[name] = out.substr(colon + 2, end - colon - 2);
    at = end + 2;
  }
  got.body = out.substr(at + 2);
  check_described(bytes.substr(0, bytes.find(' ')), got.status);
  return got;
}

void Port::check_described(std::string method, unsigned status) const {
  static const Json paths = Json::parse(api_description())["paths"];
  constexpr unsigned of_any_path[] = {405, 421};
  if (std::ranges::find(of_any_path, status) != std::end(of_any_path)) return;
  for (char& c : method) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (!paths.contains(route_) || !paths[route_].contains(method)) return;
  EXPECT_TRUE(paths[route_][method]["responses"].contains(fmt::format("{}", status)))
      << method << " " << route_ << " answers " << status;
}

Port::Got Port::change(const std::string& method, const std::string& path, const std::string& body,
                       const std::string& fields) {
  return got(fmt::format(
      "{} {} HTTP/1.1\r\nHost: localhost\r\n{}{}Content-Length: {}\r\n\r\n{}", method, path, fields,
      body.empty() ? "" : "Content-Type: application/json\r\n", body.size(), body));
}

std::string Port::speak(const std::string& bytes) {
  const ConnId conn = harness_.open();
  harness_.send(conn, bytes);
  std::string out = harness_.receive(conn);
  harness_.close(conn);
  return out;
}

}  // namespace perennial::http
