// The statements of a Python file that give names their values, as a tree. Nothing is run: what only running it would tell
// is kept as its text and marked as open, also a value that a branch assigns. Bodies of functions are read like any other
// line.
#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "python_values.hpp"

namespace ulp::io {
namespace {

using words = std::span<const std::string_view>;

bool is_one_of(words all, std::string_view word) { return std::ranges::find(all, word) != all.end(); }
bool is_one_of(std::initializer_list<std::string_view> all, std::string_view word) {
  return std::ranges::find(all, word) != all.end();
}

constexpr std::array<std::string_view, 12> heads{"if",     "elif",    "else", "for",   "while", "try",
                                                 "except", "finally", "with", "class", "def",   "async"};
constexpr std::array<std::string_view, 5> branches{"if", "elif", "else", "while", "except"};
constexpr std::array<std::string_view, 11> augmented{
    "+=", "-=", "*=", "/=", "//=", "%=", "&=", "|=", "^=", "**=", "@="};

bool same(const config_node& a, const config_node& b) {
  return a.what == b.what && a.open == b.open && a.text == b.text && a.entries.size() == b.entries.size() &&
         std::ranges::equal(a.entries, b.entries, [](const config_entry& x, const config_entry& y) {
           return x.key == y.key && same(x.value, y.value);
         });
}

config_node open_text(std::string text) {
  return {.what = config_node::kind::scalar, .open = true, .text = std::move(text)};
}

bool is_call(const config_node& node) { return node.find("()") != nullptr; }

// Tokens from one up to another.
struct token_range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// The keys of x.y["z"] are x, y and z. x[0] is a part of x.
struct target {
  std::vector<std::string> keys;
  bool is_part = false;
};

class python_reader {
 public:
  python_reader(const std::string& file, std::string_view text) : in_(file, text) {}

  config_node read() {
    while (!in_.ends())
      if (in_.is(python_token::kind::line_end))
        ++in_.at;
      else
        line();
    return std::move(in_.assigned);
  }

 private:
  [[nodiscard]] bool is_name(std::size_t at) const { return in_.tokens()[at].what == python_token::kind::name; }

  // The first sign of these outside of brackets, or the end.
  [[nodiscard]] std::size_t find(std::initializer_list<std::string_view> signs, token_range in) const {
    return find(words{signs.begin(), signs.size()}, in);
  }
  [[nodiscard]] std::size_t find(words signs, token_range in) const {
    std::size_t open = 0;
    for (std::size_t i = in.begin; i < in.end; ++i) {
      const std::string_view word = in_.word(i);
      if (open == 0 && is_one_of(signs, word)) return i;
      if (is_one_of({"(", "[", "{"}, word)) ++open;
      if (is_one_of({")", "]", "}"}, word) && open > 0) --open;
    }
    return in.end;
  }

  [[nodiscard]] std::vector<token_range> split(std::string_view sign, token_range in) const {
    std::vector<token_range> parts;
    while (in.begin < in.end) {
      const std::size_t end = find({sign}, in);
      parts.push_back({in.begin, end});
      in.begin = end + 1;
    }
    return parts;
  }

  // What ends with a line end: the head of a block and what stands behind its colon, or statements.
  void line() {
    token_range of{in_.at, in_.at};
    while (in_.tokens()[of.end].what != python_token::kind::line_end) ++of.end;
    const std::size_t indent = in_.indent();
    while (!branches_.empty() && branches_.back() >= indent) branches_.pop_back();
    if (is_name(of.begin) && is_one_of(heads, in_.word(of.begin))) {
      const token_range head{of.begin, find_colon(of)};
      bind(head);
      if (is_branch(head)) branches_.push_back(indent);
      of.begin = std::min(head.end + 1, of.end);
    }
    for (const token_range statement_of : split(";", of)) statement(statement_of);
    in_.at = of.end;
  }

  [[nodiscard]] std::size_t find_colon(token_range in) const {
    std::size_t colon = find({":", "lambda"}, in);
    while (colon < in.end && in_.word(colon) == "lambda")  // has a colon of its own
      colon = find({":", "lambda"}, {find({":"}, {colon, in.end}) + 1, in.end});
    return std::min(colon, in.end);
  }

  // Only "if __name__ ..." is taken to run.
  [[nodiscard]] bool is_branch(token_range head) const {
    return is_one_of(branches, in_.word(head.begin)) && find({"__name__"}, head) == head.end;
  }

