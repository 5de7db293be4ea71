// Jobs that end and are kept: what the engine gives to the store, and what it puts back. Which of
// them are due is core's to find out. The load has every optional field of a job, all three ends,
// and restores in any order; it is blind to damage, which the engine never sees.

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/types/later.h"

namespace perennial::engine {
namespace {

constexpr Nanos start = 1'700'000'000 * nanos_per_second;
constexpr ConnId client = 1;

class EndedJobs : public testing::Test {
 protected:
  EndedJobs() {
    apply(Opened{});
    set({.tube = "default", .keep = {true, PositiveDuration{{60 * nanos_per_second}}}});
  }
  void apply(Event event) {
    output_.clear();
    engine_->apply({.now = now_,
                    .conn = client,
                    .accepts_puts = accepts_,
                    .keeps_ended = keeps_,
                    .event = std::move(event),
                    .user = "ann"},
                   output_);
    for (const Transition& transition : output_.transitions) fold(folded_, transition);
    engine_->check();
    EXPECT_EQ(engine_->image(), folded_);
  }
  void set(SetTube command) { apply(Command{std::move(command)}); }
  template <typename T>
  std::vector<T> transitions() const {
    std::vector<T> found;
    for (const Transition& transition : output_.transitions)
      if (const auto* const one = std::get_if<T>(&transition)) found.push_back(*one);
    return found;
  }
  Word word() const { return std::get<Word>(output_.replies.at(0).reply); }
  JobId put(const PutOptions& options = {}, uint32_t priority = 0, uint32_t delay_s = 0) {
    Put command{priority, delay_s, 60, 3};
    if (options != PutOptions()) command.options = options;
    apply(Command{command});
    return std::get<NumberReply>(output_.replies.at(0).reply).number;
  }
  // The job that a deletion of this one leaves.
  EndedJob end(JobId id) {
    apply(Command{Delete{id}});
    const auto ended = transitions<JobEnded>();
    EXPECT_EQ(ended.size(), 1u);
    return ended.empty() ? EndedJob() : *ended[0].job;
  }
  Reply restore(const EndedJob& job) {
    apply(Restore{.job = job});
    return std::move(*output_.restored);
  }
  JobId restored(const EndedJob& job) {
    const Reply reply = restore(job);
    const auto* const inserted = std::get_if<NumberReply>(&reply);
    EXPECT_TRUE(inserted != nullptr && inserted->word == Word::Inserted);
    return inserted != nullptr ? inserted->number : 0;
  }
  // A start from what the store has.
  void restart() {
    engine_ = std::make_unique<Engine>(Limits{});
    for (const auto& [id, name] : folded_.tubes) EXPECT_TRUE(engine_->restore_tube(id, name).ok());
    for (const auto& [id, row] : folded_.jobs) EXPECT_TRUE(engine_->restore_job(row, now_).ok());
    for (const auto& [tube, settings] : folded_.settings) {
      EXPECT_TRUE(engine_->restore_settings({.tube = tube, .settings = settings}).ok());
    }
    for (const auto& [tube, ended] : folded_.ended) {
      EXPECT_TRUE(engine_->restore_ended(tube, ended).ok());
    }
    output_.clear();
    EXPECT_TRUE(engine_->finish_restore(folded_.id_limit, now_, output_).ok());
    for (const Transition& transition : output_.transitions) fold(folded_, transition);
    apply(Opened{});
  }
  EndedSpan span() const { return engine_->view().ended_span("default"); }
  JobStats stats(JobId id) const { return engine_->view().job_statistics(id).value(); }

