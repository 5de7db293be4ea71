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
void append_yaml(std::string& out, std::string_view word_and_space, std::string_view yaml) {
  append_counted(out, word_and_space, yaml.size());
  out += yaml;
  out += "\r\n";
}

void append_ok(std::string& out, std::string_view yaml) {
  append_yaml(out, "OK ", yaml);
}

// A path or a message may hold anything; in double quotes, with escapes, it is one line of YAML.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

std::string checkpoint_yaml(const CheckpointMade& made) {
  const std::string bytes = made.bytes ? fmt::format("bytes: {}\n", *made.bytes) : "";
  return fmt::format("---\nname: {}\npath: {}\ncommit: {}\njobs: {}\n{}took-ms: {}\n",
                     quoted(made.name), quoted(made.path), made.commit, made.jobs, bytes,
                     made.took_ms);
}

constexpr std::string_view yaml_start = "---\n";

NamesSize size_of(const TubeNames& tubes) {
  NamesSize size = {.count = tubes.names.size()};
  for (const std::string& name : tubes.names) size.bytes += name.size();
  return size;
}

// One overload for each reply, but for those that are a word and one number.
struct Appender {
  std::string& out;

  template <typename Counted>
  void operator()(const Counted& reply) const {
    const auto& [number] = reply;
    out += Counted::word;
    out += ' ';
    append_counted(out, "", number);
  }

  void operator()(Word word) const {
    out += text_of(word);
    out += "\r\n";
  }
  void operator()(const Using& reply) const {
    out += "USING ";
    out += reply.tube;
    out += "\r\n";
  }
  void operator()(const JobReply& /*reply*/) const { CHECK(!"a job needs its body"); }
  void operator()(const std::unique_ptr<TubeNames>& reply) const {
    append_names_head(out, size_of(*reply));
    append_names(out, *reply);
    out += names_tail;
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
  void operator()(const std::unique_ptr<CheckpointMade>& reply) const {
    append_ok(out, checkpoint_yaml(*reply));
  }
  void operator()(const std::unique_ptr<CheckpointFailed>& reply) const {
    append_yaml(out, "FAILED ", fmt::format("---\nreason: {}\n", quoted(reply->reason)));
  }
};

}  // namespace

void append_reply(std::string& out, const Reply& reply) {
  std::visit(Appender{out}, reply);
}

void append_job_head(std::string& out, const JobReply& reply) {
  out += reply.kind == JobReply::Kind::Reserved ? "RESERVED " : "FOUND ";
  append_number(out, reply.id);
  out += ' ';
  append_counted(out, "", reply.body_bytes);
}

size_t names_bytes(const NamesSize& size) {
  constexpr size_t line_bytes = 3;  // Besides the name.
  return yaml_start.size() + size.count * line_bytes + size.bytes;
}

void append_names_head(std::string& out, const NamesSize& size) {
  append_counted(out, "OK ", names_bytes(size));
  out += yaml_start;
}

void append_names(std::string& out, const TubeNames& names) {
  for (const std::string& name : names.names) {
    out += "- ";
    out += name;
    out += '\n';
  }
}

void append_stats(std::string& out, const EngineStats& engine, const ProcessFacts& process,
                  const StoreFacts& store) {
  append_ok(out, server_yaml(engine, process, store));
}

}  // namespace perennial::wire
