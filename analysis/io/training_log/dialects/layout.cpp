#include "layout.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "bytes/ascii.hpp"

namespace ulp::io {
namespace {

// What the places of a pattern hold.
struct pattern_values {
  std::int64_t step = -1;
  std::int64_t epoch = -1;
  std::int64_t iter = -1;
  std::int64_t length = -1;
  std::int64_t rank = -1;
  std::int64_t first = -1;
  std::int64_t n = -1;
  double before = not_known;
  double factor = not_known;
  double after = not_known;
  double log2 = not_known;
  double rounded = not_known;
  double loss = not_known;
  double norm = not_known;
  double rate = not_known;
  double x = not_known;
  bool has_loss = false;
  bool has_norm = false;
};

struct whole_place {
  std::string_view name;
  std::int64_t pattern_values::*into;
};
constexpr std::array whole_places{
    whole_place{"step", &pattern_values::step},   whole_place{"epoch", &pattern_values::epoch},
    whole_place{"iter", &pattern_values::iter},   whole_place{"length", &pattern_values::length},
    whole_place{"rank", &pattern_values::rank},   whole_place{"n", &pattern_values::n},
    whole_place{"first", &pattern_values::first},
};
struct number_place {
  std::string_view name;
  double pattern_values::*into;
};
constexpr std::array number_places{
    number_place{"before", &pattern_values::before}, number_place{"factor", &pattern_values::factor},
    number_place{"after", &pattern_values::after},   number_place{"loss", &pattern_values::loss},
    number_place{"norm", &pattern_values::norm},     number_place{"x", &pattern_values::x},
    number_place{"lr", &pattern_values::rate},       number_place{"sum", &pattern_values::loss},
    number_place{"log2", &pattern_values::log2},     number_place{"rounded", &pattern_values::rounded},
};

class pattern_reader {
 public:
  explicit pattern_reader(const record_text& text) : text_(text), all_(text.view()) {}

  pattern_values values;
  bool open = false;  // the text ended within the pattern

  // Where the pattern ends that begins at an offset.
  std::optional<std::size_t> match(std::string_view pattern, std::size_t at) {
    while (!pattern.empty()) {
      const char c = pattern.front();
      if (c == '{') {
        const std::size_t close = pattern.find('}');
        const auto end = place(pattern.substr(1, close - 1), at, pattern.substr(close + 1));
        if (!end) return std::nullopt;
        at = *end;
        pattern.remove_prefix(close + 1);
        continue;
      }
      pattern.remove_prefix(1);
      if (c == ' ') {
        if (at < all_.size() && all_[at] == ' ') ++at;
      } else if (c == '~') {
        while (at < all_.size() && bar_characters.find(all_[at]) != std::string_view::npos) ++at;
      } else if (c == '$') {
        const bool ends = at >= all_.size() || text_.line_begin(at) == at || all_[at] == ' ';
        if (!ends) return std::nullopt;
        open = open || at >= all_.size();
      } else if (c == '*') {
        return match_later(pattern, at);
      } else if (at == all_.size()) {
        open = true;
        return std::nullopt;
      } else if (all_[at++] != c) {
        return std::nullopt;
      }
    }
    return at;
  }

 private:
  static constexpr std::string_view bar_characters = "=>.#-";
  static constexpr std::size_t longest_gap = 200;

  std::optional<std::size_t> match_later(std::string_view pattern, std::size_t at) {
    const std::size_t end = std::min(at < all_.size() ? text_.line_end(at) : at, at + longest_gap);
    const pattern_values before = values;
    for (; at < end; ++at) {
      if (const auto found = match(pattern, at)) return found;
      values = before;
    }
    return std::nullopt;
  }

  // Digits go on over the end of their line if what follows in the pattern follows them there.
  [[nodiscard]] std::size_t digits_end(std::size_t at, std::string_view rest) const {
    std::size_t end = at;
    while (end < all_.size() && is_digit(all_[end])) ++end;
    const std::size_t line = text_.line_end(at);
    const bool goes_on = end < all_.size() && !rest.empty() && all_[end] == rest.front();
    return end > line && !goes_on ? line : end;
  }

  std::optional<std::size_t> place(std::string_view name, std::size_t at, std::string_view rest) {
    if (at >= all_.size()) {
      open = true;
      return std::nullopt;
    }
    for (const whole_place& p : whole_places) {
      if (p.name != name) continue;
      const std::size_t end = digits_end(at, rest);
      values.*p.into = step_of({.digits = all_.substr(at, end - at)});
      open = open || end == all_.size();
      return values.*p.into < 0 ? std::nullopt : std::optional(end);
    }
    const auto n = text_.number_at(at, rest.substr(0, 1));
    if (!n) return std::nullopt;
    open = open || n->open;
    for (const number_place& p : number_places) {
      if (p.name != name) continue;
      const bool adds = name == "sum" && values.has_loss;
      values.*p.into = adds ? values.*p.into + n->value : n->value;
      values.has_loss = values.has_loss || p.into == &pattern_values::loss;
      values.has_norm = values.has_norm || p.into == &pattern_values::norm;
    }
    return n->end;
  }

