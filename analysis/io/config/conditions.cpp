#include "conditions.hpp"

#include <algorithm>
#include <string>

#include "bytes/ascii.hpp"
#include "section.hpp"

namespace ulp::io {
namespace {

// "float16" of "torch.float16"; numbers stay.
std::string plain_value(std::string_view text) {
  const bool is_number =
      !text.empty() && (text.front() == '-' || text.front() == '.' || (text.front() >= '0' && text.front() <= '9'));
  if (!is_number) text.remove_prefix(text.find_last_of('.') + 1);
  return in_small_letters(text);
}

bool is_same(const std::string& value, std::string_view wanted) {
  return value == wanted || wanted == "*" || (value == "1" && wanted == "true") || (value == "0" && wanted == "false");
}

bool is_value(const config_node& node, std::string_view wanted) {
  if (node.what == config_node::kind::scalar) return is_same(plain_value(node.text), wanted);
  return node.what == config_node::kind::sequence &&
         std::ranges::any_of(node.entries, [&](const config_entry& e) { return is_value(e.value, wanted); });
}

// "fp16" of the word "amp_dtype=fp16" among the defaults.
std::string_view default_of(std::string_view key, std::string_view defaults) {
  for (const std::string_view word : words_of(defaults))
    if (const condition c = parsed(word); c.key == key) return c.values;
  return {};
}

bool holds(const condition& c, const config_node& root, std::string_view defaults) {
  const config_entry* const given = entry_at(root, c.key);
  if (c.values.empty()) return (given != nullptr) != c.negated;
  const config_node otherwise{.what = config_node::kind::scalar, .text = std::string{default_of(c.key, defaults)}};
  const config_node& node = given != nullptr ? given->value : otherwise;
  bool any = false;
  for (std::string_view rest = c.values; !rest.empty();) {
    const std::size_t end = std::min(rest.find('|'), rest.size());
    any = any || is_value(node, rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return any != c.negated;
}

}  // namespace

condition parsed(std::string_view word) {
  condition c;
  if (word.starts_with('!')) {
    c.negated = true;
    word.remove_prefix(1);
  }
  const std::size_t equals = word.find('=');
  c.key = word.substr(0, equals);
  if (equals != std::string_view::npos) c.values = word.substr(equals + 1);
  return c;
}

const config_entry* entry_at(const config_node& root, std::string_view path) {
  const config_node* node = &root;
  const config_entry* found = nullptr;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    found = node->what == config_node::kind::mapping ? node->find(path.substr(0, dot)) : nullptr;
    if (found == nullptr || found->value.what == config_node::kind::null) return nullptr;
    node = &found->value;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return found;
}

bool hold(conditions all, const config_node& root, std::string_view defaults) {
  return std::ranges::all_of(words_of(all), [&](std::string_view word) { return holds(parsed(word), root, defaults); });
}

}  // namespace ulp::io
