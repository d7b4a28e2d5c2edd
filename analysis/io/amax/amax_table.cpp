#include <ulp/io/amax/amax_table.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/text.hpp>
#include <ulp/io/bytes/error.hpp>

#include "bytes/lines.hpp"
#include "bytes/text.hpp"
#include "csv/csv.hpp"

namespace ulp {
namespace {

// All of `text` as a float32; false where it is none, or not one that a magnitude can be.
bool parse_magnitude(std::string_view text, float& into) {
  std::string_view digits = text;
  const bool is_negative = digits.starts_with("-");
  if (is_negative || digits.starts_with("+")) digits.remove_prefix(1);
  if (digits.starts_with("-")) return false;
  auto form = std::chars_format::general;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    digits.remove_prefix(2);
    form = std::chars_format::hex;
  }
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, into, form);
  if (stop != end) return false;
  if (error == std::errc::result_out_of_range) {
    // Below the smallest float32 it is rounded like others; above the largest it is none.
    const std::optional<encoded> rounded = parse(binary32, text);
    if (!rounded) return false;
    into = std::fabs(std::bit_cast<float>(static_cast<std::uint32_t>(rounded->code)));
    if (std::isinf(into)) return false;
  } else if (error != std::errc()) {
    return false;
  }
  return !is_negative || !(into > 0);
}

using told_names = std::vector<std::pair<std::string, std::string>>;

// A column, as --columns calls it, by the names that it has; the first is its own.
struct meaning {
  std::string_view told_as;
  std::array<std::string_view, 7> names;
};
constexpr std::array meanings{
    meaning{"step", {"step", "iteration", "iter", "global_step", "_step", "iterations"}},
    meaning{"key", {"tensor", "name", "tensor_name"}},
    meaning{"value", {"amax", "absmax", "abs_max", "max_abs", "maxabs", "amax_value", "cur_amax"}},
};

std::string folded(std::string_view name) {
  std::string plain;
  for (const char c : name)
    plain += c == ' ' || c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return plain;
}

std::vector<std::string> fields_of(std::string_view line, char separator) {
  if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(separator, at), line.size());
    std::string_view name = io::trimmed(line.substr(at, end - at));
    if (name.size() > 1 && name.starts_with('"') && name.ends_with('"')) name = name.substr(1, name.size() - 2);
    names.emplace_back(name);
    at = end + 1;
  }
  return names;
}

// The columns of a header that have the meanings, in their order; nullopt where one is missing.
class chosen_columns {
 public:
  chosen_columns(const std::string& path, const std::vector<std::string>& header, const told_names& told)
      : path_(path), header_(header), told_(told) {}

  [[nodiscard]] std::optional<std::array<std::string, meanings.size()>> choose() const {
    // Of the whole tensor more is known there.
    if (std::ranges::find(header_, "counts") != header_.end()) return std::nullopt;
    std::array<std::string, meanings.size()> chosen;
    for (std::size_t i = 0; i < meanings.size(); ++i) {
      const std::optional<std::string> one = column_of(meanings[i]);
      if (!one) return std::nullopt;
      chosen[i] = *one;
    }
    // Only now is it known to be such a table.
    for (const meaning& m : meanings) refuse_several(m);
    return chosen;
  }

 private:
  [[nodiscard]] std::vector<std::string> candidates(const meaning& m) const {
    std::vector<std::string> found;
    for (const auto& [of, name] : told_)
      if (of == m.told_as && std::ranges::find(header_, name) != header_.end()) return {name};
    for (const std::string& name : header_) {
      if (name == m.names.front()) return {name};
      if (!name.empty() && std::ranges::find(m.names, std::string_view{folded(name)}) != m.names.end())
        found.push_back(name);
    }
    return found;
  }
  [[nodiscard]] std::optional<std::string> column_of(const meaning& m) const {
    const std::vector<std::string> found = candidates(m);
    return found.empty() ? std::nullopt : std::optional{found.front()};
  }
  void refuse_several(const meaning& m) const {
    const std::vector<std::string> found = candidates(m);
    if (found.size() > 1)
      throw input_error(path_, "line 1",
                        "both " + io::in_quotes(found[0]) + " and " + io::in_quotes(found[1]) + " may be the column '" +
                            std::string{m.names.front()} + "' of amaxes; say by --columns " + std::string{m.told_as} +
                            "=NAME which it is");
  }

  const std::string& path_;
  const std::vector<std::string>& header_;
  const told_names& told_;
};

}  // namespace

struct amax_table::reading {
  reading(io::line_reader lines, char separator, const std::array<std::string, meanings.size()>& columns)
      : rows(std::move(lines), separator),
        step(rows.require(columns[0])),
        tensor(rows.require(columns[1])),
        amax(rows.require(columns[2])) {}

  io::csv_reader rows;
  io::csv_reader::column step;
  io::csv_reader::column tensor;
  io::csv_reader::column amax;
  std::unordered_map<std::string, std::int64_t> last_step;
};

amax_table::amax_table(std::unique_ptr<reading> from) : from_(std::move(from)) {}
amax_table::~amax_table() = default;

std::unique_ptr<amax_table> amax_table::open(const std::string& path, const read_limits& limits,
                                             const told_names& told) {
  io::line_reader lines(path, limits);
  std::string comment;
  while (lines.peek().starts_with('#'))
    if (!lines.next(comment, "a table")) return nullptr;
  for (const char separator : {',', ';', '\t'}) {
    const std::vector<std::string> header = fields_of(lines.peek(), separator);
    if (const auto columns = chosen_columns(path, header, told).choose())
      return std::unique_ptr<amax_table>(
          new amax_table(std::make_unique<reading>(std::move(lines), separator, *columns)));
  }
  return nullptr;
}

bool amax_table::next(amax_row& into) {
  io::csv_reader& rows = from_->rows;
  if (!rows.next()) return false;
  into.tensor = rows.text(from_->tensor);
  const auto [last, is_new] = from_->last_step.try_emplace(into.tensor, std::numeric_limits<std::int64_t>::min());
  into.step = rows.integer(from_->step);
  if (!is_new && into.step <= last->second)
    rows.fail(from_->step, "step " + std::to_string(into.step) + " of " + io::in_quotes(into.tensor) +
                               " does not come after step " + std::to_string(last->second) +
                               ": the steps of a tensor ascend; sort the rows, or keep two runs in two files");
  last->second = into.step;
  const std::string_view text = io::trimmed(rows.text(from_->amax));
  if (!parse_magnitude(text, into.amax))
    rows.fail(from_->amax, io::in_quotes(text) +
                               " is not a largest magnitude: a float32 number that is not below 0, such as "
                               "0.75 or 0x1.8p-1, inf or nan");
  return true;
}

}  // namespace ulp
