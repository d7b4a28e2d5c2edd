// A configuration as the tables of its program's row have it.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <list>
#include <map>
#include <set>

#include <ulp/io/bytes/error.hpp>

#include "bases.hpp"
#include "bytes/ascii.hpp"
#include "bytes/text.hpp"
#include "frameworks.hpp"
#include "program.hpp"

namespace ulp::io {
namespace {

// The sections of a file that hold the keys of a row.
class sections {
 public:
  sections(import_run& run, const config_entry& root, const program_row& row) : run_(run), row_(row) {
    keys_ = keys_of(row);
    std::set<std::string> prefixes{""};
    for (const std::string& key : keys_)
      for (std::size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1))
        prefixes.insert(key.substr(0, dot));
    for (const std::string& prefix : prefixes) {
      const config_entry* const entry = prefix.empty() ? &root : entry_at(root.value, prefix);
      if (entry == nullptr || entry->value.what != config_node::kind::mapping) continue;
      names_.push_back(names_below(prefix));
      all_.emplace(prefix,
                   config_section(run, prefix, *entry, {.read = names_.back(), .not_read = others_below(prefix)}));
    }
  }

  // Of the section that holds the key, and the key in it; nothing where there is no such section.
  [[nodiscard]] std::optional<config_section> of(std::string_view key) const {
    const auto found = all_.find(std::string{prefix_of(key)});
    return found == all_.end() ? std::nullopt : std::optional{found->second};
  }
  [[nodiscard]] static std::string_view prefix_of(std::string_view key) {
    const std::size_t dot = key.find_last_of('.');
    return dot == std::string_view::npos ? std::string_view{} : key.substr(0, dot);
  }
  [[nodiscard]] static std::string_view last_of(std::string_view key) { return key.substr(key.find_last_of('.') + 1); }

  [[nodiscard]] std::string given(std::string_view key) const {
    const auto s = of(key);
    return s ? s->given(last_of(key)) : std::string{key} + " is not given";
  }
  [[nodiscard]] const std::string& file() const noexcept { return run_.file; }
  [[noreturn]] void fail(std::string_view key, const std::string& reason) const {
    if (const auto s = of(key)) s->fail(last_of(key), reason);
    throw input_error(run_.file, "", std::string{key} + " " + reason);
  }

 private:
  [[nodiscard]] static std::string_view first_below(std::string_view key, std::string_view prefix) {
    if (!prefix.empty()) {
      if (!key.starts_with(prefix) || key.size() <= prefix.size() || key[prefix.size()] != '.') return {};
      key.remove_prefix(prefix.size() + 1);
    }
    return key.substr(0, key.find('.'));
  }
  [[nodiscard]] std::string names_below(const std::string& prefix) const {
    std::string names;
    for (const std::string& key : keys_)
      if (const std::string_view name = first_below(key, prefix); !name.empty()) names += std::string{name} + " ";
    return names;
  }
  [[nodiscard]] std::string_view others_below(const std::string& prefix) {
    std::string& names = others_[prefix];
    for (const std::string_view key : words_of(row_.keys.not_read))
      if (const std::string_view name = first_below(key, prefix); !name.empty()) names += std::string{name} + " ";
    return names;
  }

