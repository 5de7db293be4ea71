#pragma once

#include <string>
#include <string_view>

#include "cmd/perennial/dump/dump_format.h"
#include "cmd/perennial/dump/survey.h"
#include "cmd/perennial/output/output.h"
#include "engine/types/basic.h"
#include "engine/types/note.h"
#include "engine/types/transition.h"

// A dump in a form for people. Only this form depends on the clock.
namespace perennial::tool {

// "42s", "12m05s", "3h07m", "9d04h". A negative duration is "0s".
std::string table_duration(Nanos duration);

// Prints a line for each job, in columns, and below it one for each of its notes.
class DumpTable {
 public:
  DumpTable(Output& out, const Survey& survey, Nanos now);

  void header();
  void job(const JobRow& row, std::string_view tube, const DumpBody& body);
  void note(JobId job, const Note& note);

 private:
  Output& out_;
  const Nanos now_;
  const bool has_body_;
  size_t id_width_;
  size_t tube_width_;
};

// Prints a line for each tube with jobs or a pause, by name, and one for the total.
void print_summary(Output& out, const Survey& survey, Nanos now);
void print_summary_json(Output& out, const Survey& survey, Nanos now);

}  // namespace perennial::tool