  std::unique_ptr<Engine> engine_ = std::make_unique<Engine>(Limits{});
  Output output_;
  Image folded_;
  Nanos now_ = start;
  bool accepts_ = true;
  bool keeps_ = true;
};

TEST_F(EndedJobs, ArePlacedInTheOrderOfTheirEnds) {
  for (int i = 0; i < 4; ++i) put({}, 5);
  now_ += 7 * nanos_per_second;
  const EndedJob second = end(2);
  EXPECT_EQ(second.row.id, 2u);
  EXPECT_EQ(second.row.priority, 5u);
  EXPECT_EQ(second.tube, "default");
  EXPECT_EQ(second.place, 1u);
  EXPECT_EQ(second.how, JobEnd::Deleted);
  EXPECT_EQ(second.at, now_);
  EXPECT_EQ(second.user, "ann");
  EXPECT_EQ(end(1).place, 2u);
  apply(Command{FlushTube{.tube = "default"}});
  const auto flushed = transitions<JobEnded>();
  ASSERT_EQ(flushed.size(), 2u);
  EXPECT_EQ(flushed[1].job->how, JobEnd::Flushed);
  EXPECT_EQ(flushed[1].job->user, "ann");
  EXPECT_EQ(span(), (EndedSpan{1, 5}));
}

// What ends with its rows kept is more work for the disk than a deletion, so a turn has fewer of
// them, and other clients do not wait longer.
TEST(EndedJobsInATurn, AreFewerThanThoseOfWhichNothingIsKept) {
  const auto flushed_in_a_turn = [](bool keeps) {
    Engine engine({.transitions_per_turn_max = 100});
    Output output;
    const auto apply = [&](Event event) {
      output.clear();
      engine.apply({.now = start, .conn = client, .keeps_ended = keeps, .event = std::move(event)},
                   output);
    };
    apply(Opened{});
    apply(
        Command{SetTube{.tube = "default", .keep = {true, PositiveDuration{{nanos_per_second}}}}});
    for (int i = 0; i < 100; ++i) {
      apply(Command{Put{0, 0, 60, 3}});
      apply(Tick{});
    }
    apply(Command{FlushTube{.tube = "default"}});
    EXPECT_TRUE(output.replies.empty()) << "it goes on in the next turn";
    return std::ranges::count_if(output.transitions, [](const Transition& transition) {
      return std::holds_alternative<JobMoved>(transition);
    });
  };
  EXPECT_EQ(flushed_in_a_turn(false), 50);
  EXPECT_EQ(flushed_in_a_turn(true), 20);
}

TEST_F(EndedJobs, AreThoseThatExpire) {
  put({.tube = {}, .expire = PositiveDuration{{nanos_per_second}}});
  now_ += nanos_per_second;
  apply(Tick{});
  const auto ended = transitions<JobEnded>();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].job->how, JobEnd::Expired);
  EXPECT_EQ(ended[0].job->user, "");
  EXPECT_GT(stats(restored(*ended[0].job)).more->restored, 0u);
  EXPECT_EQ(engine_->view().state_counts().ready, 1u) << "it does not expire again";
}

// A release is answered when the disk has it, also where the time of the job has come meanwhile.
TEST_F(EndedJobs, AreThoseThatAreReleasedTooLate) {
  put({.tube = {}, .expire = PositiveDuration{{nanos_per_second}}}, 3);
  apply(Command{Reserve{}});
  now_ += 2 * nanos_per_second;
  apply(Command{Release{.id = 1, .priority = {7}, .delay_s = 1}});
  EXPECT_EQ(word(), Word::Released);
  const auto moved = transitions<JobMoved>();
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_FALSE(moved[0].after.has_value());
  EXPECT_TRUE(moved[0].promised);
  const auto ended = transitions<JobEnded>();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].job->how, JobEnd::Expired);
  EXPECT_EQ(ended[0].job->row.priority, 7u);
}

TEST_F(EndedJobs, AreNoneWithoutTheSetting) {
  put();
  set({.tube = "default", .keep = {true, {}}});
  apply(Command{Delete{1}});
  EXPECT_TRUE(transitions<JobEnded>().empty());
  set({.tube = "default", .keep_max = {true, CountOption{1}}});
  put();
  EXPECT_EQ(end(2).place, 1u);
  EXPECT_EQ(engine_->view().ended_not_kept(), 0u) << "the tube kept none when the first one ended";
  keeps_ = false;
  put();
  apply(Command{Delete{3}});
  EXPECT_TRUE(transitions<JobEnded>().empty()) << "not while the disk is short";
  EXPECT_EQ(engine_->view().ended_not_kept(), 1u);
}

