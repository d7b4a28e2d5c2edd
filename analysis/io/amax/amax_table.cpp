#include <ulp/io/amax/amax_table.hpp>

#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "bytes/lines.hpp"
#include "bytes/text.hpp"
#include "csv/csv.hpp"

namespace ulp {
namespace {

// All of `text` as a float32; false where it is none, or not one that a magnitude can be.
bool parse_magnitude(std::string_view text, float& into) {
  auto form = std::chars_format::general;
  if (text.starts_with("+")) text.remove_prefix(1);
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    form = std::chars_format::hex;
  }
  const char* const end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, into, form);
  if (error == std::errc::result_out_of_range) {
    // Below the smallest float32 it is rounded like others; above the largest it is none.
    double wide = 0;
    std::tie(stop, error) = std::pair{std::from_chars(text.data(), end, wide, form).ptr, std::errc()};
    if (!(wide < 1)) return false;
    into = static_cast<float>(wide);
  }
  return error == std::errc() && stop == end && !(into < 0);
}

// Whether the line that comes next has these columns; it is not consumed.
bool is_header(std::string_view line) {
  bool has_step = false;
  bool has_tensor = false;
  bool has_amax = false;
  if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  if (line.ends_with('\r')) line.remove_suffix(1);
  while (!line.empty()) {
    const std::size_t comma = line.find(',');
    std::string_view name = io::trimmed(line.substr(0, comma));
    if (name.size() > 1 && name.starts_with('"') && name.ends_with('"')) name = name.substr(1, name.size() - 2);
    has_step = has_step || name == "step";
    has_tensor = has_tensor || name == "tensor";
    has_amax = has_amax || name == "amax";
    line.remove_prefix(comma == std::string_view::npos ? line.size() : comma + 1);
  }
  return has_step && has_tensor && has_amax;
}

}  // namespace

struct amax_table::reading {
  explicit reading(io::line_reader lines)
      : rows(std::move(lines)),
        step(rows.require("step")),
        tensor(rows.require("tensor")),
        amax(rows.require("amax")) {}

  io::csv_reader rows;
  io::csv_reader::column step;
  io::csv_reader::column tensor;
  io::csv_reader::column amax;
  std::unordered_map<std::string, std::int64_t> last_step;
};

amax_table::amax_table(std::unique_ptr<reading> from) : from_(std::move(from)) {}
amax_table::~amax_table() = default;

std::unique_ptr<amax_table> amax_table::open(const std::string& path, const read_limits& limits) {
  io::line_reader lines(path, limits);
  std::string comment;
  while (lines.peek().starts_with('#'))
    if (!lines.next(comment, "a table")) return nullptr;
  if (!is_header(lines.peek())) return nullptr;
  return std::unique_ptr<amax_table>(new amax_table(std::make_unique<reading>(std::move(lines))));
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
