#include "section.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <ulp/formats/name_suggestions.hpp>

#include "bytes/text.hpp"

namespace ulp::io {
namespace {

std::optional<double> number_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

// As YAML 1.1 has them, which the frameworks' own parsers read.
std::optional<bool> flag_of(std::string_view text) {
  constexpr std::array yes{"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"};
  constexpr std::array no{"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"};
  if (std::ranges::find(yes, text) != yes.end()) return true;
  if (std::ranges::find(no, text) != no.end()) return false;
  return {};
}

// A value in a line for people: as written, made safe for terminals.
std::string plain(const std::string& text) {
  const std::string quoted = in_quotes(text);
  return quoted.substr(1, quoted.size() - 2);
}

std::string shown(const config_node& value) {
  switch (value.what) {
    case config_node::kind::null: return "null";
    case config_node::kind::scalar: return in_quotes(value.text);
    case config_node::kind::sequence: return "a list";
    case config_node::kind::mapping: return "a mapping";
  }
  return "";
}

// As nearest_name compares them, and without the dashes of options.
std::string folded(std::string_view name) {
  std::string text{name.substr(std::min(name.find_first_not_of('-'), name.size()))};
  for (char& c : text) c = c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

bool swaps_neighbours(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  const auto [first, other] = std::ranges::mismatch(a, b);
  const auto i = static_cast<std::size_t>(first - a.begin());
  return i + 1 < a.size() && a[i] == b[i + 1] && a[i + 1] == b[i] && a.substr(i + 2) == b.substr(i + 2);
}

}  // namespace

std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view blanks = " \n";
  std::vector<std::string_view> words;
  for (std::size_t at = text.find_first_not_of(blanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(blanks, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(blanks, end);
  }
  return words;
}

std::string near_key(std::string_view key, const std::vector<std::string_view>& known) {
  constexpr std::size_t longest = 100;
  constexpr std::size_t short_name = 5;
  if (key.size() > longest) return "";
  const std::string_view nearest = nearest_name(key, known);
  if (nearest.empty()) return "";
  const std::string a = folded(key);
  const std::string b = folded(nearest);
  const std::size_t most = std::min(a.size(), b.size()) <= short_name ? 1 : 2;
  return edit_distance(a, b) <= most || swaps_neighbours(a, b) ? std::string{nearest} : "";
}

std::string unknown_text(std::string_view key, const std::string& what, std::string_view near) {
  return in_quotes(key) + " is not a known " + what + ", and nearly " + in_quotes(near) + "; correct it or remove it";
}

std::string open_reason(const config_node& value) {
  const bool is_changed = value.open && (value.text.starts_with("assigned ") || value.text.starts_with("changed ") ||
                                         value.text.starts_with("deleted "));
  return is_changed ? "is " + value.text + ", and only a run tells what counts; write it once"
                    : "is " + in_quotes(value.text) + ", whose value this file does not say; write it";
}

std::string number_text(double x) { return to_string(parameter_value{x}); }

// Of a section its keys say it. That something is off leaves open what is on.
void import_run::settles(std::string_view key, const config_node& value) {
  const auto what = concern_of(key);
  if (!what || value.what == config_node::kind::null || value.what == config_node::kind::mapping) return;
  if (*what != concern::precision || !is_false(value)) settled[static_cast<std::size_t>(*what)] = true;
}

std::size_t keys_in(const config_node& node, const known_keys& known) {
  const auto read = words_of(known.read);
  const auto not_read = words_of(known.not_read);
  return static_cast<std::size_t>(std::ranges::count_if(node.entries, [&](const config_entry& e) {
    return std::ranges::find(read, e.key) != read.end() || std::ranges::find(not_read, e.key) != not_read.end();
  }));
}

config_section::config_section(import_run& run, std::string path, const config_entry& entry, const known_keys& known)
    : run_(&run), path_(std::move(path)), node_(&entry.value), line_(entry.line) {
  if (node_->what != config_node::kind::mapping)
    throw input_error(run.file, at_line(line_),
                      path_.empty() ? "is not a mapping of keys to values"
                                    : in_quotes(path_) + " holds keys and values, not " + shown(*node_));
  const std::vector<std::string_view> read = words_of(known.read);
  const std::vector<std::string_view> not_read = words_of(known.not_read);
  for (const config_entry& e : node_->entries) {
    if (std::ranges::find(read, e.key) != read.end()) {
      run.read.push_back(name_of(e.key));
      run.settles(concern_of(e.key) ? std::string_view{e.key} : path_, e.value);
      continue;
    }
    if (std::ranges::find(not_read, e.key) != not_read.end()) {
      run.not_read.push_back(name_of(e.key));
      continue;
    }
    if (e.key == "()" || (e.key == "0" && node_->find("()") != nullptr))
      continue;  // of a call of Python what is called, and its first argument
    const std::string where = path_.empty() ? " key" : " key of " + in_quotes(path_);
    if (const std::string near = near_key(e.key, read); !near.empty())
      throw input_error(run.file, at_line(e.line), unknown_text(e.key, run.out.framework + where, near));
    run.unknown.push_back({name_of(e.key), e.line, e.value});
  }
}

const config_entry* config_section::find(std::string_view key) const {
  const config_entry* const found = node_->find(key);
  return found == nullptr || found->value.what == config_node::kind::null ? nullptr : found;
}

std::optional<double> config_section::number(std::string_view key) const {
  const config_entry* const e = find(key);
  if (e == nullptr) return {};
  const auto value = is_number(key) ? number_of(e->value.text) : std::nullopt;
  if (!value || !std::isfinite(*value)) wrong_kind(key, "a number");
  return value;
}

std::optional<std::int64_t> config_section::integer(std::string_view key) const {
  const auto value = number(key);
  if (!value) return {};
  constexpr double most = 9e15;
  if (*value != std::floor(*value) || std::abs(*value) > most) wrong_kind(key, "an integer");
  return static_cast<std::int64_t>(*value);
}

std::optional<bool> config_section::flag(std::string_view key) const {
  const config_entry* const e = find(key);
  if (e == nullptr) return {};
  const bool plain = e->value.what == config_node::kind::scalar && !e->value.quoted;
  const auto value = plain ? flag_of(e->value.text) : std::nullopt;
  if (!value) wrong_kind(key, "true or false");
  return value;
}

std::optional<std::string> config_section::text(std::string_view key) const {
  const config_entry* const e = find(key);
  if (e == nullptr) return {};
  if (e->value.what != config_node::kind::scalar || e->value.open) wrong_kind(key, "a word");
  return e->value.text;
}

double config_section::positive(std::string_view key, double otherwise) const {
  const double value = number(key).value_or(otherwise);
  if (!(value > 0)) fail(key, "must be above 0");
  return value;
}

bool config_section::is_number(std::string_view key) const {
  const config_entry* const e = find(key);
  return e != nullptr && e->value.what == config_node::kind::scalar && !e->value.quoted && number_of(e->value.text);
}

std::optional<config_section> config_section::section(std::string_view key, const known_keys& known) const {
  const config_entry* const e = find(key);
  if (e == nullptr) return {};
  return config_section(*run_, name_of(key), *e, known);
}

std::string config_section::name_of(std::string_view key) const {
  std::string name = path_;
  if (!path_.empty()) name += '.';
  name += key;
  return name;
}

std::string config_section::given(std::string_view key) const {
  const config_entry* const e = node_->find(key);
  if (e == nullptr) return name_of(key) + " is not given";
  if (e->value.what == config_node::kind::null) return name_of(key) + " = null";
  return e->value.what == config_node::kind::scalar ? name_of(key) + " = " + plain(e->value.text) : name_of(key);
}

void config_section::fail(std::string_view key, const std::string& reason) const {
  const config_entry* const e = node_->find(key);
  throw input_error(run_->file, at_line(e == nullptr ? line_ : e->line), name_of(key) + " " + reason);
}

void config_section::wrong_kind(std::string_view key, const std::string& wanted) const {
  const config_node& value = find(key)->value;
  if (is_open(value)) fail(key, open_reason(value));
  if (const config_entry* const callee = value.find("()"))
    fail(key, "is what " + callee->value.text + "() returns, which this file does not say; write it");
  const bool as_text =
      value.what == config_node::kind::scalar && value.quoted && (number_of(value.text) || flag_of(value.text));
  fail(key, "takes " + wanted + ", not " + (as_text ? "the text " : "") + shown(value));
}

void read_microbatches(const config_section& s, std::string_view key) {
  if (!s.has(key)) return;
  const std::int64_t count = s.is_number(key) ? *s.integer(key) : 0;
  if (count <= 0) {
    s.means(key, "it does not say how many micro-batches are accumulated for a step");
    return;
  }
  s.means(key, count == 1 ? "a step has one micro-batch" : "so many micro-batches are accumulated for a step");
  s.run().out.microbatches = static_cast<std::uint64_t>(count);
}

}  // namespace ulp::io
