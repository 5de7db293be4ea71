#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "cmd/perenniald/access/users.h"
#include "cmd/perenniald/core/ended/ended_read.h"
#include "engine/types/body.h"
#include "engine/types/command.h"
#include "engine/types/input.h"
#include "engine/types/reply.h"
#include "engine/view/engine_view.h"

namespace perennial::core {

// Serves the commands about jobs that have ended, and removes those that are kept no longer. Such
// jobs are on disk only, so each step is a read off the loop, and then perhaps inputs for the
// engine.
//
// A read begins when what ended before it is written, so that it sees what the engine knows.
// Whatever changes ended jobs is done one step at a time, each step from its read to the write of
// what it changed: so two that restore the same job do not meet, and a tube that is restored has
// no more than a page of jobs on its way to the log. Commands that only look do not wait for these.
class EndedDesk {
 public:
  // The queue, as this sees it.
  class Queue {
   public:
    virtual ~Queue() = default;
    // Puts the job back. Returns what became of it: Output::restored.
    virtual Reply restore(engine::Restore&& job, Body&& body, Nanos now) = 0;
    virtual void end(engine::EndedOver&& over, Nanos now) = 0;
    // Whether the client may give this command, which needs the verb, on this tube: only what was
    // read says which tube that is. False also if the client is gone. It is in the audit.
    virtual bool allows(ConnId conn, access::Verb verb, std::string_view tube,
                        const Command& command, Nanos now) = 0;
    virtual bool is_open(ConnId conn) const = 0;
    // Answer the unanswered command of a connection that is open.
    virtual void answer(ConnId conn, const Reply& reply, Nanos now) = 0;
    virtual void answer_body(ConnId conn, const JobReply& reply, Body&& body, Nanos now) = 0;
  };

  using OnGroups = std::function<void(EndedGroupsPage page)>;

  // Both outlive this.
  EndedDesk(engine::EngineView engine, Queue& queue) : engine_(engine), queue_(queue) {}

  // ---- Commands, which are answered later.
  void peek(ConnId conn, const PeekEnded& command);
  // REQUIRES: there is no such job.
  void list_notes(ConnId conn, const ListNotes& command);
  // REQUIRES: the list is one of ended jobs.
  void list(ConnId conn, const ListJobs& command);
  void restore(ConnId conn, const RestoreJob& command);
  void restore(ConnId conn, const RestoreTube& command, Nanos now);

  // ---- What no command asks.
  // Reads a page of all tubes. The caller has chosen the tubes, and what of each is kept. `done` is
  // called from on_read().
  void list_groups(EndedGroupsQuery&& query, OnGroups done);

  // ---- What happened.
  // All tubes that keep ended jobs are to be looked at: at the start, and after new settings.
  void look_at_all(Nanos now);
  // The transition is in the batch with this index. Indices do not fall.
  void on_transition(const Transition& transition, BatchIndex batch, Nanos now);
  // While it is short, ended jobs go before their time, some each second, but not those of a tube
  // that is put back: what is put back takes space, and would remove what is to come. While it is
  // full, they go without a break, and a restore-tube that loses jobs by it is OUT_OF_MEMORY.
  enum class Disk : uint8_t { Ample, Short, Full };
  void on_disk(Disk disk) { disk_ = disk; }
  void on_timer(Nanos now);
  // Batches up to this one are written.
  void on_written(BatchIndex batch) { written_ = batch; }
  // Each read that was taken ends with it. REQUIRES: the result is that of what was asked for.
  void on_read(uint64_t ticket, EndedResult&& result, Nanos now);

  // ---- What to do.
  std::vector<EndedRead> take_reads();
  // When on_timer() is due.
  std::optional<Nanos> next_look() const;
  // How many jobs the restore-tube of the connection has put back that is not finished, or was
  // refused in the middle. None: it has none.
  std::optional<uint64_t> progress(ConnId conn) const;
  // How many jobs went before their time, because the disk was not Ample.
  uint64_t removed_early() const { return removed_early_; }

