#include "cmd/common/yaml/one_document.h"

#include <sstream>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

namespace perennial::common {
namespace {

// Notes where a document begins, and its content, and takes no notice of what follows.
class Beginnings : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    start_ = mark;
    content_.reset();
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { note(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { note(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string&) override {
    note(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    note(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    note(mark);
  }
  void OnMapEnd() override {}

  const YAML::Mark& start() const { return start_; }
  const YAML::Mark& content() const { return content_ ? *content_ : start_; }

 private:
  void note(const YAML::Mark& mark) {
    if (!content_) content_ = mark;
  }

  YAML::Mark start_;
  std::optional<YAML::Mark> content_;
};

YamlProblem problem_at(const YAML::Mark& mark, std::string what) {
  return {.line = mark.line + 1, .what = std::move(what)};
}

std::optional<YamlProblem> problem_of(YAML::Parser& parser) {
  Beginnings document;
  if (!parser.HandleNextDocument(document)) return {};
  YAML::Mark start = document.start();
  if (!parser.HandleNextDocument(document)) return {};
  const YAML::Mark second = document.content();
  // The parser goes on from where it was, so what it cannot use is one empty document after the
  // other.
  bool is_stuck = document.start().pos == start.pos;
  if (!is_stuck) {
    start = document.start();
    is_stuck = parser.HandleNextDocument(document) && document.start().pos == start.pos;
  }
  return problem_at(
      second, is_stuck ? "what stands here belongs to no value" : "a second document begins here");
}

}  // namespace

std::optional<YamlProblem> not_one_document(const std::string& text) {
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    return problem_of(parser);
  } catch (const YAML::Exception& error) {
    return problem_at(error.mark, error.msg);
  }
}

}  // namespace perennial::common
