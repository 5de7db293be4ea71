#pragma once

#include <optional>
#include <string>

#include <uv.h>

#include "cmd/perenniald/http/api/saved_history.h"
#include "engine/types/basic.h"
#include "engine/types/status.h"

namespace perennial::perenniald {

// The file `db/history.json` of a data directory: the charts of the console over a restart. It is
// written whole every ten minutes and at a stop, and is not synced: what is lost of it is a part of
// a chart. A checkpoint has none.
//
// It is in `db`, where RocksDB leaves names alone that are not of its own. Beside `db` a server of
// version 1.0, or a tool of it, would refuse the directory because of a name that it does not know.
class HistoryFile {
 public:
  static constexpr Nanos interval = 600 * nanos_per_second;

  HistoryFile(uv_loop_t& loop, const std::string& data_dir);
  ~HistoryFile();
  HistoryFile(const HistoryFile&) = delete;
  HistoryFile& operator=(const HistoryFile&) = delete;

  // None: there is no such file, or it cannot be used, which the log says.
  std::optional<http::SavedHistory> read() const;
  // Whether the interval is over since the last call that said so.
  bool is_due(Nanos now);
  // On a thread of libuv's pool. Does nothing while an earlier one is being written.
  void save(http::SavedHistory history);
  // The same before it returns: for the end, where the loop has no clients any more.
  void save_now(const http::SavedHistory& history);

 private:
  struct Work;

  Status write(const http::SavedHistory& history) const;
  void on_saved(const Work& work);

  uv_loop_t& loop_;
  const std::string path_;
  Nanos saved_at_ = 0;  // 0: not since the start.
  bool is_writing_ = false;
};

}  // namespace perennial::perenniald
