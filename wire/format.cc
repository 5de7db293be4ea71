#include "wire/format.h"

#include <variant>

#include <fmt/format.h>

#include "engine/types/check.h"
#include "wire/stats.h"
#include "wire/words.h"

namespace perennial::wire {
namespace {

void append_number(std::string& out, uint64_t number) {
  const fmt::format_int text(number);
  out.append(text.data(), text.size());
}

void append_counted(std::string& out, std::string_view word_and_space, uint64_t number) {
  out += word_and_space;
  append_number(out, number);
  out += "\r\n";
}

// protocol.txt, "stats-job": the count covers the document through its last LF, not the CRLF.
void append_ok(std::string& out, std::string_view yaml) {
  append_counted(out, "OK ", yaml.size());
  out += yaml;
  out += "\r\n";
}

std::string names_yaml(const TubeNames& tubes) {
  std::string yaml = "---\n";
  for (const std::string& name : tubes.names) {
    yaml += "- ";
    yaml += name;
    yaml += '\n';
  }
  return yaml;
}

// One overload for each reply.
struct Appender {
  std::string& out;

  void operator()(Word word) const {
    out += text_of(word);
    out += "\r\n";
  }
  void operator()(const Inserted& reply) const { append_counted(out, "INSERTED ", reply.id); }
  void operator()(const InsertedBuried& reply) const { append_counted(out, "BURIED ", reply.id); }
  void operator()(const Using& reply) const {
    out += "USING ";
    out += reply.tube;
    out += "\r\n";
  }
  void operator()(const Watching& reply) const { append_counted(out, "WATCHING ", reply.count); }
  void operator()(const KickedCount& reply) const { append_counted(out, "KICKED ", reply.count); }
  void operator()(const JobReply& /*reply*/) const { CHECK(!"a job needs its body"); }
  void operator()(const std::unique_ptr<TubeNames>& reply) const {
    append_ok(out, names_yaml(*reply));
  }
  void operator()(const std::unique_ptr<JobStats>& reply) const {
    append_ok(out, job_yaml(*reply));
  }
  void operator()(const std::unique_ptr<TubeStats>& reply) const {
    append_ok(out, tube_yaml(*reply));
  }
  void operator()(const std::unique_ptr<EngineStats>& /*reply*/) const {
    CHECK(!"stats needs the facts of process and store");
  }
};

}  // namespace

void append_reply(std::string& out, const Reply& reply) {
  std::visit(Appender{out}, reply);
}

void append_job(std::string& out, const JobReply& reply, std::string_view body) {
  CHECK(body.size() == reply.body_bytes);
  out += reply.kind == JobReply::Kind::Reserved ? "RESERVED " : "FOUND ";
  append_number(out, reply.id);
  out += ' ';
  append_counted(out, "", reply.body_bytes);
  out += body;
  out += "\r\n";
}

void append_stats(std::string& out, const EngineStats& engine, const ProcessFacts& process,
                  const StoreFacts& store) {
  append_ok(out, server_yaml(engine, process, store));
}

}  // namespace perennial::wire
