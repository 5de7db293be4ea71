#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/tables/state.h"
#include "engine/types/command.h"

// What may take several turns: the long operations, each a class in the file that is called so
// (engine/tables/operation.h says what an operation is), and what a Tick does.
namespace perennial::engine {

// ---- operation.cc. Operations that a connection keeps between turns.
// Returns whether the operation is done. Only it keeps the bound of a turn.
bool advance(State& state, Operation& operation);
// Begins an operation of the connection, and goes on until it is done or the turn is over. The end
// of one may delete the connection.
void start(State& state, Conn& conn, std::unique_ptr<Operation> operation);
// Ends the operation of a closing connection where it is, if there is one.
void abandon(State& state, Conn& conn);
void go_on_left_over(State& state);

// ---- One file each. What a command begins answers the connection at the end.
std::unique_ptr<Operation> make_kick(Conn& conn, uint32_t bound);
std::unique_ptr<Operation> make_kick_tube(State& state, Conn& conn, const KickTube& kick);
std::unique_ptr<Operation> make_flush(State& state, Conn& conn, const FlushTube& flush);
std::unique_ptr<Operation> make_move(State& state, Conn& conn, const MoveTube& move);
// The end of a connection: it leaves its tubes, and then its reservations end.
void close(State& state, Conn& conn, bool attempts_count);
// The connection has left its tubes, and gives its jobs back from the next turn on.
void give_back_later(State& state, Conn& conn);

// ---- What is due by now, until the turn is over.
void end_expired(State& state);
void end_cooldowns(State& state);
void end_delays(State& state);
void fire_schedules(State& state);
// The same for one schedule, before it changes: what has come belongs to what is set until now. One
// whose put was refused is left.
void pass_due(State& state, const std::string& name);
void end_pauses(State& state);
void refill_rates(State& state);
void end_conn_deadlines(State& state);
void leave_tubes(State& state);

// ---- listings.cc
// Lists the tubes that `watcher` watches, or all if it is 0, in parts.
void list_in_parts(State& state, ConnId asker, ConnId watcher);
void give_listings(State& state);

}  // namespace perennial::engine
