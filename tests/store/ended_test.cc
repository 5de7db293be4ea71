#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/batch/batch_codec.h"
#include "store/offline/builder.h"
#include "store/offline/check.h"
#include "store/offline/repair.h"
#include "store/reader.h"
#include "store/store.h"
#include "tests/store/raw_db.h"
#include "tests/store/temp_dir.h"

// Jobs that have ended and are kept: their bytes, in batches, in a store, and what offline tools
// make of them.
namespace perennial::store {
namespace {

std::string hex_of(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return out;
}

std::string body_text(JobId id) {
  return fmt::format("body of {}", id);
}

JobRow live_row(JobId id, uint32_t notes = 0) {
  JobRow row = {.id = id, .tube = 1, .ttr_s = 1};
  row.body_bytes = static_cast<uint32_t>(body_text(id).size());
  if (notes > 0) row.fields = JobFields{.notes = notes};
  return row;
}

// It ends at ten times its place.
EndedJob ended_job(JobId id, uint64_t place, uint32_t notes = 0) {
  EndedJob job = {.row = live_row(id, notes),
                  .tube = "mail",
                  .place = place,
                  .how = JobEnd::Flushed,
                  .at = static_cast<Nanos>(place) * 10,
                  .user = "ann"};
  job.row.tube = 0;
  return job;
}

Note text_note(uint32_t number) {
  return {.number = number, .attempt = 1, .time = 5, .user = "ann", .text = "why"};
}

// -- Bytes.

TEST(Ended, RowsHaveTheseBytes) {
  EndedJob job = {.row = {.id = 0x0102030405060708, .state = JobState::Buried, .ttr_s = 1},
                  .tube = "mail",
                  .place = 0x1112131415161718,
                  .how = JobEnd::Expired,
                  .at = 0x2122232425262728,
                  .user = "ann"};
  const std::string row(view(encode(job.row)));
  EXPECT_EQ(hex_of(encode(job)),
            "01030403"
            "04000000"
            "2827262524232221"
            "1817161514131211"
            "6d61696c616e6e" +
                hex_of(row));
  EXPECT_EQ(hex_of(ended_order_key("mail", job.place)), "046d61696c1112131415161718");
  job.row.fields = JobFields{.notes = 7};
  EXPECT_EQ(hex_of(view(encode(order_of(job)))),
            "0103000000000000"
            "0807060504030201"
            "2827262524232221");
  EXPECT_EQ(ended_span_key("mail"), "email");
  EXPECT_EQ(hex_of(view(encode(EndedSpan{.first = 2, .next = 0x31}))),
            "0100000000000000"
            "0200000000000000"
            "3100000000000000");
}

TEST(Ended, EachLimitDecodesToItself) {
  EndedJob least = ended_job(1, 1);
  least.user = "";
  least.tube = "t";
  EndedJob most = ended_job(UINT64_MAX, UINT64_MAX, UINT32_MAX);
  most.user = std::string(note_user_bytes_max, 'u');
  most.tube = std::string(tube_name_bytes_max, 't');
  most.at = INT64_MAX;
  most.row.state = JobState::Reserved;
  most.how = JobEnd::Deleted;
  for (const EndedJob& job : {least, most}) {
    const auto key = job_key(job.row.id);
    const Result<EndedJob> back = decode_ended(view(key), encode(job));
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(*back, job);
    const EndedOrder order = order_of(job);
    const auto again =
        decode_ended_order(ended_order_key(order.tube, order.place), view(encode(order)));
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(*again, order);
  }
  const EndedSpan span = {.first = 1, .next = UINT64_MAX};
  EXPECT_EQ(decode_ended_span("email", view(encode(span)))->span, span);
  most.user += 'u';
  EXPECT_NE(problem(most), "");
}

TEST(Ended, RowsThatAreNotWhatWasWrittenAreRefused) {
  const EndedJob job = ended_job(7, 3);
  const std::string key(view(job_key(7)));
  const std::string good = encode(job);
  const auto changed = [](std::string value, size_t at, char byte) {
    value[at] = byte;
    return value;
  };
  struct Case {
    std::string key;
    std::string value;
    const char* why;
  };
  for (const Case& one :
       std::vector<Case>{{key.substr(1), good, "key of the wrong length"},
                         {key, good.substr(0, 23), "wrong length"},
                         {key, changed(good, 0, 2), "unknown row format"},
                         {key, changed(good, 1, 0), "in an unknown way"},
                         {key, changed(good, 1, 4), "in an unknown way"},
                         {key, changed(good, 2, 0), "in an unknown state"},
                         {key, changed(good, 2, 5), "in an unknown state"},
                         {key, changed(good, 3, 90), "a name is cut off"},
                         {key, changed(good, 3, 4), "wrong length"},
                         {key, changed(good, 4, 0), "wrong length"},
                         {key, changed(good, 6, 1), "unused bytes"},
                         {key, changed(good, 15, '\x80'), "before the epoch"},
                         {key, changed(good, 16, 0), "place of an ended job is 0"},
                         {key, changed(good, 35, 1), "a tube's number"},
                         {std::string(8, '\0'), good, "job id is 0"}}) {
    const Result<EndedJob> found = decode_ended(one.key, one.value);
    ASSERT_FALSE(found.ok()) << one.why;
    EXPECT_EQ(found.status().code(), StatusCode::Corruption);
    EXPECT_NE(found.status().message().find(one.why), std::string::npos)
        << found.status().message();
  }
  const std::string place = ended_order_key("mail", 3);
  const std::string order(view(encode(order_of(job))));
  for (const Case& one :
       std::vector<Case>{{place.substr(1), order, "key of the wrong length"},
                         {"", order, "key of the wrong length"},
                         {std::string(9, '\0'), order, "tube without a name"},
                         {place, order.substr(1), "wrong length"},
                         {place, changed(order, 1, 4), "a number of notes"},
                         {place, changed(order, 2, 1), "unused bytes"},
                         {place, changed(order, 8, 0), "job id is 0"},
                         {place, changed(order, 23, '\x80'), "before the epoch"},
                         {ended_order_key("mail", 0), order, "place of an ended job is 0"}}) {
    const Result<EndedOrder> found = decode_ended_order(one.key, one.value);
    ASSERT_FALSE(found.ok()) << one.why;
    EXPECT_NE(found.status().message().find(one.why), std::string::npos)
        << found.status().message();
  }
  const std::string span(view(encode(EndedSpan{.first = 2, .next = 3})));
  for (const Case& one : std::vector<Case>{{"e", span, "tube without a name"},
                                           {"email", span + "x", "wrong length"},
                                           {"email", changed(span, 7, 1), "unused bytes"},
                                           {"email", changed(span, 8, 0), "first place"},
                                           {"email", changed(span, 16, 2), "without a place"}}) {
    const Result<EndedTube> found = decode_ended_span(one.key, one.value);
    ASSERT_FALSE(found.ok()) << one.why;
    EXPECT_NE(found.status().message().find(one.why), std::string::npos)
        << found.status().message();
  }
}

// -- In a batch.

JobMoved put_of(const JobRow& row) {
  return {.id = row.id, .before = {}, .after = row, .promised = true};
}
JobMoved removal_of(JobId id) {
  return {.id = id, .before = JobState::Ready, .after = {}, .promised = true};
}
JobEnded ending_of(const EndedJob& job, uint64_t first = 1) {
  return {.job = job, .span = {.first = first, .next = job.place + 1}};
}
EndedGone gone_of(const EndedJob& job, const EndedSpan& span) {
  return {.tube = job.tube,
          .place = job.place,
          .job = job.row.id,
          .notes = order_of(job).notes,
          .span = span};
}

TEST(Ended, AJobThatEndsInABatchHasOneEffect) {
  Batch batch;
  batch.add(removal_of(1));
  batch.add(ending_of(ended_job(1, 1)));
  const std::string body = body_text(2);
  batch.add(put_of(live_row(2)), body);
  batch.add(removal_of(2));
  batch.add(ending_of(ended_job(2, 2)));
  ASSERT_EQ(batch.jobs().size(), 2U);
  EXPECT_EQ(*batch.jobs()[0].ended, ended_job(1, 1));
  EXPECT_FALSE(batch.jobs()[1].before || batch.jobs()[1].after);
  EXPECT_EQ(batch.jobs()[1].body, body);
  EXPECT_EQ(batch.spans(), (std::map<std::string, EndedSpan>{{"mail", {.first = 1, .next = 3}}}));
  EXPECT_EQ(batch.operations(), 3U + 3U + 1U);
  batch.add(gone_of(ended_job(9, 1, 5), {.first = 2, .next = 3}));
  EXPECT_EQ(batch.operations(), 3U + 3U + 1U + 3U + 3U);
  EXPECT_EQ(batch.spans().at("mail").first, 2U);
  EXPECT_EQ(format_of(batch), batch_format_with_ended);
  batch.clear();
  EXPECT_TRUE(batch.spans().empty());
  EXPECT_TRUE(batch.gone().empty());
  EXPECT_EQ(batch.bytes(), 0U);
  EXPECT_EQ(batch.operations(), 0U);
  EXPECT_EQ(format_of(batch), batch_format);
}

TEST(Ended, AFieldOrASettingNeedsTheFormat) {
  JobRow row = live_row(1);
  row.fields = JobFields{.restored = 4};
  Batch batch;
  batch.add(JobMoved{.id = 1, .before = JobState::Ready, .after = row, .promised = true});
  EXPECT_TRUE(has_ended(batch));
  for (const TubeSettings& settings : {TubeSettings{.keep = 1}, TubeSettings{.keep_max = 1}}) {
    batch.clear();
    batch.add(SettingsStored{.tube = "mail", .settings = settings});
    EXPECT_EQ(format_of(batch), batch_format_with_ended);
  }
  batch.clear();
  batch.add(SettingsStored{.tube = "mail", .settings = {.tries = 1}});
  EXPECT_EQ(format_of(batch), batch_format_with_fields);
}

TEST(Ended, ABatchIsTheSameAsBytes) {
  const std::string body = body_text(2);
  Batch batch;
  batch.add(removal_of(1));
  batch.add(ending_of(ended_job(1, 4, 2), 3));
  batch.add(put_of(live_row(2)), body);
  JobRow counted = live_row(2, 1);
  batch.add(JobMoved{.id = 2, .before = JobState::Ready, .after = counted, .promised = true});
  batch.add(NoteStored{.job = 2, .note = text_note(1)});
  batch.add(removal_of(2));
  batch.add(ending_of(ended_job(2, 5, 1), 3));
  EndedJob other = ended_job(8, 7, 4);
  other.tube = "a";
  batch.add(gone_of(other, {.first = 8, .next = 8}));
  batch.seal({.epoch = 1, .index = 2, .known_durable = 1, .now = 3});
  std::string bytes;
  encode_batch(batch, bytes);
  EXPECT_EQ(bytes[0], 5);
  const Result<Batch> back = decode_batch(bytes);
  ASSERT_TRUE(back.ok()) << back.status().message();
  ASSERT_EQ(back->jobs().size(), 2U);
  EXPECT_EQ(*back->jobs()[0].ended, ended_job(1, 4, 2));
  EXPECT_EQ(back->jobs()[0].before, JobState::Ready);
  EXPECT_EQ(*back->jobs()[1].ended, ended_job(2, 5, 1));
  EXPECT_FALSE(back->jobs()[1].before);
  EXPECT_EQ(back->jobs()[1].body, body);
  EXPECT_EQ(back->spans(), batch.spans());
  ASSERT_EQ(back->gone().size(), 1U);
  EXPECT_EQ(back->gone()[0], batch.gone()[0]);
  std::string again;
  encode_batch(*back, again);
  EXPECT_EQ(again, bytes);
}

// -- In a store.

// A store with a tube. Its batches are numbered.
class EndedInStore : public testing::Test {
 protected:
  EndedInStore() {
    reopen();
    write({TubeStored{.tube = 1, .name = "mail"}, NextIdRaised{.next_id = 1000}});
  }