  import_run& run_;
  const program_row& row_;
  std::vector<std::string> keys_;
  std::list<std::string> names_;
  std::map<std::string, std::string> others_;
  std::map<std::string, config_section> all_;
};

// The key that a case is about: of its conditions the first that asks for a value, or the first.
std::string_view first_key(conditions when) {
  const auto words = words_of(when);
  return words.empty() ? std::string_view{} : parsed(words.front()).key;
}

// Keys that may have a value, beside those below them.
std::vector<std::string> keys_with_values(const program_row& row) {
  std::vector<std::string> all;
  const auto add_conditions = [&](conditions when) {
    for (const std::string_view word : words_of(when))
      if (const condition c = parsed(word); !c.values.empty()) all.emplace_back(c.key);
  };
  for (const precision_case& c : row.precision) add_conditions(c.when);
  for (const scaler_key& k : row.scale) all.emplace_back(k.key);
  for (const clipping_case& c : row.clipping) {
    all.emplace_back(c.key);
    add_conditions(c.when);
  }
  return all;
}

// What only a run would tell decides nothing here.
void refuse_open(const sections& in, const config_node& root, const program_row& row) {
  const std::vector<std::string> valued = keys_with_values(row);
  for (const std::string& key : keys_of(row))
    for (std::size_t end = key.find('.');; end = key.find('.', end + 1)) {
      const std::string path = key.substr(0, end);
      const config_entry* const entry = entry_at(root, path);
      if (entry == nullptr) break;
      if (is_open(entry->value) && path != "()") in.fail(path, open_reason(entry->value));
      if (const config_entry* const taken = entry->value.find("**"))
        in.fail(path, "takes in " + taken->value.text + ", which this file does not say; write it out");
      if (end == std::string::npos) break;
      const bool holds_keys = entry->value.what != config_node::kind::scalar || is_false(entry->value);
      if (!holds_keys && std::ranges::find(valued, path) == valued.end())
        in.fail(path, "holds keys and values here, not " + in_quotes(entry->value.text));
    }
}

// A file that was not read may say what is not given here: no default counts then.
class unread {
 public:
  unread(const sections& in, const config_node& root, const program_row& row)
      : in_(in), root_(root), base_(unread_base(root, row.settings, row.own_settings)) {
    const std::vector<std::string> its_own = keys_of(row);  // of which the row says itself what they leave open
    if (base_ != nullptr && std::ranges::find(its_own, base_->key) != its_own.end() && base_->key != "command")
      base_ = nullptr;
  }

  void refuse_default(std::string_view key) const {
    if (base_ == nullptr || key.empty() || stands_in(key)) return;
    throw input_error(in_.file(), at_line(base_->line),
                      "builds on " + in_quotes(file_named_by(*base_)) + ", which is not here and may say what " +
                          std::string{key} + " is; put it beside this file, or write " + std::string{key});
  }
  // Of what its conditions ask for.
  void refuse_defaults(conditions when) const {
    for (const std::string_view word : words_of(when))
      if (const condition c = parsed(word); !c.values.empty() && c.key != "command") refuse_default(c.key);
  }

 private:
  // Null is a value, too.
  [[nodiscard]] bool stands_in(std::string_view key) const {
    const auto section = in_.of(key);
    return entry_at(root_, key) != nullptr || (section && section->has(sections::last_of(key)));
  }

  const sections& in_;
  const config_node& root_;
  const config_entry* base_;
};

void use(import_run& run, conditions when) {
  for (const std::string_view word : words_of(when)) run.used.emplace_back(parsed(word).key);
}

bool read_number(std::string_view text, std::optional<double>& into) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_one = error == std::errc{} && end == text.data() + text.size();
  if (is_one) into = number;
  return is_one;
}

// A whole number above 0.
bool read_whole(std::string_view text, std::optional<std::uint64_t>& into) {
  std::optional<double> number;
  const bool is_one = read_number(text, number) && *number >= 1 && *number <= 0x1p53 && *number == std::floor(*number);
  if (is_one) into = static_cast<std::uint64_t>(*number);
  return is_one;
}

parameter_value value_of(std::string_view text) {
  std::optional<double> number;
  if (read_number(text, number)) return *number;
  if (text == "true" || text == "false") return text == "true";
  return std::string{text};
}

