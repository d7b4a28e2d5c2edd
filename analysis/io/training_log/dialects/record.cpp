#include "record.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <system_error>

#include "bytes/ascii.hpp"
#include "bytes/text.hpp"
#include "source/scalar_table.hpp"

namespace ulp::io {
namespace {

// A date that a lost line break glued to a number: "65536.02023-10-24". Where it begins in the run, or its size.
std::size_t without_date(std::string_view run) noexcept {
  constexpr std::size_t length = 10;
  for (std::size_t at = 1; at + length <= run.size(); ++at) {
    const std::string_view date = run.substr(at, length);
    if (!date.starts_with("20") || date[4] != '-' || date[7] != '-') continue;
    const auto is_part = [](char c) { return is_digit(c) || c == '-'; };
    if (std::ranges::all_of(date, is_part)) return at;
  }
  return run.size();
}
bool is_of_number(char c) noexcept { return is_digit(c) || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'; }

// As Python, JSON and C++ spell what is no finite number, the longer before what they begin with.
struct nonfinite_word {
  std::string_view text;  // in small letters: any case counts
  double value;
};
constexpr std::array nonfinite_words{
    nonfinite_word{"nan", not_known},
    nonfinite_word{"infinity", std::numeric_limits<double>::infinity()},
    nonfinite_word{"inf", std::numeric_limits<double>::infinity()},
    nonfinite_word{"\xE2\x88\x9E", std::numeric_limits<double>::infinity()},  // the sign
    // printf of Microsoft's C library, before Visual Studio 2015; with a sign in front.
    nonfinite_word{"1.#ind", not_known},
    nonfinite_word{"1.#qnan", not_known},
    nonfinite_word{"1.#snan", not_known},
    nonfinite_word{"1.#inf", std::numeric_limits<double>::infinity()},
};

bool begins_with(std::string_view text, std::string_view small) noexcept {
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
  return text.size() >= small.size() && std::ranges::equal(text.substr(0, small.size()), small, same);
}

}  // namespace

void scale_record::put(double scale_record::*field, double value) noexcept {
  if (field == &scale_record::grad_norm) {
    const std::optional<double> told = norm_told(value);
    norm_is_negative = is_negative_norm(value);
    grad_norm = told.value_or(not_known);
    grad_norm_is_nan = told && std::isnan(*told);
    return;
  }
  this->*field = value;
  if (field == &scale_record::loss) loss_is_nan = std::isnan(value);
}

bool scale_record::is_nonfinite() const noexcept { return is_overflow || has_nonfinite_value(); }

bool scale_record::has_nonfinite_value() const noexcept {
  return loss_is_nan || grad_norm_is_nan || std::isinf(loss) || std::isinf(grad_norm);
}

bool scale_record::contradicts_itself() const noexcept {
  const bool is_norm_its_own = std::isfinite(grad_norm) && !norm_is_repeated && !loss_is_of_several;
  return (loss_is_nan || std::isinf(loss)) && is_norm_its_own && !is_overflow && skipped < 1;
}

bool scale_record::has_values() const noexcept {
  return loss_is_nan || grad_norm_is_nan || !std::isnan(loss) || !std::isnan(grad_norm);
}

bool scale_record::is_later_than(const scale_record& other) const noexcept {
  constexpr std::int64_t same = 1;  // two ranks may print before and after a second is over
  constexpr std::int64_t day = 86'400;
  if (second < 0 || other.second < 0) return false;
  const std::int64_t apart = (second - other.second + day) % day;
  return std::min(apart, day - apart) > same;
}

void record_text::append(std::string_view line, std::uint64_t line_number, std::span<const std::size_t> blanks) {
  lines_.push_back({text_.size(), line_number});
  for (const std::size_t at : blanks) blanks_.push_back(text_.size() + at);
  text_ += line;
  places_.forget();
}

bool record_text::blank_before(std::size_t offset) const noexcept {
  return std::ranges::binary_search(blanks_, offset) || line_begin(offset) == offset;
}

void record_text::drop(std::size_t offset) {
  constexpr std::size_t much = 16 * longest_record;
  text_.erase(0, offset);
  if (text_.capacity() > much && text_.size() < longest_record) text_.shrink_to_fit();
  std::size_t gone = 0;  // lines that end before it
  while (gone + 1 < lines_.size() && lines_[gone + 1].offset <= offset) ++gone;
  lines_.erase(lines_.begin(), lines_.begin() + static_cast<std::ptrdiff_t>(gone));
  for (line_start& l : lines_) l.offset -= std::min(l.offset, offset);
  blanks_.erase(blanks_.begin(), std::ranges::lower_bound(blanks_, offset));
  for (std::size_t& at : blanks_) at -= offset;
  taken_ -= std::min(taken_, offset);
  places_.forget();
}

// The first line that begins behind an offset.
std::vector<record_text::line_start>::const_iterator record_text::line_behind(std::size_t offset) const noexcept {
  return std::ranges::upper_bound(lines_, offset, {}, &line_start::offset);
}

std::uint64_t record_text::line_at(std::size_t offset) const noexcept {
  const auto next = line_behind(offset);
  return next == lines_.begin() ? 0 : std::prev(next)->number;
}

std::size_t record_text::line_begin(std::size_t offset) const noexcept {
  const auto next = line_behind(offset);
  return next == lines_.begin() ? 0 : std::prev(next)->offset;
}

std::size_t record_text::line_end(std::size_t offset) const noexcept {
  const auto next = line_behind(offset);
  return next == lines_.end() ? text_.size() : next->offset;
}

std::size_t record_text::lines_from(std::size_t offset) const noexcept {
  return static_cast<std::size_t>(lines_.end() - std::ranges::lower_bound(lines_, offset, {}, &line_start::offset));
}

std::optional<record_text::number> record_text::number_at(std::size_t offset, std::string_view enders) const {
  const auto end_of_run = [&](std::size_t from, std::size_t before) {
    while (from < before && is_of_number(text_[from])) ++from;
    return from;
  };
  const std::size_t sign = offset < text_.size() && (text_[offset] == '-' || text_[offset] == '+') ? 1 : 0;
  for (const nonfinite_word& word : nonfinite_words) {
    if (!begins_with(view().substr(std::min(offset + sign, text_.size())), word.text)) continue;
    std::size_t behind = offset + sign + word.text.size();
    if (word.text.starts_with("1.#"))  // "1.#IND00", in as many characters as were asked for
      while (behind < text_.size() && text_[behind] == '0') ++behind;
    return number{.value = sign == 1 && text_[offset] == '-' ? -word.value : word.value,
                  .digits = view().substr(offset, behind - offset),
                  .end = behind,
                  .open = behind == text_.size()};
  }
  std::size_t end = end_of_run(offset, text_.size());
  if (end == text_.size() || enders.find(text_[end]) == std::string_view::npos) {
    end = end_of_run(offset, offset < text_.size() ? line_end(offset) : text_.size());
    while (end < text_.size() && end == line_begin(end)) {  // at the end of its line
      const std::size_t next = line_end(end);
      if (end_of_run(end, next) != next) break;
      end = next;
    }
  }
  if (end - offset > 10) end = offset + without_date(view().substr(offset, end - offset));
  number n;
  n.digits = view().substr(offset, end - offset);
  const char* const last = text_.data() + end;
  const auto [stop, error] = std::from_chars(text_.data() + offset, last, n.value);
  if (error != std::errc() || stop == text_.data() + offset) return std::nullopt;
  if (stop != last) {  // "65536.", or letters that only look like an exponent
    end = static_cast<std::size_t>(stop - text_.data());
    n.digits = view().substr(offset, end - offset);
  }
  n.end = end;
  n.open = end == text_.size();
  return n;
}

record_match whole_record(const scale_record& record, std::size_t end) {
  return {record_match::state::complete, end, record};
}

record_match read_trailing(const record_text& text, std::size_t at, bool last, std::string_view separators,
                           const scale_record& record, double scale_record::*into) {
  while (at < text.size() && separators.find(text.view()[at]) != std::string_view::npos) ++at;
  if (at == text.size()) return last ? no_record() : unfinished_record();
  const auto n = text.number_at(at, "");
  if (!n) return no_record();
  // Python prints a decimal point: with it, no power of two is the beginning of another.
  const bool whole = n->digits.find('.') != std::string_view::npos && is_power_of_two(n->value);
  if (n->open && !last && !whole) return unfinished_record();
  scale_record r = record;
  r.*into = n->value;
  return whole_record(r, n->end);
}

std::int64_t step_of(const record_text::number& n) noexcept {
  std::int64_t step = -1;
  const char* const end = n.digits.data() + n.digits.size();
  const auto [stop, error] = std::from_chars(n.digits.data(), end, step);
  constexpr std::int64_t greatest = std::int64_t{1} << 53;
  return error == std::errc() && stop == end && step >= 0 && step <= greatest ? step : -1;
}

bool is_power_of_two(double x) noexcept {
  int exponent = 0;
  return x > 0 && std::isfinite(x) && std::frexp(x, &exponent) == 0.5;
}

bool prints_power_of_two(double printed) {
  if (!(printed > 0) || !std::isfinite(printed)) return false;
  const std::string text = decimal_text(printed);
  const std::size_t point = text.find('.');
  if (point == std::string::npos || text.find('e') != std::string::npos) return is_power_of_two(exact_scale(printed));
  const double unit = std::pow(10.0, -static_cast<double>(text.size() - point - 1));
  for (const double power : {std::exp2(std::floor(std::log2(printed))), std::exp2(std::ceil(std::log2(printed)))})
    if (std::abs(power - printed) <= 0.5 * unit * (1 + 1e-9)) return true;
  return false;
}

bool rises_too_often(std::span<const double> scales) noexcept {
  constexpr std::size_t few = 3;
  constexpr std::size_t one_of = 8;
  double last = not_known;
  std::size_t rises = 0;
  std::size_t leaps = 0;
  std::size_t numbers = 0;
  bool falls = false;
  for (const double scale : scales) {
    if (std::isnan(scale)) continue;
    rises += scale > last ? 1 : 0;
    leaps += scale >= 4 * last && last > 0 ? 1 : 0;
    falls = falls || scale < last;
    ++numbers;
    last = scale;
  }
  return falls && (leaps >= few || (rises >= few && one_of * rises > numbers));
}

double exact_scale(double printed) noexcept {
  constexpr int fewest_digits = 3;
  constexpr int most_digits = 6;
  if (!(printed >= 0) || std::isinf(printed)) return not_known;
  if (printed == 0 || is_power_of_two(printed)) return printed;
  const double power = std::exp2(std::round(std::log2(printed)));
  for (int digits = fewest_digits; digits <= most_digits; ++digits) {
    const double unit = std::pow(10.0, std::floor(std::log10(power)) + 1 - digits);
    const double units = printed / unit;
    const bool has_so_many = std::fabs(units - std::round(units)) <= 1e-6;
    if ((unit > 1 || printed < 1) && has_so_many && std::fabs(power - printed) <= 0.5 * unit * (1 + 1e-9)) return power;
  }
  return printed;
}

}  // namespace ulp::io