  void reopen() {
    store_.reset();
    auto opened = Store::open({.data_dir = path()});
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    store_ = opened.take();
  }
  void write(const std::vector<Transition>& transitions) {
    Batch batch;
    std::vector<std::string> bodies(transitions.size());
    for (size_t i = 0; i < transitions.size(); ++i) {
      const auto* const moved = std::get_if<JobMoved>(&transitions[i]);
      if (moved != nullptr && !moved->before) bodies[i] = body_text(moved->id);
      batch.add(transitions[i], bodies[i]);
    }
    ++index_;
    batch.seal({.epoch = store_->opening().epoch, .index = index_, .known_durable = index_ - 1});
    const Status written = store_->write(batch, true);
    ASSERT_TRUE(written.ok()) << written.message();
  }
  // Puts jobs, each in a batch, and lets them end in the order of their ids, at places from 1 on.
  void end_jobs(JobId count) {
    for (JobId id = 1; id <= count; ++id) write({put_of(live_row(id))});
    for (JobId id = 1; id <= count; ++id) write({removal_of(id), ending_of(ended_job(id, id))});
    jobs_ = count;
  }
  // Lets the ended jobs up to this place go, in one batch.
  void let_go(uint64_t last) {
    std::vector<Transition> transitions;
    for (uint64_t place = 1; place <= last; ++place) {
      transitions.emplace_back(
          gone_of(ended_job(place, place), {.first = place + 1, .next = jobs_ + 1}));
    }
    write(transitions);
  }
  std::vector<JobId> ids(EndedQuery query, size_t* pages = nullptr) const {
    std::vector<JobId> out;
    query.tube = "mail";
    for (bool is_end = false; !is_end;) {
      const Result<EndedPage> page = store_->read_ended(query);
      EXPECT_TRUE(page.ok()) << page.status().message();
      if (!page.ok()) return out;
      for (const EndedFound& found : page->jobs) {
        out.push_back(found.job.row.id);
        EXPECT_EQ(found.job, ended_job(found.job.row.id, found.job.place));
        EXPECT_EQ(found.body.has_value(), query.with_bodies);
        if (found.body) {
          EXPECT_EQ(found.body->view(), body_text(found.job.row.id));
        }
      }
      is_end = page->is_end;
      query.from = page->next_place;
      if (pages != nullptr) ++*pages;
    }
    return out;
  }
  Status load() const {
    const auto nothing = [](const auto&...) { return Status(); };
    spans_.clear();
    return store_->load({.tube = nothing,
                         .pause = nothing,
                         .settings = nothing,
                         .job = nothing,
                         .key = nothing,
                         .ended = [this](const std::string& tube, const EndedSpan& span) {
                           spans_[tube] = span;
                           return Status();
                         }});
  }
  void check(const std::vector<std::string>& faults, bool starts) {
    store_.reset();
    std::vector<std::string> found;
    CheckOptions options = {.path = path(), .deep = true};
    options.fault = [&](const Fault& fault) { found.push_back(fault.where + ": " + fault.what); };
    const auto summary = check_directory(options);
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    EXPECT_EQ(found, faults);
    EXPECT_EQ(summary->starts, starts);
    ended_count_ = summary->ended;
  }
  std::string path() const { return dir_.data_dir(); }

