#pragma once

#include <string>
#include <string_view>

#include "engine/types/status.h"

// Puts another database in the place of that of a data directory, such that a crash at any point
// leaves the old one or the new one. The directory itself stays, because it may be a mount point.
//
// The new database is made below incoming/ and becomes complete and durable there. Then it is
// renamed to replacement/. From that moment on the old database is gone: whoever opens the
// directory next finishes the exchange. Both are called with the lock of the directory held.
namespace perennial::store {

// Of a copy that is under way, of a database that was complete when it got this name, and of a
// copy that is made for another node.
inline constexpr std::string_view incoming_name = "incoming";
inline constexpr std::string_view replacement_name = "replacement";
inline constexpr std::string_view peer_name = "peer";
// What the name of a directory begins with that keeps a damaged database: a repair makes it below
// `from`, and the exchange moves the old database into it and then the directory into the data
// directory. It has the file of this name, too.
inline constexpr std::string_view aside_prefix = "damaged-";
inline constexpr std::string_view lost_jobs_name = "lost-jobs.jsonl";

// Replaces the database by `from`/db. `from` is a directory below incoming/ and durable. After an
// error the next open finishes the exchange, if it had begun.
Status replace_database(const std::string& data_dir, const std::string& from);

// Finishes an exchange that a crash has interrupted, and removes copies that it left.
Status finish_replacement(const std::string& data_dir);

}  // namespace perennial::store
