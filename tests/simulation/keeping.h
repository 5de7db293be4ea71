#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/command.h"
#include "engine/types/ended_job.h"

namespace perennial::simulation {

// The position of a command in the history. A command that was sent later has a higher one.
using OpId = uint64_t;

inline constexpr int64_t never = std::numeric_limits<int64_t>::max();

// When something happened, in time or in positions of the history. The end is open while the
// command that caused it is unanswered.
struct Window {
  int64_t from = 0;
  int64_t to = 0;
  OpId op = 0;

  bool operator==(const Window&) const = default;
};

// The end of a job that its tube keeps.
struct Ending {
  JobEnd how = JobEnd::Deleted;
  Window place = {};
  Window at = {};

  bool operator==(const Ending&) const = default;
};

// What is known of the tubes that keep jobs which end: the settings that may be in force, and how
// many jobs may have ended behind another one. While commands are unanswered, both are bounds.
class Keeping {
 public:
  // More jobs than any run has: the command has not said yet how many it took.
  static constexpr uint64_t any_number = uint64_t{1} << 32;

  // A setting of both `keep` and `keep-max` was sent. REQUIRES: it gives both.
  void set_sent(const SetTube& set, OpId op, Nanos now);
  void set_answered(const std::string& tube, OpId op, bool is_set, OpId place, Nanos now);
  // A command was sent that may end up to so many jobs of the tube.
  void end_sent(const std::string& tube, OpId op, Nanos now, uint64_t most);
  // A job was put into the tube that may expire from this time on.
  void may_expire(const std::string& tube, OpId op, Nanos at);
  // It has ended so many.
  void end_answered(const std::string& tube, OpId op, uint64_t count, OpId place, Nanos now);
  // The command will take effect no more, and nobody knows whether it has.
  void never_answered(OpId op, OpId place, Nanos now);
  void crashed(bool loses_unsynced, OpId place, Nanos now);
  // Everything that was answered before this place is durable.
  void all_durable(OpId place) { durable_ = static_cast<int64_t>(place); }

  // Whether the tube may keep a job that ends between this place and time and the present; and
  // whether it may not.
  bool may_keep(const std::string& tube, OpId place, Nanos at) const;
  bool may_drop(const std::string& tube, OpId place, Nanos at) const;
  // Whether the job may have been beyond its time or its number at some moment since its end.
  bool may_be_over(const std::string& tube, const Ending& ending, Nanos now) const;
  // Whether it is so for certain, for every command that was sent at this place and time.
  bool surely_over(const std::string& tube, const Ending& ending, OpId place, Nanos at) const;

 private:
  // What may be in force between two places and times.
  struct Setting {
    std::optional<Nanos> keep = {};
    std::optional<uint64_t> keep_max = {};
    Window place = {};
    Window at = {};
    int64_t answered = never;  // A command that is sent from here on replaces it.

    bool keeps() const { return keep || keep_max; }
  };
  // Ends of jobs in one tube.
  struct Ends {
    Window place = {};
    Window at = {};
    uint64_t least = 0;
    uint64_t most = 0;
    bool is_expiry = false;  // Of a job, which may come at any time.
  };

  bool any_setting(const std::string& tube, int64_t place, Nanos at,
                   const std::function<bool(const Setting&)>& holds) const;
  uint64_t most_behind(const std::string& tube, const Ending& ending) const;
  uint64_t least_behind(const std::string& tube, const Ending& ending, OpId place) const;

  std::map<std::string, std::vector<Setting>> settings_;
  std::map<std::string, std::vector<Ends>> ends_;
  int64_t durable_ = 0;
};

}  // namespace perennial::simulation