  using Ids = std::vector<JobId>;
  using Spans = std::map<std::string, EndedSpan>;
  const TempDir dir_;
  std::unique_ptr<Store> store_;
  BatchIndex index_ = 0;
  JobId jobs_ = 0;
  mutable Spans spans_;
  uint64_t ended_count_ = 0;
};

TEST_F(EndedInStore, AreFoundByTheirIdsWithBodyAndNotes) {
  write({put_of(live_row(1))});
  for (uint32_t number = 1; number <= 4; ++number) {
    write({JobMoved{
               .id = 1, .before = JobState::Ready, .after = live_row(1, number), .promised = true},
           NoteStored{.job = 1, .note = text_note(number)}});
  }
  write({removal_of(1), ending_of(ended_job(1, 1, 4))});
  const Snapshot before = store_->snapshot();
  for (int round = 0; round < 3; ++round) {
    const auto found = store_->read_ended(1, true);
    ASSERT_TRUE(found.ok() && *found);
    EXPECT_EQ((*found)->job, ended_job(1, 1, 4));
    EXPECT_EQ((*found)->body->view(), body_text(1));
    EXPECT_EQ((*found)->notes, (std::vector<Note>{text_note(2), text_note(3), text_note(4)}));
    EXPECT_FALSE((*store_->read_ended(1, false))->body);
    EXPECT_FALSE(*store_->read_ended(2, true));
    if (round == 0) {
      ASSERT_TRUE(store_->flush().ok());
    }
  }
  write({gone_of(ended_job(1, 1, 4), {.first = 2, .next = 2})});
  EXPECT_FALSE(*store_->read_ended(1, true));
  EXPECT_EQ(store_->read_body(1).status().code(), StatusCode::NotFound);
  EXPECT_TRUE(store_->read_notes(1)->empty());
  const auto then = store_->read_ended(1, true, &before);
  ASSERT_TRUE(then.ok() && *then);
  EXPECT_EQ((*then)->notes.size(), 3U);
  ASSERT_TRUE(load().ok());
  EXPECT_EQ(spans_, Spans());
}

TEST_F(EndedInStore, AreListedInBothOrders) {
  end_jobs(7);
  EXPECT_EQ(ids({.jobs_max = 100}), Ids({1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(ids({.newest_first = true, .jobs_max = 100}), Ids({7, 6, 5, 4, 3, 2, 1}));
  for (size_t jobs_max = 1; jobs_max <= 8; ++jobs_max) {
    size_t pages = 0;
    EXPECT_EQ(ids({.jobs_max = jobs_max}, &pages), Ids({1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(pages, (7 + jobs_max - 1) / jobs_max);
    EXPECT_EQ(ids({.newest_first = true, .jobs_max = jobs_max}), Ids({7, 6, 5, 4, 3, 2, 1}));
  }
  EXPECT_EQ(ids({.from = 6, .jobs_max = 100}), Ids({6, 7}));
  EXPECT_EQ(ids({.from = 8, .jobs_max = 100}), Ids());
  EXPECT_EQ(ids({.from = 3, .newest_first = true, .jobs_max = 100}), Ids({2, 1}));
  EXPECT_EQ(ids({.from = 1, .newest_first = true, .jobs_max = 100}), Ids());
  EXPECT_EQ(ids({.from = 99, .newest_first = true, .jobs_max = 100}).size(), 7U);
  const Result<EndedPage> other = store_->read_ended(EndedQuery{.tube = "mai", .jobs_max = 1});
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE(other->jobs.empty() && other->is_end);
}

TEST_F(EndedInStore, FillAPageOfBytesWithOneJobAtLeast) {
  end_jobs(4);
  const uint64_t body_bytes = body_text(1).size();
  const std::vector<std::pair<uint64_t, size_t>> cases = {
      {0, 4}, {2 * body_bytes - 1, 4}, {2 * body_bytes, 2}, {4 * body_bytes, 1}};
  for (const auto& [bytes_max, pages_wanted] : cases) {
    size_t pages = 0;
    const EndedQuery query = {.jobs_max = 100, .bytes_max = bytes_max, .with_bodies = true};
    EXPECT_EQ(ids(query, &pages), Ids({1, 2, 3, 4}));
    EXPECT_EQ(pages, pages_wanted);
  }
}

TEST_F(EndedInStore, AreListedSinceATime) {
  end_jobs(9);
  // Some places are empty, as after they were restored.
  for (const JobId id : {3, 4, 7}) {
    write({gone_of(ended_job(id, id), {.first = 1, .next = 10})});
  }
  const Ids left = {1, 2, 5, 6, 8, 9};
  for (Nanos since = 0; since <= 95; since += 5) {
    Ids wanted;
    for (const JobId id : left) {
      if (static_cast<Nanos>(id) * 10 >= since) wanted.push_back(id);
    }
    EXPECT_EQ(ids({.jobs_max = 2, .since = since}), wanted) << since;
    std::ranges::reverse(wanted);
    EXPECT_EQ(ids({.newest_first = true, .jobs_max = 2, .since = since}), wanted) << since;
  }
}

TEST_F(EndedInStore, GoFromTheFront) {
  end_jobs(6);
  const auto places = [&](uint64_t first, size_t max) {
    const Result<std::vector<EndedOrder>> found = store_->read_ended_order("mail", first, max);
    EXPECT_TRUE(found.ok());
    Ids out;
    for (const EndedOrder& one : *found) {
      EXPECT_EQ(one, order_of(ended_job(one.job, one.place)));
      out.push_back(one.place);
    }
    return out;
  };
  EXPECT_EQ(places(1, 4), Ids({1, 2, 3, 4}));
  EXPECT_EQ(places(5, 4), Ids({5, 6}));
  let_go(4);
  EXPECT_EQ(places(1, 4), Ids({5, 6}));
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(ids({.jobs_max = 100, .bytes_max = 1000, .with_bodies = true}), Ids({5, 6}));
    ASSERT_TRUE(load().ok());
    EXPECT_EQ(spans_, (Spans{{"mail", {.first = 5, .next = 7}}}));
    if (round == 0) {
      ASSERT_TRUE(store_->flush().ok());
      std::atomic<bool> cancelled = false;
      ASSERT_TRUE(store_->compact_tombstones(cancelled, 0).ok());
    } else {
      reopen();
    }
  }
  check({}, true);
  EXPECT_EQ(ended_count_, 2U);
}

// A tube whose last ended job has gone begins again at place 1, also in the same batch.
TEST_F(EndedInStore, MayTakeAPlaceAgain) {
  end_jobs(1);
  write({put_of(live_row(2)), put_of(live_row(3))});
  const EndedSpan none = {.first = 2, .next = 2};
  write({gone_of(ended_job(1, 1), none), removal_of(2), ending_of(ended_job(2, 1))});
  ASSERT_TRUE(store_->flush().ok());
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(ids({.jobs_max = 9, .bytes_max = 1000, .with_bodies = true}), Ids({2}));
    reopen();
  }
  check({}, true);
}

TEST_F(EndedInStore, AreWrittenOnceIfTheyWerePutInTheSameBatch) {
  write({put_of(live_row(1)), removal_of(1), ending_of(ended_job(1, 1)), put_of(live_row(2)),
         removal_of(2), ending_of(ended_job(2, 2))});
  EXPECT_EQ(ids({.jobs_max = 9, .bytes_max = 1000, .with_bodies = true}), Ids({1, 2}));
  reopen();
  ASSERT_TRUE(load().ok());
  check({}, true);
  EXPECT_EQ(ended_count_, 2U);
}

// The next id is beyond that of each ended job, whatever its row says.
TEST_F(EndedInStore, HaveIdsThatAreNotUsedAgain) {
  end_jobs(3);
  store_.reset();
  RawDb(path()).put(Family::Meta, "n", view(encode_next_id(1)));
  reopen();
  EXPECT_EQ(store_->opening().next_id, 4U);
}

TEST_F(EndedInStore, ThatDoNotFitAreFaults) {
  end_jobs(5);
  store_.reset();
  {
    RawDb db(path());
    db.single_delete(Family::EndedOrder, ended_order_key("mail", 1));
    db.put(Family::EndedOrder, ended_order_key("mail", 9), view(encode(order_of(ended_job(9, 9)))));
    EndedJob other = ended_job(2, 2);
    other.at += 1;
    db.single_delete(Family::Ended, view(job_key(2)));
    db.put(Family::Ended, view(job_key(2)), encode(other));
    db.single_delete(Family::Ended, view(job_key(3)));
    db.put(Family::Ended, view(job_key(3)), "no job");
    db.put(Family::Meta, ended_span_key("mail"), view(encode(EndedSpan{.first = 1, .next = 5})));
  }
  check({"ended: it is not in the order of its tube", "ended: wrong length",
         "ended: its place, 5, is not among those of its tube, 1 to 4",
         "ended_order: it names ended job 2, which says something else of itself",
         "ended_order: it names ended job 9, which is missing"},
        true);
  reopen();
  ASSERT_TRUE(load().ok());
}

TEST_F(EndedInStore, WithoutTheirRowsStopAStart) {
  end_jobs(3);
  store_.reset();
  RawDb(path()).single_delete(Family::Ended, view(job_key(2)));
  check({"bodies: the body has no job", "ended_order: it names ended job 2, which is missing"},
        false);
  reopen();
  const Status loaded = load();
  EXPECT_EQ(loaded.code(), StatusCode::Corruption);
  EXPECT_NE(loaded.message().find("ended holds 2 rows by the account of its tables, and "
                                  "ended_order holds 3"),
            std::string::npos)
      << loaded.message();
}

TEST_F(EndedInStore, AreShownByAReaderAndASalvage) {
  end_jobs(3);
  store_.reset();
  for (const bool salvages : {false, true}) {
    const auto reader = Reader::open({.path = path(), .salvage = salvages});
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    Reader::Bodies bodies = (*reader)->bodies();
    Ids found;
    const Status read = (*reader)->ended([&](const EndedJob& job) {
      found.push_back(job.row.id);
      EXPECT_EQ(job, ended_job(job.row.id, job.row.id));
      EXPECT_EQ(*bodies.read(job.row.id), body_text(job.row.id));
      return Status();
    });
    ASSERT_TRUE(read.ok()) << read.message();
    EXPECT_EQ(found, Ids({1, 2, 3}));
    if (salvages) {
      EXPECT_EQ((*reader)->salvaged()->ended, 3U);
      EXPECT_TRUE((*reader)->salvaged()->is_whole());
    }
  }
}

// One whose row or body cannot be read is lost, and is no job that comes back.
TEST_F(EndedInStore, AreRepaired) {
  end_jobs(5);
  write({put_of(live_row(6))});
  store_.reset();
  {
    RawDb db(path());
    db.single_delete(Family::Ended, view(job_key(2)));
    db.put(Family::Ended, view(job_key(2)), "no job");
    db.single_delete(Family::Bodies, view(job_key(4)));
    db.put(Family::Bodies, view(job_key(4)), "12345678no body");
  }
  {
    const auto repair = Repair::open(path(), {}, nullptr);
    ASSERT_TRUE(repair.ok()) << repair.status().message();
    EXPECT_EQ((*repair)->account().ended, 3U);
    EXPECT_EQ((*repair)->account().ended_lost.ids, Ids({2, 4}));
    EXPECT_EQ((*repair)->account().job_count(), 1U);
    EXPECT_EQ((*repair)->account().lost_jobs(), 0U);
    const auto done = (*repair)->run("now");
    ASSERT_TRUE(done.ok()) << done.status().message();
  }
  reopen();
  ASSERT_TRUE(load().ok());
  EXPECT_EQ(spans_, (Spans{{"mail", {.first = 1, .next = 6}}}));
  EXPECT_EQ(ids({.jobs_max = 9, .bytes_max = 1000, .with_bodies = true}), Ids({1, 3, 5}));
  check({}, true);
}

TEST(EndedOffline, ABuilderTakesThem) {
  const TempDir dir;
  {
    auto builder = Builder::begin({.path = dir.data_dir()});
    ASSERT_TRUE(builder.ok()) << builder.status().message();
    ASSERT_EQ(*(*builder)->tube("mail"), 1U);
    ASSERT_TRUE((*builder)->add_job(live_row(5), body_text(5)).ok());
    ASSERT_TRUE((*builder)->add_ended(ended_job(1, 7, 1), body_text(1)).ok());
    ASSERT_TRUE((*builder)->add_note(1, text_note(1)).ok());
    ASSERT_TRUE((*builder)->add_ended(ended_job(6, 3), body_text(6)).ok());
    EndedJob wrong = ended_job(7, 1);
    wrong.row.tube = 1;
    EXPECT_EQ((*builder)->add_ended(wrong, body_text(7)).code(), StatusCode::InvalidArgument);
    const CommitRow commit = {.epoch = 1, .index = 1, .now = 1};
    EXPECT_EQ((*builder)->publish(commit, 6).code(), StatusCode::InvalidArgument);
    const Status published = (*builder)->publish(commit, 7);
    ASSERT_TRUE(published.ok()) << published.message();
  }
  const auto store = Store::open({.data_dir = dir.data_dir()});
  ASSERT_TRUE(store.ok()) << store.status().message();
  const auto page =
      (*store)->read_ended(EndedQuery{.tube = "mail", .jobs_max = 9, .with_notes = true});
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->jobs.size(), 2U);
  EXPECT_EQ(page->jobs[0].job, ended_job(6, 3));
  EXPECT_EQ(page->jobs[1].notes, std::vector<Note>{text_note(1)});
  EXPECT_EQ((*store)->read_ended(1, true)->value().body->view(), body_text(1));
}

}  // namespace
}  // namespace perennial::store
