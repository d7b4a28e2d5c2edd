#include <map>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "tree.hpp"

namespace ulp::io {
namespace {

std::size_t line_of(const YAML::Mark& mark) { return mark.line < 0 ? 1 : static_cast<std::size_t>(mark.line) + 1; }

// The tag of a plain scalar is "?". speechbrain/HyperPyYAML hyperpyyaml/core.py: "!ref <a[b]>" is what another key holds, and what has
// another tag of its own ("!apply:f") is computed.
config_node scalar_of(const std::string& tag, const std::string& text) {
  if (tag == "!ref" && text.starts_with('<') && text.find('>') == text.size() - 1)
    return {.what = config_node::kind::scalar, .text = "${" + text.substr(1, text.size() - 2) + "}"};
  const bool is_computed = tag.size() > 1 && tag.front() == '!';
  return {.what = config_node::kind::scalar, .quoted = tag != "?", .open = is_computed, .text = text};
}

// yaml-cpp's own nodes keep of keys given twice whichever comes first, and lose the lines of keys; its events do not.
class yaml_handler final : public YAML::EventHandler {
 public:
  explicit yaml_handler(const std::string& file) : file_(file), builder_(file) {}

  [[nodiscard]] config_node take() { return builder_.take(); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) throw input_error(file_, at_line(line_of(mark)), "holds a second YAML document; give one");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (builder_.expects_key())
      builder_.key("null", line_of(mark));
    else
      remember(anchor, builder_.put({}, line_of(mark)));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_as_key(mark);
    const auto meant = anchored_.find(anchor);
    if (meant == anchored_.end()) throw input_error(file_, at_line(line_of(mark)), "an alias stands inside its anchor");
    builder_.put(meant->second, line_of(mark));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (builder_.expects_key())
      builder_.key(value, line_of(mark));
    else
      remember(anchor, builder_.put(scalar_of(tag, value), line_of(mark)));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, config_node::kind::sequence, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, config_node::kind::mapping, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  void refuse_as_key(const YAML::Mark& mark) const {
    if (builder_.expects_key()) throw input_error(file_, at_line(line_of(mark)), "a key is not a word");
  }
  void open(const YAML::Mark& mark, config_node::kind what, YAML::anchor_t anchor) {
    refuse_as_key(mark);
    builder_.open(what, line_of(mark));
    anchors_.push_back(anchor);
  }
  void close() {
    const YAML::anchor_t anchor = anchors_.back();
    anchors_.pop_back();
    builder_.merge();
    remember(anchor, builder_.close());
  }
  void remember(YAML::anchor_t anchor, const config_node& node) {
    if (anchor != YAML::NullAnchor) anchored_[anchor] = node;
  }

  std::string file_;
  tree_builder builder_;
  std::vector<YAML::anchor_t> anchors_;  // of the open levels
  std::map<YAML::anchor_t, config_node> anchored_;
  int documents_ = 0;
};

}  // namespace

config_node parse_yaml(const std::string& file, std::string_view text) {
  yaml_handler handler(file);
  std::istringstream in{std::string(text)};
  try {
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(handler)) {
    }
  } catch (const YAML::Exception& problem) {
    throw input_error(file, at_line(line_of(problem.mark)), "is not YAML: " + problem.msg);
  }
  return handler.take();
}

}  // namespace ulp::io
