#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

// The server's log: one line per event on standard error, as logfmt or as JSON. Any thread may
// write to it, and none waits for whoever reads it: log_writer.h.
//   time=2026-03-01T12:00:00.123Z level=info at=store.recovered jobs=120 took_ms=8
namespace perennial::perenniald {

enum class Level : uint8_t { Debug, Info, Warning, Error };

struct Field {
  std::string_view key;
  std::string value;
};

// 0 shows Info and above; 1 and more show Debug too.
void set_log_verbosity(uint64_t verbosity);

struct LogForm {
  bool is_json = false;
  bool has_time = false;  // UTC, with milliseconds.
};

// How lines are written from now on. Without this call they are logfmt without a time.
void set_log_form(LogForm form);

// Whether a line of this level is written: where its fields would cost much for nothing.
bool is_logged(Level level);

void log(Level level, std::string_view at, std::initializer_list<Field> fields);
// The same with fields that are in logfmt already.
void log_fields(Level level, std::string_view at, std::string_view fields);

// Waits until all lines are written, for a second at most. Exit does so by itself; _exit does not.
void flush_log();

}  // namespace perennial::perenniald