  // The parameters of a function, what a loop runs over, and what "as" names.
  void bind(token_range head) {
    const std::string_view keyword = in_.word(head.begin);
    const bool is_function = find({"def"}, head) < head.end;
    const std::size_t in = keyword == "for" || keyword == "async" ? find({"in"}, head) : head.begin;
    for (std::size_t i = head.begin + 1; i < head.end; ++i) {
      if (!is_name(i)) continue;
      const std::string_view before = in_.word(i - 1);
      if (before == "as" || (is_function && is_one_of({"(", ",", "*", "**"}, before)) || (!is_function && i < in))
        in_.bound.emplace(in_.word(i));
    }
  }

  void statement(token_range of) {
    if (of.begin < of.end && is_one_of({"return", "yield", "await"}, in_.word(of.begin))) ++of.begin;
    if (of.begin >= of.end || is_one_of({"import", "from", "assert", "raise", "global"}, in_.word(of.begin))) return;
    const std::size_t line = in_.tokens()[of.begin].line;
    if (in_.word(of.begin) == "del") {
      for (const target& to : targets({of.begin + 1, of.end}))
        assign(to, line, open_text("deleted on line " + std::to_string(line)));
    } else if (const std::size_t equals = find({"=", "lambda"}, of); equals < of.end && in_.word(equals) == "=") {
      assignment(of, equals);
    } else if (const std::size_t sign = find(augmented, of); sign < of.end) {
      in_.at = sign + 1;
      const config_node value = in_.expression();
      for (const target& to : targets({of.begin, sign})) {
        if (in_.word(sign) == "|=" && value.what == config_node::kind::mapping && !is_call(value)) {
          take_in(to.keys, line, value);
        } else {
          in_.at = of.end;
          assign(to, line, in_.open(of.begin));
        }
      }
    } else {
      in_.at = of.begin;
      const std::string callee = in_.path();
      if (!callee.empty() && in_.is("(")) called(callee, of);
    }
  }

  // a: int = 1, a = b = 1, a, b = 1, 2.
  void assignment(token_range of, std::size_t equals) {
    std::vector<token_range> to{{of.begin, find({":"}, {of.begin, equals})}};
    for (;;) {
      const std::size_t next = find({"=", "lambda"}, {equals + 1, of.end});
      if (next == of.end || in_.word(next) != "=") break;
      to.push_back({equals + 1, next});
      equals = next;
    }
    const config_node value = values({equals + 1, of.end});
    for (const token_range part : to) {
      const std::vector<target> all = targets(part);
      const bool is_one = all.size() == 1;
      // What a call returns is open, but not what it takes.
      if (all.size() > 1 && is_call(value))
        in_.assigned.entries.push_back({value.find("()")->value.text, in_.tokens()[of.begin].line, value});
      const bool is_pairwise = value.what == config_node::kind::sequence && value.entries.size() == all.size();
      for (std::size_t i = 0; i < all.size(); ++i)
        assign(all[i], in_.tokens()[part.begin].line,
               is_one        ? value
               : is_pairwise ? value.entries[i].value
                             : text_of({equals + 1, of.end}));
    }
  }

  config_node values(token_range of) {
    in_.at = of.begin;
    config_node value = in_.expression();
    if (in_.at < of.end && in_.is(",")) {
      config_node all{.what = config_node::kind::sequence};
      all.entries.push_back({"", in_.token().line, std::move(value)});
      while (in_.at < of.end && in_.is(",")) {
        ++in_.at;
        if (in_.at < of.end) all.entries.push_back({"", in_.token().line, in_.expression()});
      }
      value = std::move(all);
    }
    return in_.at == of.end ? value : text_of(of);
  }

  config_node text_of(token_range of) {
    in_.at = of.end;
    return in_.open(of.begin);
  }

  [[nodiscard]] std::vector<target> targets(token_range of) const {
    if (of.begin < of.end && is_one_of({"(", "["}, in_.word(of.begin))) ++of.begin, --of.end;
    std::vector<target> all;
    for (const token_range part : split(",", of))
      if (target to = target_of(part); !to.keys.empty()) all.push_back(std::move(to));
    return all;
  }

  [[nodiscard]] target target_of(token_range of) const {
    target to;
    std::size_t i = of.begin;
    if (i < of.end && in_.word(i) == "*") ++i;
    if (i >= of.end || !is_name(i)) return to;
    to.keys.emplace_back(in_.word(i++));
    while (i < of.end && !to.is_part) {
      const bool is_key = i + 2 < of.end && in_.word(i) == "[" && in_.word(i + 2) == "]" &&
                          in_.tokens()[i + 1].what == python_token::kind::text && !is_formatted(in_.word(i + 1));
      if (is_key) {
        to.keys.push_back(text_of_token(in_.word(i + 1)));
        i += 3;
      } else if (i + 1 < of.end && in_.word(i) == "." && is_name(i + 1)) {
        to.keys.emplace_back(in_.word(i + 1));
        i += 2;
      } else {
        to.is_part = true;
      }
    }
    return to;
  }

