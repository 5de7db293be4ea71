// put and put-batch, and who refuses them: drain and undrain. A put-batch is its puts, in order, in
// one input: so it is in one batch on disk, whole or not at all.

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/commands/commands.h"
#include "engine/rules/jobs.h"
#include "engine/rules/serving.h"

namespace perennial::engine {
namespace {

// The name of the tube that a put goes to.
const std::string& put_tube(const State& state, const Conn& conn, const std::string& batch_tube,
                            const Put& put) {
  if (put.options && !put.options->tube.empty()) return put.options->tube;
  return batch_tube.empty() ? state.tubes.of(conn.used).name : batch_tube;
}

// Counts and answers it.
void refuse_put(State& state, const Conn& conn, PutRefusal why) {
  state.turn.answer(conn.id, count_refusal(state, why));
}

// `tubes`: that of each item. Null: the item was a duplicate before the batch.
void put_items(State& state, Conn& conn, const PutBatch& batch, std::span<Tube* const> tubes) {
  auto inserted = std::make_unique<BatchInserted>();
  for (size_t i = 0; i < tubes.size(); ++i) {
    const Put& item = batch.items[i];
    const auto duplicate = find_duplicate(state, put_tube(state, conn, batch.tube, item), item);
    if (duplicate) {
      inserted->items.push_back(
          {.id = duplicate->id, .is_duplicate = true, .state = duplicate->state});
    } else {
      inserted->items.push_back({.id = add_job(state, *tubes[i], item)});
    }
  }
  state.turn.answer(conn.id, std::move(inserted));
  for (Tube* const tube : tubes) {
    if (tube != nullptr) hand_out(state, *tube);
  }
}

}  // namespace

void run(State& state, Conn& conn, const Put& put) {
  state.conns.count_as_producer(conn);
  const bool is_named = put.options && !put.options->tube.empty();
  Tube* const used = is_named ? nullptr : &state.tubes.of(conn.used);
  const std::string& name = is_named ? put.options->tube : used->name;
  const PutAdmission admission = admit_put(state, name, used, put);
  if (const auto* const duplicate = std::get_if<Duplicate>(&admission)) {
    return state.turn.answer(conn.id, *duplicate);
  }
  if (const auto* const refusal = std::get_if<PutRefusal>(&admission)) {
    // A put that is refused uses up an id. So it does in beanstalkd, which gives a job its id when
    // the header is read.
    state.jobs.take_id();
    return refuse_put(state, conn, *refusal);
  }
  Tube& tube = *std::get<Tube*>(admission);
  state.turn.answer(conn.id, NumberReply{Word::Inserted, add_job(state, tube, put)});
  hand_out(state, tube);
}

void run(State& state, Conn& conn, const PutTooBig& /*put*/) {
  refuse_put(state, conn, PutRefusal::Size);
}

void run(State& state, Conn& conn, const PutTrailingJunk& /*put*/) {
  state.turn.answer(conn.id, Word::BadFormat);
}

void run(State& state, Conn& conn, const PutNoCrlf& /*put*/) {
  state.conns.count_as_producer(conn);
  state.jobs.take_id();
  refuse_put(state, conn, PutRefusal::Crlf);
}

void run(State& state, Conn& conn, const PutBatch& batch) {
  state.conns.count_as_producer(conn);
  // Without items: there was no memory for them.
  if (batch.items.empty()) {
    return refuse_put(state, conn, state.is_draining ? PutRefusal::Draining : PutRefusal::Space);
  }
  // As for a put: what is there already takes no place, and a producer that has lost its answer
  // gets it even where no put is accepted.
  std::vector<bool> are_new;
  size_t jobs = 0;  // That are new,
  size_t keys = 0;  // and those of them with a key.
  for (const Put& item : batch.items) {
    are_new.push_back(!is_duplicate(state, put_tube(state, conn, batch.tube, item), item));
    if (!are_new.back()) continue;
    ++jobs;
    if (item.options && item.options->key) ++keys;
  }
  std::vector<Tube*> tubes;
  std::optional<PutRefusal> refusal;
  if (jobs > 0 && state.is_draining) refusal = PutRefusal::Draining;
  for (size_t i = 0; i < batch.items.size() && !refusal; ++i) {
    tubes.push_back(nullptr);
    if (!are_new[i]) continue;
    const std::string& name = put_tube(state, conn, batch.tube, batch.items[i]);
    refusal = put_refusal(state, name, jobs, keys);
    if (refusal) break;
    tubes.back() = state.tubes.find_or_make(name);
    if (tubes.back() == nullptr) refusal = PutRefusal::Tubes;
  }
  if (refusal) {
    refuse_put(state, conn, *refusal);
  } else {
    put_items(state, conn, batch, tubes);
  }
  // A tube may have been made for a batch that is refused, or for the second of two items with one
  // key. The order in which tubes end is visible, so it is that of their numbers and not of their
  // addresses.
  std::set<TubeId> ids;
  for (const Tube* const tube : tubes) {
    if (tube != nullptr) ids.insert(tube->id);
  }
  for (const TubeId id : ids) state.tubes.end_if_unused(state.tubes.of(id));
}

void run(State& state, Conn& conn, const PutBatchRefused& batch) {
  switch (batch.why) {
    case PutBatchRefused::Why::BadFormat:
      return state.turn.answer(conn.id, Word::BadFormat);
    case PutBatchRefused::Why::JobTooBig:
      return refuse_put(state, conn, PutRefusal::Size);
    case PutBatchRefused::Why::ExpectedCrlf:
      return refuse_put(state, conn, PutRefusal::Crlf);
  }
}

void run(State& state, Conn& conn, const Drain& /*drain*/) {
  state.is_draining = true;
  state.turn.answer(conn.id, Word::Draining);
}

void run(State& state, Conn& conn, const Undrain& /*undrain*/) {
  state.is_draining = false;
  state.turn.answer(conn.id, Word::NotDraining);
}

}  // namespace perennial::engine