TEST_F(EndedJobs, KeepTheirNotesUntilTheyAreGone) {
  put();
  apply(Command{NoteJob{.id = 1, .bytes = 3, .text = "why"}});
  const EndedJob job = end(1);
  EXPECT_TRUE(transitions<NotesRemoved>().empty());
  EXPECT_EQ(job.row.fields->notes, 1u);
  apply(EndedOver{.tube = "default", .jobs = {{1, 1, 1}}, .first = 2});
  const auto gone = transitions<EndedGone>();
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0], (EndedGone{"default", 1, 1, 1, {2, 2}}));
  EXPECT_TRUE(span().empty());
}

TEST_F(EndedJobs, AreBackAsTheyWere) {
  const PutOptions options = {.tube = {},
                              .tries = TriesOption{3},
                              .backoff = Backoff{nanos_per_second, 9 * nanos_per_second},
                              .dead = "graves",
                              .key = KeyOption{"k", 0},
                              .concurrency = ConcurrencyKey{"c", 2},
                              .ttr_rest_ns = 500'000'000};
  put(options, 7);
  apply(Command{Reserve{}});
  apply(Command{Release{1, PriorityOrKeep(), 0}});
  now_ += nanos_per_second;
  apply(Tick{});
  const JobStats before = stats(1);
  EXPECT_EQ(before.more->attempts, 1u);
  const EndedJob job = end(1);
  const JobId id = restored(job);
  EXPECT_EQ(id, 2u);
  const JobStats after = stats(id);
  EXPECT_EQ(after.priority, 7u);
  EXPECT_EQ(after.age, before.age);
  EXPECT_EQ(after.ttr, before.ttr);
  EXPECT_EQ(after.reserves, 1u);
  EXPECT_EQ(after.releases, 1u);
  EXPECT_EQ(after.more->attempts, 1u);
  EXPECT_EQ(after.more->tries, 3u);
  EXPECT_EQ(after.more->backoff, before.more->backoff);
  EXPECT_EQ(after.more->dead, "graves");
  EXPECT_EQ(after.more->key, "k");
  EXPECT_EQ(after.more->concurrency, before.more->concurrency);
  EXPECT_EQ(after.more->restored, 1u);
  apply(Command{Put{0, 0, 60, 1, PutOptions{.tube = {}, .key = KeyOption{"k", 0}}}});
  EXPECT_EQ(std::get<Duplicate>(output_.replies.at(0).reply).id, id) << "it holds its key";
}

TEST_F(EndedJobs, AreBackInTheStateThatTheyHad) {
  put({}, 0, 10);
  put();
  put();
  apply(Command{ReserveJob{2}});
  apply(Command{Bury{2, PriorityOrKeep()}});
  apply(Command{ReserveJob{3}});
  const EndedJob delayed = end(1);
  const EndedJob buried = end(2);
  const EndedJob reserved = end(3);
  now_ += 3 * nanos_per_second;
  const JobStats again = stats(restored(delayed));
  EXPECT_EQ(again.state, JobState::Delayed);
  EXPECT_EQ(again.time_left, 7 * nanos_per_second);
  EXPECT_EQ(stats(restored(buried)).state, JobState::Buried);
  EXPECT_EQ(stats(restored(reserved)).state, JobState::Ready);
}

TEST_F(EndedJobs, AreReadyWhoseDelayIsOver) {
  put({}, 0, 10);
  const EndedJob delayed = end(1);
  now_ += 10 * nanos_per_second;
  EXPECT_EQ(stats(restored(delayed)).state, JobState::Ready);
}

TEST_F(EndedJobs, StayWhileAnotherJobHasTheirKey) {
  put({.tube = {}, .key = KeyOption{"k", 5}});
  const EndedJob first = end(1);
  now_ += 5 * nanos_per_second;
  apply(Tick{});
  put({.tube = {}, .key = KeyOption{"k", 5}});
  const Reply refused = restore(first);
  EXPECT_EQ(std::get<Duplicate>(refused).id, 2u);
  EXPECT_EQ(span(), (EndedSpan{1, 2}));
}