  // The bracket is next.
  void called(const std::string& callee, token_range of) {
    const std::size_t line = in_.token().line;
    const std::size_t begin = in_.at;
    config_node call = in_.call(callee);
    constexpr std::string_view update = ".update";
    if (callee == "setattr") {
      const std::vector<token_range> arguments = split(",", {begin + 1, in_.at - 1});
      target to = arguments.empty() ? target{} : target_of(arguments.front());
      const config_entry* const key = call.find("1");
      const config_entry* const value = call.find("2");
      if (to.keys.empty() || key == nullptr || value == nullptr) return;
      const bool is_known = key->value.quoted;
      to.keys.push_back(is_known ? key->value.text : "**");
      assign(to, line, is_known ? value->value : text_of(of));
    } else if (callee.ends_with(update) && in_.names.contains(callee.substr(0, callee.find('.')))) {
      const target to = target_of({of.begin, begin - 2});
      call.entries.erase(call.entries.begin());
      if (const config_entry* const first = call.find("0")) {
        const config_node taken = first->value;
        if (taken.what != config_node::kind::mapping || is_call(taken)) return take_in(to.keys, line, {text_of(of)});
        std::erase_if(call.entries, [](const config_entry& e) { return e.key == "0"; });
        take_in(to.keys, line, taken);
      }
      take_in(to.keys, line, call);
    } else {
      in_.assigned.entries.push_back({callee, line, std::move(call)});
    }
  }

  // The entries of a mapping; of something else, that it is taken in.
  void take_in(const std::vector<std::string>& keys, std::size_t line, const config_node& from) {
    const auto put = [&](const std::string& key, const config_node& value) {
      target to{.keys = keys};
      to.keys.push_back(key);
      assign(to, line, value);
    };
    if (from.what != config_node::kind::mapping) return put("**", from);
    for (const config_entry& e : from.entries) put(e.key, e.value);
  }

  // Two different values are none that is known, but what is called last is what a name stands for.
  void assign(const target& to, std::size_t line, config_node value) {
    using enum config_node::kind;
    const std::string of_line = "on line " + std::to_string(line);
    if (to.keys.size() > deepest_of_python)
      in_.fail("is nested deeper than " + std::to_string(deepest_of_python) + " levels");
    if (to.keys.size() == 1) in_.names.insert(to.keys.front());
    config_node* node = &in_.assigned;
    for (std::size_t i = 0; i + 1 < to.keys.size(); ++i) {
      config_entry& e = entry(*node, to.keys[i], line);
      if (e.value.what != mapping) {
        const config_node before = std::exchange(e.value, {.what = mapping});
        if (before.what != null) e.value.entries.push_back({"**", e.line, before});
      }
      node = &e.value;
    }
    const config_entry* const before = node->find(to.keys.back());
    if (before != nullptr && !to.is_part && same(before->value, value)) return;
    std::vector<config_entry> calls = calls_of_both(before, {to.keys.back(), line, value});
    config_entry& e = entry(*node, to.keys.back(), line);
    if (to.is_part)
      e.value = open_text("changed in part " + of_line);
    else if (before != nullptr && (!branches_.empty() || value.what != mapping))
      e.value =
          open_text(e.line == line ? "assigned twice " + of_line
                                   : "assigned on lines " + std::to_string(e.line) + " and " + std::to_string(line));
    else if (!branches_.empty() && !is_call(value))
      e.value = open_text("assigned in a branch " + of_line);
    else
      e.value = std::move(value);
    for (config_entry& call : calls) in_.assigned.entries.push_back(std::move(call));
  }

  // Where a name comes to stand for another call of the same function: both, since both are made.
  std::vector<config_entry> calls_of_both(const config_entry* before, config_entry now) {
    if (before == nullptr || !is_call(before->value) || !is_call(now.value)) return {};
    const std::string callee = now.value.find("()")->value.text;
    if (before->value.find("()")->value.text != callee) return {};
    in_.count();
    in_.count();
    now.key = callee;
    return {{callee, before->line, before->value}, std::move(now)};
  }

  config_entry& entry(config_node& in, const std::string& key, std::size_t line) {
    const auto found = std::ranges::find(in.entries, key, &config_entry::key);
    if (found != in.entries.end()) return *found;
    in_.count();
    in.entries.push_back({key, line, {}});
    return in.entries.back();
  }

  python_values in_;
  std::vector<std::size_t> branches_;  // what the heads of those that are open are indented by
};

}  // namespace

config_node parse_python(const std::string& file, std::string_view text) { return python_reader(file, text).read(); }

}  // namespace ulp::io