void set_scaler(import_run& run, const sections& in, const program_row& row, const precision_case& chosen) {
  run.out.scaler = chosen.scaler;
  run.out.format = chosen.format;
  std::vector<std::pair<std::string, parameter_value>>& all = run.out.parameters;
  for (const std::string_view word : words_of(chosen.parameters)) {
    const condition c = parsed(word);
    all.emplace_back(c.key, value_of(c.values));
  }
  for (const scaler_key& key : row.scale) {
    const auto section = in.of(key.key);
    const std::string_view name = sections::last_of(key.key);
    if (!section || section->find(name) == nullptr) continue;
    const bool holds_keys = section->find(name)->value.what == config_node::kind::mapping;
    if (holds_keys && std::ranges::any_of(row.scale, [&](const scaler_key& k) {
          return k.scaler == key.scaler && k.key.starts_with(std::string{key.key} + ".");
        }))
      continue;
    if (key.scaler != chosen.scaler) {
      if (!section->is_number(name)) continue;
      const auto same_key = [&](const scaler_key& k) { return k.key == key.key; };
      const bool is_first = &*std::ranges::find_if(row.scale, same_key) == &key;
      if (is_first && std::ranges::none_of(
                          row.scale, [&](const scaler_key& k) { return same_key(k) && k.scaler == chosen.scaler; }))
        section->means(name,
                       chosen.scaler == "none" ? "nothing, since the loss is not scaled" : "nothing for this scaler");
      continue;
    }
    parameter_value value = 0.0;
    const std::string& text = section->find(name)->value.text;
    if (text == "true" || text == "True" || text == "false" || text == "False") {
      value = section->flag(name).value();
    } else {
      const double number = section->number(name).value();
      if (!(number >= 0)) section->fail(name, "must not be negative");
      value = number;
    }
    section->means(name, std::string{key.meaning});
    const auto same =
        std::ranges::find(all, std::string{key.parameter}, &std::pair<std::string, parameter_value>::first);
    if (same != all.end())
      same->second = value;
    else
      all.emplace_back(key.parameter, value);
  }
}

void read_precision(import_run& run, const sections& in, const config_node& root, const program_row& row) {
  for (const precision_case& c : row.precision) {
    if (!hold(c.when, root, row.defaults)) continue;
    const std::string_view key = first_key(c.when);
    if (!c.refused.empty() && key == "()") throw input_error(run.file, "", std::string{c.refused});  // of no call
    if (!c.refused.empty()) in.fail(key, std::string{c.refused});
    const unread base(in, root, row);
    base.refuse_defaults(c.when);
    for (const scaler_key& k : row.scale)
      if (k.scaler == c.scaler) base.refuse_default(k.key);
    use(run, c.when);
    const config_entry* const given = key.empty() ? nullptr : entry_at(root, key);
    if (given != nullptr && !is_false(given->value)) run.settled[static_cast<std::size_t>(concern::precision)] = true;
    run.means(key.empty() ? std::string{row.name} : in.given(key), std::string{c.meaning});
    set_scaler(run, in, row, c);
    run.out.words = c.words;
    if (!c.weights.empty()) run.out.weights_kept_in = c.weights;
    if (!c.sums.empty()) run.out.accumulates_in = {std::string{c.sums}, ""};
    return;
  }
  // A value that no case has: of the keys with values the first that is given.
  for (const precision_case& c : row.precision)
    for (const std::string_view word : words_of(c.when))
      if (const condition asked = parsed(word); !asked.values.empty() && entry_at(root, asked.key) != nullptr)
        in.fail(asked.key, "is a value that " + std::string{row.name} +
                               " is not known to take here: " + in_quotes(entry_at(root, asked.key)->value.text));
  throw input_error(run.file, "", "does not say what " + std::string{row.name} + " trains in");
}

void read_clipping(import_run& run, const sections& in, const config_node& root, const program_row& row) {
  for (const clipping_case& c : row.clipping) {
    if (!hold(c.when, root, row.defaults)) continue;
    use(run, c.when);
    if (!c.refused.empty()) in.fail(first_key(c.when), std::string{c.refused});
    const unread base(in, root, row);
    base.refuse_defaults(c.when);
    base.refuse_default(c.key);
    double most = c.otherwise;
    bool is_given = false;
    if (const auto section = c.key.empty() ? std::nullopt : in.of(c.key)) {
      const std::string_view name = sections::last_of(c.key);
      is_given = section->has(name);
      // null is no clipping, as those that write it mean it; torchtune's 'inf' only logs the norm.
      if (is_given && (section->find(name) == nullptr || section->text(name) == "None" || section->text(name) == "inf"))
        most = 0;
      else
        most = section->number(name).value_or(c.otherwise);
      if (most == 0 && c.clips_to_zero && section->number(name) == 0)
        in.fail(c.key, "clips every gradient to 0 in " + std::string{row.name} +
                           ", so nothing is learned; remove it, or give a number above 0");
      if (most < 0) most = 0;
    }
    const std::string how =
        most > 0
            ? (c.mode == clipping_mode::norm ? "clipped to L2 norm " : "each gradient clipped to ") + number_text(most)
            : "no clipping";
    run.means(c.key.empty() ? std::string{row.name} : in.given(c.key),
              how + (is_given || c.key.empty() || most == 0 ? "" : ", the program's default"));
    if (most > 0) (c.mode == clipping_mode::norm ? run.out.clip_norm : run.out.clip_value) = most;
    return;
  }
}