TEST_F(EndedJobs, TakeTheirKeyBackOutOfItsCooldown) {
  put({.tube = {}, .key = KeyOption{"k", 5}});
  EXPECT_EQ(restored(end(1)), 2u);
}

// The time of such a key counts from the put, whatever becomes of the job.
TEST_F(EndedJobs, HoldAKeyThatIsHeldForATimeUntilThatIsOver) {
  const PutOptions options = {.tube = {}, .key = KeyOption{"k", 10}, .until = KeyUntil::Ttl};
  put(options);
  const EndedJob first = end(1);
  now_ += 4 * nanos_per_second;
  EXPECT_EQ(restored(first), 2u);
  const auto stored = transitions<KeyStored>();
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(stored[0].expires_at, start + 10 * nanos_per_second);
  const EndedJob second = end(2);
  now_ = start + 10 * nanos_per_second;
  apply(Tick{});
  EXPECT_EQ(put(options), 3u);
  EXPECT_EQ(restored(second), 4u) << "the key is another job's, and not that of this one any more";
  EXPECT_TRUE(transitions<KeyStored>().empty());
}

TEST_F(EndedJobs, AreBuriedWhereTheyWere) {
  for (int i = 0; i < 4; ++i) put();
  for (const JobId id : {3, 1, 4, 2}) {
    apply(Command{ReserveJob{id}});
    apply(Command{Bury{id, PriorityOrKeep()}});
  }
  std::vector<EndedJob> ended;
  for (const JobId id : {1, 2, 3}) ended.push_back(end(id));
  std::map<JobId, JobId> ids = {{4, 4}};
  for (const EndedJob& job : ended) ids[restored(job)] = job.row.id;
  std::vector<JobId> kicked;
  for (int i = 0; i < 4; ++i) {
    apply(Command{Kick{1}});
    for (const JobMoved& moved : transitions<JobMoved>()) kicked.push_back(ids.at(moved.id));
  }
  EXPECT_EQ(kicked, (std::vector<JobId>{3, 1, 4, 2}));
}

// A start looks at no ended job, and here no other one says how far the sequence was.
TEST_F(EndedJobs, AreBuriedBeforeThoseOfALaterStart) {
  const auto bury_one = [this] {
    const JobId id = put();
    apply(Command{ReserveJob{id}});
    apply(Command{Bury{id, PriorityOrKeep()}});
    return id;
  };
  bury_one();
  const JobId second = bury_one();
  const EndedJob first = end(1);
  const EndedJob next = end(second);
  now_ += nanos_per_second;
  restart();
  const JobId later = bury_one();
  const JobId next_again = restored(next);
  const JobId first_again = restored(first);
  std::vector<JobId> kicked;
  for (int i = 0; i < 3; ++i) {
    apply(Command{Kick{1}});
    for (const JobMoved& moved : transitions<JobMoved>()) kicked.push_back(moved.id);
  }
  EXPECT_EQ(kicked, (std::vector<JobId>{first_again, next_again, later}));
}

TEST_F(EndedJobs, AreRefusedAsAPutIs) {
  put();
  const EndedJob job = end(1);
  accepts_ = false;
  EXPECT_EQ(std::get<Word>(restore(job)), Word::OutOfMemory);
  accepts_ = true;
  apply(Command{Drain{}});
  EXPECT_EQ(std::get<Word>(restore(job)), Word::Draining);
  apply(Command{Undrain{}});
  set({.tube = "default", .drain = {true, YesOrNo{true}}});
  EXPECT_EQ(std::get<Word>(restore(job)), Word::Draining);
  EXPECT_EQ(span(), (EndedSpan{1, 2}));
}

TEST_F(EndedJobs, AreHandedToWhoeverWaits) {
  put();
  const EndedJob job = end(1);
  apply(Command{Reserve{}});
  EXPECT_TRUE(output_.replies.empty());
  restored(job);
  ASSERT_EQ(output_.replies.size(), 1u);
  EXPECT_EQ(std::get<JobReply>(output_.replies[0].reply).id, 2u);
}

