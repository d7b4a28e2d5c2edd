#include "references.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"

namespace ulp::io {
namespace {

constexpr std::size_t longest_chain = 64;
constexpr std::size_t longest_text = 4096;
constexpr std::size_t most_seen = 100'000;  // looked at, as references multiply what they stand for

bool is_reference(const config_node& node) {
  return node.what == config_node::kind::scalar && node.text.find("${") != std::string::npos;
}

class references {
 public:
  references(const std::string& file, config_node& root) : file_(file), root_(root) {}

  void resolve_all() {
    std::vector<config_node*> none;
    resolve(root_, none, 1);
  }

 private:
  using path_of_nodes = std::vector<config_node*>;  // from the root to the parent

  struct place {
    config_node* node = nullptr;
    path_of_nodes parents;
  };

  void resolve(config_node& node, path_of_nodes& parents, std::size_t line) {
    count(1, line);
    if (is_reference(node)) {
      replace(node, parents, line);
      return;
    }
    parents.push_back(&node);
    for (config_entry& e : node.entries) resolve(e.value, parents, e.line);
    parents.pop_back();
  }

  void replace(config_node& node, const path_of_nodes& parents, std::size_t line) {
    if (std::ranges::find(busy_, &node) != busy_.end())
      throw input_error(file_, at_line(line), in_quotes(node.text) + " leads back to itself; write its value");
    if (busy_.size() == longest_chain)
      throw input_error(
          file_, at_line(line),
          in_quotes(node.text) + " ends a chain of more than " + std::to_string(longest_chain) + " references");
    busy_.push_back(&node);
    if (std::optional<config_node> value = value_of(node.text, parents, line)) node = std::move(*value);
    busy_.pop_back();
  }

  // Nothing where one of the references in the text stays open.
  std::optional<config_node> value_of(const std::string& text, const path_of_nodes& parents, std::size_t line) {
    std::string all;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t start = std::min(text.find("${", at), text.size());
      if (start > 0 && start < text.size() && text[start - 1] == '\\') return {};
      all += text.substr(at, start - at);
      if (start == text.size()) break;
      const std::size_t end = text.find('}', start);
      if (end == std::string::npos) return {};
      const std::optional<config_node> one =
          referred(std::string_view{text}.substr(start + 2, end - start - 2), parents, line);
      if (!one) return {};
      if (start == 0 && end + 1 == text.size()) return one;
      if (one->what != config_node::kind::scalar) return {};
      all += one->text;
      if (all.size() > longest_text) throw input_error(file_, at_line(line), "grows too long by its references");
      at = end + 1;
    }
    return config_node{.what = config_node::kind::scalar, .quoted = true, .text = std::move(all)};
  }

  std::optional<config_node> referred(std::string_view path, const path_of_nodes& parents, std::size_t line) {
    if (path.empty() || path.find_first_of(":$ \\'\"") != std::string_view::npos) return {};
    place from{&root_, {}};
    if (const std::size_t dots = std::min(path.find_first_not_of('.'), path.size()); dots > 0) {
      if (dots > parents.size()) return {};
      from.node = parents[parents.size() - dots];
      from.parents.assign(parents.begin(), parents.end() - static_cast<std::ptrdiff_t>(dots));
      path.remove_prefix(dots);
    }
    if (!go(from, path, line)) return {};
    resolve(*from.node, from.parents, line);
    if (from.node->open || is_reference(*from.node)) return {};
    count(nodes_in(*from.node), line);
    return *from.node;
  }

  // Down "a.b[0]", through references; false where there is no such place.
  bool go(place& from, std::string_view path, std::size_t line) {
    while (!path.empty()) {
      const std::size_t end = std::min(path.find_first_of(".[]"), path.size());
      const std::string_view key = path.substr(0, end);
      path.remove_prefix(std::min(end + 1, path.size()));
      if (key.empty()) continue;
      if (is_reference(*from.node)) replace(*from.node, from.parents, line);
      config_node* const next = below(*from.node, key);
      if (next == nullptr) return false;
      from.parents.push_back(from.node);
      from.node = next;
    }
    return true;
  }

  static config_node* below(config_node& node, std::string_view key) {
    if (node.what == config_node::kind::mapping) {
      const auto found = std::ranges::find(node.entries, key, &config_entry::key);
      return found == node.entries.end() ? nullptr : &found->value;
    }
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
    const bool is_index = error == std::errc{} && end == key.data() + key.size();
    return node.what == config_node::kind::sequence && is_index && index < node.entries.size()
               ? &node.entries[index].value
               : nullptr;
  }

  void count(std::size_t nodes, std::size_t line) {
    nodes_ += nodes;
    if (nodes_ > most_seen)
      throw input_error(file_, at_line(line), "holds references to more than " + std::to_string(most_seen) + " values");
  }

  const std::string& file_;
  config_node& root_;
  path_of_nodes busy_;
  std::size_t nodes_ = 0;
};

bool has_references(const config_node& node) {
  return is_reference(node) ||
         std::ranges::any_of(node.entries, [](const config_entry& e) { return has_references(e.value); });
}

}  // namespace

void resolve_references(const std::string& file, config_node& root) {
  if (has_references(root)) references(file, root).resolve_all();
}

}  // namespace ulp::io