 private:
  // What the restores of a tube that are under way have in common.
  struct Cut {
    bool is_cut = false;  // Jobs of the tube have gone meanwhile, because the disk was full.
  };
  struct Restoring {
    RestoreTube command;
    Nanos since = 0;
    uint64_t from = 0;
    uint64_t end = 0;  // Jobs in this place and behind ended after the command.
    uint64_t restored = 0;
    std::shared_ptr<Cut> cut = {};
  };
  struct Purge {
    std::string tube;
    EndedSpan span;  // When the task was added: all places in it are written when it is read.
    // The tube has had no ended jobs since, so that the places of its next ones begin anew.
    bool is_void = false;
  };
  struct Groups {
    EndedGroupsQuery query;
    OnGroups done;
  };
  using What = std::variant<PeekEnded, ListNotes, ListJobs, Groups, RestoreJob, Restoring, Purge>;
  struct Task {
    ConnId conn;       // 0: no connection waits for it.
    BatchIndex after;  // Its read begins when this batch is written.
    What what;
  };
  struct Look {
    std::optional<Nanos> due = {};  // When it is looked at next.
    // When the first job ended that is still kept. None: it is not known.
    std::optional<Nanos> first_at = {};
    bool is_asked = false;  // A purge of the tube is in changes_.
  };

  // A job of the tube has ended and is kept, or the tube has new settings.
  void on_change(const std::string& tube, Nanos now);
  // Places of the tube are empty now. `span`: what is left.
  void on_removed(const std::string& tube, const EndedSpan& span, BatchIndex batch);
  // The last ended job of the tube is gone: what was asked for before is about none of the next.
  void on_emptied(const std::string& tube);
  Reply put_back(store::EndedFound&& found, Nanos now);
  void refuse(ConnId conn, const Restoring& restoring, Word why, Nanos now);
  void add_look(ConnId conn, What&& what);
  void add_change(Task&& task);
  bool may_change() const;
  EndedRead begin(Task&& task);
  EndedRead read_of(Task& task) const;
  void schedule(const std::string& tube, Look& look, std::optional<Nanos> due);
  void look_at(const std::string& tube, Nanos now);
  void purge_some(Nanos now);
  // That of the restores of the tube that are under way. Null: none is.
  std::shared_ptr<Cut> cut_of(const std::string& tube) const;
  // Whether jobs of the tube go before their time.
  bool go_early(const std::string& tube) const;
  // Whether the time of the job and the number of its tube let it stay.
  bool may_stay(const Purge& purge, const EndedPlace& place, Nanos now) const;

  void finish(const Task& task, const PeekEnded& peek, EndedResult&& result, Nanos now);
  void finish(const Task& task, const ListNotes& list, EndedResult&& result, Nanos now);
  void finish(const Task& task, const ListJobs& list, EndedResult&& result, Nanos now);
  void finish(const Task& task, const Groups& groups, EndedResult&& result, Nanos now);
  void finish(const Task& task, const RestoreJob& restore, EndedResult&& result, Nanos now);
  void finish(const Task& task, const Restoring& restoring, EndedResult&& result, Nanos now);
  void finish(const Task& task, const Purge& purge, EndedResult&& result, Nanos now);
  bool is_kept(const EndedJob& job, Nanos now) const;

  const engine::EngineView engine_;
  Queue& queue_;
  BatchIndex written_ = 0;
  // The newest batches with any change of ended jobs, and with one that their times and the numbers
  // of places do not tell: what was purged is not shown, whether it is still there or not.
  BatchIndex changed_in_ = 0;
  BatchIndex shown_in_ = 0;
  // The newest with what a change has put back or removed. The next change may have been added
  // before it.
  BatchIndex removed_in_ = 0;
  bool is_putting_back_ = false;
  uint64_t last_ticket_ = 0;
  std::deque<Task> looks_only_;                    // Commands that wait to be read for.
  std::deque<Task> changes_;                       // Steps that wait; the first is next.
  absl::flat_hash_map<uint64_t, Task> under_way_;  // By ticket.
  bool is_changing_ = false;                       // One of those is a change.
  // How many jobs the last restore-tube of a connection had put back when it was refused.
  absl::flat_hash_map<ConnId, uint64_t> refused_;
  // By tube. Expired: its restores are done.
  absl::flat_hash_map<std::string, std::weak_ptr<Cut>> cuts_;

  absl::flat_hash_map<std::string, Look> tubes_;
  std::set<std::pair<Nanos, std::string>> due_;
  Disk disk_ = Disk::Ample;
  Nanos next_purge_ = 0;     // While the disk is short.
  std::string last_purged_;  // The tube.
  uint64_t removed_early_ = 0;
};

}  // namespace perennial::core