  const record_text& text_;
  std::string_view all_;
};

// Where a pattern begins that ends at an offset: as early as it can in that line.
std::optional<std::size_t> begin_before(pattern_reader& reader, const record_text& text, std::string_view pattern,
                                        std::size_t end) {
  constexpr std::size_t longest = 240;
  const std::size_t line = end == 0 ? 0 : text.line_begin(end - 1);
  std::size_t at = std::max(line, end - std::min(end, longest));
  for (; at < end; ++at) {
    const bool inside_number = at > line && is_digit(text.view()[at]) && is_digit(text.view()[at - 1]);
    if (!inside_number && reader.match(pattern, at) == end) return at;
  }
  return std::nullopt;
}

// The step, and what else the places of the patterns say.
bool put_places(const pattern_values& v, const line_layout& layout, scale_record& r) {
  if (v.epoch >= 0) r.of_epoch = v.epoch;
  if (v.iter >= 0) r.in_epoch = v.iter;
  if (v.length >= 0) r.per_epoch = v.length;
  r.step = v.step;
  if (v.step < 0 && v.iter >= 0) {
    // A script that has the layout may count epochs from 0: see choice.cpp.
    const std::int64_t epochs = std::max<std::int64_t>(v.epoch - layout.first_epoch, 0);
    r.step = v.length >= 0 && v.epoch >= 0 ? step_in_epochs(epochs, v.iter, v.length) : v.iter;
    if (r.step < 0) return false;
    constexpr std::int64_t most_epochs = 1'000'000;
    if (v.length < 0 && v.epoch >= 0) r.part = static_cast<std::uint32_t>(std::min(v.epoch, most_epochs));
  }
  if (!std::isnan(v.rounded)) {
    constexpr double most_steps = 0x1p53;
    if (!(v.rounded >= 0 && v.rounded < most_steps) || std::floor(v.rounded) != v.rounded) return false;
    r.step = static_cast<std::int64_t>(v.rounded);
  }
  if (v.first == 0 || v.first > std::max<std::int64_t>(r.step, 0)) return false;  // no range of steps
  if (v.first > 0) r.steps = r.step - v.first + 1;
  if (r.steps == 0) return false;
  constexpr std::int64_t most_ranks = 1'000'000;
  if (v.rank >= 0) r.label = static_cast<std::uint32_t>(most_ranks + std::min(v.rank, most_ranks));
  if (v.has_loss) r.put(&scale_record::loss, v.loss);
  if (v.has_norm) r.put(&scale_record::grad_norm, v.norm);
  if (!std::isnan(v.rate)) r.learning_rate = v.rate;
  if (!std::isnan(v.before)) r.before = v.before;
  if (!std::isnan(v.after)) r.after = v.after;
  if (!std::isnan(v.log2)) {
    r.after = std::exp2(v.log2);
    r.scale_is_rounded = true;
  }
  if (!std::isnan(v.factor)) r.after = r.before * v.factor;
  return true;
}

}  // namespace

record_match read_layout(const record_text& text, std::size_t at, bool last, const line_layout& layout) {
  pattern_reader reader(text);
  const std::size_t words = at - layout.words.size();
  const auto end = reader.match(layout.after, at);
  const bool may_go_on = reader.open && !last;
  if (!end && !may_go_on) return no_record();
  std::size_t begin = words;
  if (!layout.before.empty()) {  // many places are tried, of which no two say the same
    const auto found = begin_before(reader, text, layout.before, words);
    if (!found) return no_record();
    begin = *found;
  }
  if (!end) return unfinished_record();
  // A number at the end of the text may go on in the next line.
  if (may_go_on && layout.fields.empty()) return unfinished_record();
  scale_record r = layout.as;
  if (!put_places(reader.values, layout, r)) return no_record();
  const std::size_t line = *end == 0 ? 0 : text.line_end(*end - 1);
  std::size_t taken = *end;
  if (!layout.fields.empty()) {
    const put_fields put = put_values(text, *end, line, layout.fields, r);
    if (put.count == 0 && !r.has_values()) return no_record();
    taken = std::max(taken, put.end);
  }
  if (layout.with_loss && !r.has_values()) return no_record();
  r.is_applied = r.is_applied || (layout.norm_is_of_applied && std::isfinite(r.grad_norm));
  record_match m = whole_record(r, taken);
  m.begin = begin;
  return m;
}

}  // namespace ulp::io
