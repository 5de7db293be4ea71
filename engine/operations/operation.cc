#include "engine/tables/operation.h"

#include <utility>
#include <vector>

#include "engine/operations/operations.h"

namespace perennial::engine {
namespace {

void go_on(State& state, Conn& conn) {
  if (!advance(state, *conn.operation)) return state.left_over.push_back(conn.id);
  // The connection may be deleted by finish().
  const std::unique_ptr<Operation> done = std::move(conn.operation);
  done->finish(state);
}

}  // namespace

// next() is called before the bound is checked, so that an operation whose last step ends the turn
// is done and needs no further turn.
bool advance(State& state, Operation& operation) {
  if (!operation.has_begun) operation.has_begun = operation.begin(state);
  if (!operation.has_begun) return false;
  operation.is_interrupted = false;
  while (Job* const job = operation.next(state)) {
    if (state.turn.is_over() && !operation.is_whole) {
      operation.suspend(state);
      return false;
    }
    operation.step(state, *job);
  }
  return !operation.is_interrupted;
}

void start(State& state, Conn& conn, std::unique_ptr<Operation> operation) {
  conn.operation = std::move(operation);
  go_on(state, conn);
}

void abandon(State& state, Conn& conn) {
  if (!conn.operation) return;
  conn.operation->abandon(state);
  std::erase(state.left_over, conn.id);
  conn.operation.reset();
}

// go_on() appends a connection again whose operation is not done.
void go_on_left_over(State& state) {
  for (const ConnId id : std::exchange(state.left_over, {})) go_on(state, state.conns.of(id));
}

}  // namespace perennial::engine
