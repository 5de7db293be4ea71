#include "cmd/perenniald/http/apart_answer.h"

#include <atomic>
#include <optional>
#include <utility>

#include "engine/types/check.h"

namespace perennial::http {
namespace {

class ApartAnswer final : public Answer {
 public:
  ApartAnswer(std::unique_ptr<Answer> answer, bool is_for_monitor, Workers& workers)
      : answer_(std::move(answer)), is_for_monitor_(is_for_monitor), workers_(workers) {}
  ~ApartAnswer() override {
    if (!job_) return;
    job_->is_given_up = true;
    job_->on_done = nullptr;
    // What no worker has begun is freed here, and not behind all that workers have to do before it.
    if (!job_->is_taken.exchange(true)) job_->answer.reset();
  }

  Step step() override {
    if (job_) return job_->is_done ? Step::Whole : Step::Elsewhere;
    answer_->wake = wake;
    // The first step is always made here: then those that wait for a place are not handed over.
    if (!was_begun_ || !answer_->is_apart()) {
      was_begun_ = true;
      return answer_->step();
    }
    hand_over();
    return Step::Elsewhere;
  }
  Response take() override { return job_ ? std::move(job_->response) : answer_->take(); }
  std::string more() override { return answer_->more(); }
  bool is_over() override { return answer_->is_over(); }
  bool ends_with_client() const override {
    return answer_ != nullptr && answer_->ends_with_client();
  }

 private:
  struct Job {
    // Of whoever takes it: a worker, or the loop that gives it up before one has begun.
    std::atomic<bool> is_taken = false;
    std::unique_ptr<Answer> answer;
    // The worker's.
    bool has_begun = false;
    Response response = {};
    std::atomic<bool> is_given_up = false;  // Nobody waits for it.
    // The loop's.
    bool is_done = false;
    std::function<void()> on_done = {};
  };

  void hand_over() {
    job_ = std::make_shared<Job>();
    job_->answer = std::move(answer_);
    job_->on_done = wake;
    const auto on_done = [job = job_] {
      job->is_done = true;
      if (job->on_done) job->on_done();
    };
    workers_.run({.step = [job = job_] { return do_step(*job); },
                  .on_done = on_done,
                  .is_for_monitor = is_for_monitor_});
  }

  // On the worker's thread. Returns whether it was the last.
  static bool do_step(Job& job) {
    if (!std::exchange(job.has_begun, true) && job.is_taken.exchange(true)) return true;
    if (!job.is_given_up) {
      const Step made = job.answer->step();
      if (made == Step::Again) return false;
      CHECK(made == Step::Whole);
      job.response = job.answer->take();
    }
    job.answer.reset();  // What it has kept may be large.
    return true;
  }

  std::unique_ptr<Answer> answer_;  // Null: the job has it.
  const bool is_for_monitor_;
  Workers& workers_;
  bool was_begun_ = false;
  std::shared_ptr<Job> job_;
};

}  // namespace

std::unique_ptr<Answer> make_apart_answer(std::unique_ptr<Answer> answer, bool is_for_monitor,
                                          Workers& workers) {
  return std::make_unique<ApartAnswer>(std::move(answer), is_for_monitor, workers);
}

}  // namespace perennial::http