// The value of a key for what 8-bit floats are scaled by: what only a run would tell is not said, since no loss scale
// depends on it.
std::string said_of(import_run& run, const config_node& root, std::string_view key, std::string_view meaning,
                    std::string_view otherwise) {
  const config_entry* const entry = key.empty() ? nullptr : entry_at(root, key);
  if (entry == nullptr || entry->value.what != config_node::kind::scalar) return std::string{otherwise};
  std::erase(run.not_read, std::string{key});
  if (is_open(entry->value)) return {};
  const std::string& text = entry->value.text;
  run.means(std::string{key} + " = " + text, std::string{meaning});
  return text;
}

void read_float8(import_run& run, const sections& in, const config_node& root, const program_row& row) {
  for (const float8_case& c : row.float8) {
    if (!hold(c.when, root, row.defaults)) continue;
    const auto otherwise = [&](std::string_view member) {
      for (const std::string_view word : words_of(c.defaults))
        if (const condition d = parsed(word); d.key == member) return d.values;
      return std::string_view{};
    };
    const auto of_enum = [](const std::string& text) { return text.substr(text.find_last_of('.') + 1); };
    said_float8& said = run.out.float8.emplace();
    said.library = c.library;
    said.recipe = of_enum(said_of(run, root, c.recipe, "how 8-bit floats are scaled", c.otherwise));
    said.format = in_small_letters(of_enum(said_of(run, root, c.format, "their formats", otherwise("format"))));
    said.algorithm =
        said_of(run, root, c.algorithm, "which amax of the history counts for the next scale", otherwise("algorithm"));
    const std::string history =
        said_of(run, root, c.history, "amaxes that the next scale is from", otherwise("history"));
    if (!history.empty() && !read_whole(history, said.history)) in.fail(c.history, "must be an integer above 0");
    const std::string margin =
        said_of(run, root, c.margin, "powers of two that their scales leave above the amax", otherwise("margin"));
    if (!margin.empty() && !read_number(margin, said.margin)) in.fail(c.margin, "must be a number");
    if (const config_entry* const layers = entry_at(root, c.kept_out))
      for (const config_entry& layer : layers->value.entries) said.kept_out.push_back(layer.value.text);
    return;
  }
}

// Where all that decides is said here, what its base says is not asked for.
void note_unread_base(import_run& run, const config_node& root) {
  const config_entry* const base = unread_base(root, {}, {});
  if (base == nullptr) return;
  run.used.push_back(base->key);
  run.note("builds on " + in_quotes(file_named_by(*base)) + ", which is not here: what that file says was not read");
}

}  // namespace

void import_by_row(import_run& run, const config_entry& root, const program_row& row) {
  run.only_what_matters = true;
  const sections in(run, root, row);
  refuse_open(in, root.value, row);
  read_precision(run, in, root.value, row);
  read_clipping(run, in, root.value, row);
  note_unread_base(run, root.value);
  if (!row.microbatches.empty())
    if (const auto section = in.of(row.microbatches)) read_microbatches(*section, sections::last_of(row.microbatches));
  read_float8(run, in, root.value, row);
  for (const remark& r : row.remarks)
    if (hold(r.when, root.value, row.defaults)) {
      use(run, r.when);
      run.note(std::string{r.text});
    }
}

}  // namespace ulp::io
