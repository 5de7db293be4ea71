#include "cmd/perenniald/http/api/reserve_answer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cmd/perenniald/http/api/body_text.h"
#include "cmd/perenniald/http/api/commands.h"
#include "cmd/perenniald/http/api/job_view.h"
#include "cmd/perenniald/http/api/json.h"
#include "engine/types/check.h"

namespace perennial::http {
namespace {

// So much of bodies is made into text in less than a millisecond.
constexpr size_t body_bytes_per_step = 128 << 10;
constexpr size_t rows_per_step = 25;
// About what a row has besides its body.
constexpr size_t row_bytes = 4'096;
constexpr std::string_view rows_begin = "{\"reservations\":[";

class ReserveAnswer final : public Answer {
 public:
  ReserveAnswer(ApiSources& sources, Leases& leases, const Caller& caller, ReserveAsked asked)
      : sources_(sources),
        leases_(leases),
        caller_(caller),
        view_(sources, nullptr, caller),
        user_(caller.user != nullptr ? caller.user->name : std::string()),
        asked_(std::move(asked)),
        places_(asked_.count) {
    leases_.places().take(user_, places_);
    if (asked_.wait > 0) leases_.waiters().take(user_, 1);
  }
  ~ReserveAnswer() override {
    if (given_ != 0) leases_.give_back(given_);
    leases_.places().give_back(user_, places_);
    if (asked_.wait > 0) leases_.waiters().give_back(user_, 1);
  }

  Step step() override {
    if (reservation_ == nullptr && given_ == 0) begin();
    if (stage_ == Stage::Rows) return add_rows();
    collect();
    if (stage_ == Stage::Refused) return Step::Whole;
    return stage_ == Stage::Rows ? Step::Again : Step::Waits;
  }
  Response take() override {
    if (stage_ == Stage::Refused) return *std::exchange(refusal_, std::nullopt);
    Response response = {
        .status = Status::Ok, .content_type = "application/json", .body = std::move(rows_)};
    response.body += "]}\n";
    if (given_ != 0) {
      response.on_lost = [&leases = leases_, id = given_] { leases.give_back(id); };
      given_ = 0;
    }
    return response;
  }
  // Whoever closes its side while no job is there does not want one.
  bool ends_with_client() const override { return asked_.wait > 0; }

 private:
  enum class Stage : uint8_t { Watching, Reserving, Rows, Refused };

  void begin() {
    reservation_ = std::make_unique<Reservation>(sources_.queue(), caller_.rights, user_);
    reservation_->on_news = [this] { wake(); };
    QueueClient& client = reservation_->client();
    for (const std::string& tube : asked_.tubes) client.send(Watch{.tube = tube});
    expected_ = asked_.tubes.size();
    if (std::ranges::find(asked_.tubes, "default") != asked_.tubes.end()) return;
    client.send(Ignore{.tube = "default"});
    ++expected_;
  }

  void refuse(Response response) {
    refusal_ = std::move(response);
    stage_ = Stage::Refused;
    reservation_.reset();
  }

  // The tubes come first and alone: a tube that is refused must not leave the others.
  void collect() {
    while (std::optional<wire::ClientReply> reply = reservation_->client().take()) {
      --expected_;
      if (stage_ == Stage::Watching) {
        if (!reply->is(Word::Watching)) return refuse(refusal_of(*reply));
        if (expected_ == 0) reserve();
      } else if (reply->is(Word::ReservedBatch)) {
        expected_ = reply->number;
      } else if (jobs_.empty() && !reply->is(Word::Reserved) && !reply->is(Word::InternalError)) {
        return refuse(refusal_of(*reply));
      } else {
        jobs_.push_back(*std::move(reply));
      }
    }
    if (reservation_->client().is_closed()) {
      return refuse(problem_response(Status::ServiceUnavailable,
                                     "The server has ended the request: its user is gone, or may "
                                     "not reserve from one of the tubes any more."));
    }
    if (stage_ == Stage::Reserving && expected_ == 0) give_leases();
  }

  void reserve() {
    stage_ = Stage::Reserving;
    expected_ = 1;
    reservation_->client().send(
        ReserveBatch{.count = {asked_.count}, .wait = {asked_.wait}, .options = {}});
  }

  // A job whose body was lost, or whose time is over already, is not among them.
  void give_leases() {
    stage_ = Stage::Rows;
    std::erase_if(jobs_, [this](const wire::ClientReply& job) {
      return !job.is(Word::Reserved) || !sources_.engine().holds(reservation_->id(), job.number);
    });
    if (jobs_.empty()) return;
    std::vector<JobId> ids;
    for (const wire::ClientReply& job : jobs_) ids.push_back(job.number);
    given_ = reservation_->id();
    places_ -= ids.size();
    numbers_ = leases_.add(std::move(reservation_), ids);
  }

  Step add_rows() {
    const size_t before = rows_.size();
    for (size_t i = 0; i < rows_per_step && rows_.size() - before < body_bytes_per_step; ++i) {
      if (body_) {
        if (!body_->add_some(body_bytes_per_step, rows_)) return Step::Again;
        rows_ += '}';
        body_.reset();
      }
      if (next_ == jobs_.size()) return Step::Whole;
      begin_row(std::move(jobs_[next_]), numbers_[next_]);
      ++next_;
    }
    return Step::Again;
  }

  // Up to its body, which may be large.
  void begin_row(wire::ClientReply&& job, uint64_t number) {
    const Leases::Lease* const lease = leases_.find(number);
    const std::optional<JobStats> stats = sources_.engine().job_statistics(job.number);
    if (lease == nullptr || !stats) return;  // It has ended meanwhile.
    Json row = {{"lease", leases_.tokens().make(number, user_)}};
    row.update(lease_end_json(lease->ends_at, sources_.now()));
    row["job"] = view_.of(*stats);
    if (rows_.size() > rows_begin.size()) rows_ += ',';
    // Grown step by step, a text of hundreds of megabytes would be copied as a whole again and
    // again. One whose bytes all are written as six still is.
    rows_.reserve(rows_.size() + job.text.size() / 3 * 4 + row_bytes);
    rows_ += dumped(row);
    rows_.back() = ',';
    body_.emplace(std::move(job.text));
  }

  ApiSources& sources_;
  Leases& leases_;
  const Caller caller_;
  const JobView view_;
  const std::string user_;
  const ReserveAsked asked_;
  size_t places_;  // Those taken for leases that are not there yet.
  Stage stage_ = Stage::Watching;
  uint64_t expected_ = 0;  // Answers of the queue.
  std::unique_ptr<Reservation> reservation_;
  std::optional<Response> refusal_;
  std::vector<wire::ClientReply> jobs_;
  ConnId given_ = 0;  // The reservation, when leases_ has it and no answer has been taken.
  std::vector<uint64_t> numbers_;
  size_t next_ = 0;
  std::string rows_ = std::string(rows_begin);
  std::optional<BodyText> body_;  // Of the last of the rows, which is not whole.
};

}  // namespace

std::unique_ptr<Answer> make_reserve_answer(ApiSources& sources, Leases& leases,
                                            const Caller& caller, ReserveAsked asked) {
  return std::make_unique<ReserveAnswer>(sources, leases, caller, std::move(asked));
}

Json lease_end_json(Nanos ends_at, Nanos now) {
  return {{"ends_at", time_json(ends_at)},
          {"left_seconds", in_seconds(std::max(ends_at - now, Nanos{0}))}};
}

}  // namespace perennial::http
