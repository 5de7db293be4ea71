#include "cmd/perenniald/http/api/ended_list.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cmd/perenniald/http/api/answers.h"
#include "cmd/perenniald/http/api/fields.h"
#include "cmd/perenniald/http/api/json.h"
#include "cmd/perenniald/http/api/row_text.h"
#include "wire/command_line.h"

namespace perennial::http {

class EndedLists::List final : public Answer {
 public:
  List(EndedLists& lists, Caller caller, EndedAsked asked)
      : lists_(lists), caller_(std::move(caller)), asked_(std::move(asked)) {
    lists_.lists_.push_back(this);
  }
  ~List() override { leave(); }

  Step step() override {
    if (page_) return format();
    if (is_reading_ || lists_.is_reading_ || lists_.lists_.front() != this) return Step::Waits;
    if (!is_collected_) {
      collect();
      return Step::Again;
    }
    return read();
  }
  Response take() override {
    const Json next = page_->next ? Json(cursor_of(*page_->next)) : Json(nullptr);
    return text_.response("groups", {{"tubes", tubes_},
                                     {"all_tubes", has_all_tubes_},
                                     {"looked_at", page_->looked_at},
                                     {"next", next}});
  }

 private:
  static constexpr size_t tubes_per_step = 500;

  engine::EngineView engine() const { return lists_.sources_.engine(); }

  void collect() {
    if (!asked_.tube.empty()) {
      add(asked_.tube);
      is_collected_ = true;
    }
    for (size_t i = 0; i < tubes_per_step && !is_collected_; ++i) {
      const std::string* const tube = engine().next_with_ended(last_);
      has_all_tubes_ = tube == nullptr;
      is_collected_ = has_all_tubes_ || query_.tubes.size() == tubes_max;
      if (is_collected_) break;
      last_ = *tube;
      if (caller_.may_on(last_, access::Verb::Inspect)) add(last_);
    }
  }
  void add(const std::string& tube) {
    KeptOfTube kept =
        kept_of(tube, engine().settings_of(tube), engine().ended_span(tube), lists_.sources_.now());
    if (kept.span.empty()) return;
    kept.since = std::max(kept.since, asked_.since);
    query_.tubes.push_back(std::move(kept));
  }

  Step read() {
    tubes_ = query_.tubes.size();
    if (tubes_ == 0) {
      page_.emplace();
      leave();
      return Step::Again;
    }
    query_.after = asked_.after;
    query_.how = asked_.how;
    query_.user = asked_.user;
    query_.groups_max = asked_.limit;
    query_.jobs_max = jobs_max;
    is_reading_ = lists_.is_reading_ = true;
    const auto on_page = [lists = &lists_, has_lists = std::weak_ptr(lists_.alive_), list = this,
                          has_list = std::weak_ptr(alive_)](EndedGroupsPage page) {
      if (!has_list.expired()) list->on_page(std::move(page));
      if (!has_lists.expired()) lists->on_read();
    };
    lists_.sources_.list_ended(std::move(query_), on_page);
    return Step::Waits;
  }
  void on_page(EndedGroupsPage page) {
    page_ = std::move(page);
    leave();
    wake();
  }
  // It has had its turn, or nobody waits for it any more.
  void leave() {
    const auto mine = std::ranges::find(lists_.lists_, this);
    if (mine == lists_.lists_.end()) return;
    lists_.lists_.erase(mine);
    lists_.wake_first();
  }

  Step format() {
    const size_t end = std::min(next_row_ + RowText::rows_per_step, page_->groups.size());
    for (; next_row_ < end; ++next_row_) text_.add(json_of(page_->groups[next_row_]));
    return next_row_ == page_->groups.size() ? Step::Whole : Step::Again;
  }
  Json json_of(const EndedGroup& group) const {
    return {{"tube", group.tube},
            {"ended", name_of(group.how)},
            {"ended_by", group.user.empty() ? Json(nullptr) : Json(group.user)},
            {"jobs", group.jobs},
            {"whole", is_whole(group)},
            {"newest", json_of(group.newest)},
            {"oldest", json_of(group.oldest)},
            {"after", fmt::format("{}", group.newest.place + 1)},
            {"may", may_json(caller_, group.tube)}};
  }
  // Whether no more of it can be on the next page.
  bool is_whole(const EndedGroup& group) const {
    return !page_->next || group.oldest.at - page_->next->at > ended_group_gap;
  }
  Json json_of(const EndedGroup::End& end) const {
    const Nanos age = std::max<Nanos>(lists_.sources_.now() - end.at, 0);
    return {{"id", fmt::format("{}", end.job)},
            {"ended_at", time_json(end.at)},
            {"ended_age_seconds", age / nanos_per_second}};
  }

  EndedLists& lists_;
  const Caller caller_;
  const EndedAsked asked_;
  std::string last_;  // The tube that was looked at last.
  EndedGroupsQuery query_;
  bool is_collected_ = false;
  bool has_all_tubes_ = true;
  size_t tubes_ = 0;
  bool is_reading_ = false;
  std::optional<EndedGroupsPage> page_;
  size_t next_row_ = 0;  // Of the groups, to be formatted.
  RowText text_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();
};

std::unique_ptr<Answer> EndedLists::open(const Caller& caller, EndedAsked asked) {
  return std::make_unique<List>(*this, caller, std::move(asked));
}

void EndedLists::on_read() {
  is_reading_ = false;
  wake_first();
}

void EndedLists::wake_first() {
  if (!is_reading_ && !lists_.empty() && lists_.front()->wake) lists_.front()->wake();
}

std::string cursor_of(const EndedPosition& position) {
  return fmt::format("{}-{}-{}", position.at, position.place, position.tube);
}

std::optional<EndedPosition> position_of(std::string_view cursor) {
  const auto take_number = [&cursor](uint64_t max) {
    const size_t end = std::min(cursor.find('-'), cursor.size());
    const std::optional<uint64_t> number = number_of(cursor.substr(0, end), max);
    cursor.remove_prefix(std::min(end + 1, cursor.size()));
    return number;
  };
  const std::optional<uint64_t> at = take_number(INT64_MAX - 1);
  const std::optional<uint64_t> place = take_number(UINT64_MAX);
  if (!at || !place || *place == 0 || !wire::is_tube_name(cursor)) return std::nullopt;
  return EndedPosition{.at = static_cast<Nanos>(*at), .tube = std::string(cursor), .place = *place};
}

}  // namespace perennial::http