TEST_F(EndedJobs, LeaveEmptyPlacesThatAreTrimmed) {
  for (int i = 0; i < 3; ++i) put();
  const EndedJob first = end(1);
  const EndedJob second = end(2);
  end(3);
  restored(second);
  EXPECT_EQ(span(), (EndedSpan{1, 4}));
  restored(first);
  EXPECT_EQ(span(), (EndedSpan{2, 4}));
  apply(EndedOver{.tube = "default", .jobs = {}, .first = 3});
  EXPECT_EQ(transitions<EndedTrimmed>().size(), 1u);
  EXPECT_EQ(span(), (EndedSpan{3, 4}));
  EXPECT_EQ(std::get<Word>(restore(first)), Word::InternalError) << "it is not there any more";
}

TEST_F(EndedJobs, AreKnownByWhomTheyWerePutAndWhenTheyWereFirstReserved) {
  put();
  EXPECT_EQ(stats(1).more->put_at, start);
  EXPECT_EQ(stats(1).more->put_by, "ann");
  EXPECT_EQ(stats(1).more->first_reserved, 0);
  now_ += nanos_per_second;
  apply(Command{Reserve{}});
  now_ += nanos_per_second;
  apply(Command{Release{1, 0, 0}});
  apply(Command{Reserve{}});
  EXPECT_EQ(stats(1).more->first_reserved, start + nanos_per_second);
  now_ += nanos_per_second;
  const EndedJob job = end(1);
  EXPECT_EQ(job.row.fields->put_by, "ann");
  EXPECT_EQ(job.row.fields->first_reserved, start + nanos_per_second);
  const JobStats back = stats(restored(job));
  EXPECT_EQ(back.more->put_at, start);
  EXPECT_EQ(back.more->put_by, "ann");
  EXPECT_EQ(back.more->first_reserved, start + nanos_per_second);
}

TEST_F(EndedJobs, AreKnownAlsoBehindTheirDeath) {
  const JobId old = put({.tube = {}, .tries = TriesOption{1}, .dead = "grave"});
  const JobId id = restored(end(old));
  apply(Command{Reserve{}});
  apply(Command{Release{id, 0, 0}});
  const JobStats dead = stats(id);
  EXPECT_EQ(dead.more->from, "default");
  EXPECT_EQ(dead.more->restored, old);
  EXPECT_EQ(dead.more->put_by, "ann");
  EXPECT_EQ(dead.more->first_reserved, now_);
}

TEST_F(EndedJobs, OfTubesThatKeepNoneAreNotRemembered) {
  set({.tube = "default", .keep = {true, {}}});
  put();
  set({.tube = "default", .keep = {true, PositiveDuration{{60 * nanos_per_second}}}});
  keeps_ = false;
  put();
  apply(Command{Reserve{}});
  apply(Command{Reserve{}});
  keeps_ = true;
  for (const JobId id : {1, 2}) {
    EXPECT_EQ(stats(id).more->put_by, "");
    EXPECT_EQ(stats(id).more->first_reserved, 0);
    apply(Command{Release{id, 0, 0}});
  }
  apply(Command{Reserve{}});
  EXPECT_EQ(stats(1).more->first_reserved, 0) << "it is not the first one";
}

TEST(IsKept, ByTimeAndByNumber) {
  const EndedSpan span = {3, 10};
  const TubeSettings both = {.keep = 5, .keep_max = 2};
  const TubeSettings time = {.keep = 5};
  const TubeSettings number = {.keep_max = 2};
  EXPECT_TRUE(is_kept(both, span, 9, 100, 104));
  EXPECT_FALSE(is_kept(both, span, 9, 100, 105)) << "its time is over";
  EXPECT_TRUE(is_kept(both, span, 8, 100, 104));
  EXPECT_FALSE(is_kept(both, span, 7, 100, 104)) << "one past the number";
  EXPECT_TRUE(is_kept(time, span, 3, 100, 104));
  EXPECT_FALSE(is_kept(time, span, 2, 100, 104)) << "it is gone";
  EXPECT_FALSE(is_kept(time, span, 10, 100, 104)) << "it has not ended";
  EXPECT_TRUE(is_kept(number, span, 8, 0, last_time));
  EXPECT_FALSE(is_kept({}, span, 9, 100, 100));
}

}  // namespace
}  // namespace perennial::engine
