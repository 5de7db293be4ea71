#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cmd/perenniald/http/routes/routes.h"
#include "tests/support/core_harness.h"

namespace perennial::http {

// The bytes of a GET.
std::string get(const std::string& path, const std::string& fields = "Host: localhost\r\n");

// The HTTP port above core and its fakes, without connections: a request is given to the routes,
// and its answer is made while core does what that needs.
class Port : public testing::Test {
 protected:
  Port();

  // The bytes of the response to these bytes.
  std::string ask(const std::string& bytes);
  struct Got {
    unsigned status = 0;
    std::map<std::string, std::string, std::less<>> fields;
    std::string body;

    nlohmann::json json() const { return nlohmann::json::parse(body, nullptr, false); }
  };
  Got got(const std::string& bytes);
  Got get_from(const std::string& path) { return got(get(path)); }
  // A change, as a program that is no browser asks for it.
  Got change(const std::string& method, const std::string& path, const std::string& body = "",
             const std::string& fields = "");
  // What a client of the queue is answered.
  std::string speak(const std::string& bytes);
  // An answer that is not whole yet, and stays open.
  std::unique_ptr<Answer> open(const std::string& bytes);
  // Does all steps that can be done now. Returns whether the answer is whole.
  bool run(Answer& answer);

  const std::string& route() const { return route_; }
  int steps() const { return steps_; }
  HealthFacts& health() { return health_; }

  // What core's audit says was refused: "user action subject".
  std::vector<std::string> refusals_;
  support::CoreHarness harness_;
  access::ClientRights rights_;                  // Of the connection.
  std::vector<std::function<void()>> searched_;  // What the pool has found.
  AuditLines audit_lines_;
  std::vector<FileRead> files_;  // What a reload reads.
  Workers* workers_ = nullptr;   // Null: all answers are made as if on the loop.
  std::vector<size_t> reads_;    // How many bodies were given to the pool at once.
  size_t lists_ = 0;             // How many lists of ended jobs were read.
  size_t waiters_max_ = 1'000;
  std::string address_ = "127.0.0.1:4711";
  QueueClients queue_;
  SignIns sign_ins_;
  Http::Counts counts_ = {{{"/livez", 200u}, 7}};
  bool accepts_puts_ = true;
  bool is_loaded_ = true;
  ClusterHealth cluster_;
  int handovers_ = 0;  // That were asked for.
  std::string handover_problem_;
  core::CommandTimes::Histograms commands_ = {};
  LatencyHistogram turns_;
  LatencyHistogram requests_;
  ServerFacts facts_;
  ServerLimits limits_;
  std::optional<ClusterFacts> cluster_facts_;

 private:
  // What the routes ask, from the members above.
  class Sources final : public RouteSources {
   public:
    explicit Sources(Port& port) : port_(port) {}

    engine::EngineView engine() override { return core().engine().view(); }
    ProcessFacts process() override;
    StoreFacts store() override;
    ServerFacts server() override { return port_.facts_; }
    ServerLimits limits() override { return port_.limits_; }
    Times times() override { return {port_.commands_, port_.turns_, port_.requests_}; }
    size_t memory_bytes() override { return 1000; }
    size_t output_bytes() override { return 10; }
    bool accepts_puts() override { return port_.accepts_puts_; }
    const Http::Counts& requests() override { return port_.counts_; }
    TubeChoice tubes() override { return {}; }
    size_t event_streams() override { return 0; }
    LeaseCounts leases() override { return {}; }
    std::optional<ClusterFacts> cluster_facts() override { return port_.cluster_facts_; }
    QueueClients& queue() override { return port_.queue_; }
    SignIns& sign_ins() override { return port_.sign_ins_; }
    Nanos now() override { return port_.harness_.now(); }
    bool is_loaded() override { return port_.is_loaded_; }
    ClusterHealth cluster_health() override { return port_.cluster_; }
    std::string ask_handover() override {
      ++port_.handovers_;
      return port_.handover_problem_;
    }
    size_t waiters_max() override { return port_.waiters_max_; }
    std::string address_of(ConnId /*conn*/) override { return port_.address_; }
    std::string_view user_of(ConnId conn) override { return core().user_of(conn); }
    size_t output_bytes_of(ConnId conn) override { return core().output_bytes(conn); }
    std::optional<uint64_t> operation_progress(ConnId conn) override {
      return core().operation_progress(conn);
    }
    const Body* schedule_body(const std::string& name) override {
      return core().schedule_body(name);
    }
    const Calendar* calendar() override { return core().calendar(); }
    Nanos wall() override { return now(); }
    bool close_connection(ConnId conn) override { return core().close_connection(conn); }
    void find_in_bodies(std::vector<JobId> jobs, std::function<bool(std::string_view)> is_wanted,
                        std::function<void(std::vector<JobId>)> done) override;
    void list_ended(EndedGroupsQuery query, std::function<void(EndedGroupsPage)> done) override {
      ++port_.lists_;
      core().list_ended_groups(std::move(query), std::move(done));
    }
    std::string configuration() override { return "listen: []\n"; }
    const AuditLines& audit_lines() override { return port_.audit_lines_; }
    void audit(const access::AuditEvent& event) override { port_.audit_lines_.add(event, now()); }
    void refused(const access::AuditEvent& event, std::optional<access::Verb> missing) override {
      core().gate().on_refused(event, missing, now());
    }
    std::vector<FileRead> reload() override { return port_.files_; }
    HealthFacts health() override { return port_.health_; }
    Workers* workers() override { return port_.workers_; }
    std::optional<Http::Handled> answer_node(const Request& request) override;

   private:
    core::Core& core() { return port_.harness_.core(); }

    Port& port_;
  };

  Sources sources_{*this};

 protected:
  Api api_{sources_};
  Routes routes_{sources_, api_, {"queue.test"}};

 private:
  // Fails if openapi.json does not list the status of an answer.
  void check_described(std::string method, unsigned status) const;

  bool woken_ = false;
  HealthFacts health_;
  std::string route_;
  int steps_ = 0;
};

}  // namespace perennial::http
