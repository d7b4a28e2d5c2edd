#include "tree.hpp"

#include <algorithm>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"

namespace ulp::io {
namespace {

// More than any configuration needs, less than hurts: aliases of YAML multiply what they stand for.
constexpr std::size_t deepest = 64;
constexpr std::size_t most_nodes = 20'000;

}  // namespace

const config_entry* config_node::find(std::string_view key) const {
  const auto found = std::ranges::find(entries, key, &config_entry::key);
  return found == entries.end() ? nullptr : &*found;
}

std::size_t nodes_in(const config_node& node) {
  std::size_t count = 1;
  for (const config_entry& entry : node.entries) count += nodes_in(entry.value);
  return count;
}

bool is_open(const config_node& value) {
  return value.what == config_node::kind::scalar && (value.open || value.text.find_first_of("$`") != std::string::npos);
}

std::string at_line(std::size_t line) { return "line " + std::to_string(line); }

bool tree_builder::expects_key() const noexcept {
  return !levels_.empty() && levels_.back().node.what == config_node::kind::mapping && !levels_.back().has_key;
}

void tree_builder::key(const std::string& text, std::size_t line) {
  level& top = levels_.back();
  if (const config_entry* const before = top.node.find(text))
    throw input_error(file_, at_line(line),
                      "the key " + in_quotes(text) + " is given twice, first on line " + std::to_string(before->line));
  top.key = text;
  top.key_line = line;
  top.has_key = true;
}

void tree_builder::open(config_node::kind what, std::size_t line) {
  if (levels_.size() == deepest)
    throw input_error(file_, at_line(line), "is nested deeper than " + std::to_string(deepest) + " levels");
  levels_.push_back({.node = {.what = what}, .line = line});
}

void tree_builder::merge() {
  config_node& node = levels_.back().node;
  if (node.what != config_node::kind::mapping || node.find("<<") == nullptr) return;
  const auto at = std::ranges::find(node.entries, "<<", &config_entry::key);
  const config_entry merged = std::move(*at);
  node.entries.erase(at);
  const auto take = [&](const config_node& from) {
    if (from.what != config_node::kind::mapping)
      throw input_error(file_, at_line(merged.line), "'<<' takes a mapping or a list of them");
    for (const config_entry& e : from.entries)
      if (node.find(e.key) == nullptr) node.entries.push_back(e);
  };
  if (merged.value.what == config_node::kind::sequence)
    for (const config_entry& e : merged.value.entries) take(e.value);
  else
    take(merged.value);
}

const config_node& tree_builder::close() {
  level done = std::move(levels_.back());
  levels_.pop_back();
  nodes_ -= nodes_in(done.node) - 1;  // they are counted again as part of it
  return put(std::move(done.node), done.line);
}

const config_node& tree_builder::put(config_node node, std::size_t line) {
  nodes_ += nodes_in(node);
  if (nodes_ > most_nodes)
    throw input_error(file_, at_line(line), "holds more than " + std::to_string(most_nodes) + " values");
  if (levels_.empty()) {
    root_ = std::move(node);
    return root_;
  }
  level& top = levels_.back();
  top.node.entries.push_back({std::move(top.key), top.has_key ? top.key_line : line, std::move(node)});
  top.key.clear();
  top.has_key = false;
  return top.node.entries.back().value;
}

}  // namespace ulp::io
