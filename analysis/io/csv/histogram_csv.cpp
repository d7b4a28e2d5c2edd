// One row per step and tensor: n values, of them zero, nan and inf, and counts of floor(log2|x|) from e_min up.
#include "histogram_csv.hpp"

#include <charconv>
#include <cmath>
#include <unordered_map>

#include <ulp/io/bytes/error.hpp>

#include "bytes/cursor.hpp"
#include "bytes/text.hpp"
#include "bytes/within.hpp"
#include "csv.hpp"

namespace ulp::io {
namespace {

constexpr int lowest_binade = -1074;
constexpr int highest_binade = 1023;

struct histogram_columns {
  explicit histogram_columns(const csv_reader& rows)
      : step(rows.require("step")),
        tensor(rows.require("tensor")),
        n(rows.require("n")),
        zero(rows.require("zero")),
        nan(rows.require("nan")),
        inf(rows.require("inf")),
        max_abs(rows.require("max_abs")),
        e_min(rows.require("e_min")),
        counts(rows.require("counts")),
        kind(rows.find("kind")),
        sum_abs(rows.find("sum_abs")),
        sum_sq(rows.find("sum_sq")) {}

  csv_reader::column step, tensor, n, zero, nan, inf, max_abs, e_min, counts;
  std::optional<csv_reader::column> kind, sum_abs, sum_sq;
};

std::vector<cell> read_binades(const csv_reader& rows, const histogram_columns& at) {
  std::vector<cell> cells;
  std::string_view rest = trimmed(rows.text(at.counts));
  if (rest.empty()) return cells;
  std::int64_t binade = rows.integer(at.e_min);
  for (; !rest.empty(); ++binade) {
    const std::string_view token = rest.substr(0, rest.find(' '));
    std::uint64_t count = 0;
    const auto [stop, error] = std::from_chars(token.data(), token.data() + token.size(), count);
    if (error != std::errc() || stop != token.data() + token.size())
      rows.fail(at.counts, in_quotes(token) + " is not a count");
    if (binade < lowest_binade || binade > highest_binade)
      rows.fail(at.counts, "reaches the binade " + std::to_string(binade) + ", outside those of float64");
    if (count > 0)
      cells.push_back({.sign = cell_sign::unknown,
                       .slot = whole_binade,
                       .exponent = static_cast<std::int16_t>(binade),
                       .count = count});
    rest = trimmed(rest.substr(token.size()));
  }
  return cells;
}

void check_total(const csv_reader& rows, const histogram_columns& at, const cell_table& table) {
  std::optional<std::uint64_t> total = 0;
  const auto add = [&](std::uint64_t count) {
    if (total) total = checked_add(*total, count);
  };
  add(table.zeros);
  add(table.nans);
  add(table.unsigned_infinities);
  for (const cell& c : table.cells) add(c.count);
  if (total != table.numel)
    rows.fail(at.n, "n = " + std::to_string(table.numel) + ", but zero + nan + inf + counts = " +
                        (total ? std::to_string(*total) : "more than 64 bits can count"));
}

// The largest magnitude is exact, so it lies in the highest binade that holds anything.
double read_max_abs(const csv_reader& rows, const histogram_columns& at, const cell_table& table) {
  const double value = rows.number(at.max_abs);
  if (table.cells.empty()) {
    if (value != 0) rows.fail(at.max_abs, "must be 0 where counts are empty");
    return 0;
  }
  const int top = table.cells.back().exponent;
  if (!(value > 0) || std::isinf(value) || magnitude_of(value).exponent != top)
    rows.fail(at.max_abs, in_quotes(rows.text(at.max_abs)) + " does not lie in the highest binade of counts, from 2^" +
                              std::to_string(top) + " to 2^" + std::to_string(top + 1));
  return value;
}

double read_sum(const csv_reader& rows, const csv_reader::column& at) {
  const double value = rows.number(at);
  if (value < 0 || std::isinf(value)) rows.fail(at, in_quotes(rows.text(at)) + " is not a sum of finite magnitudes");
  return value;
}

cell_table read_table(const csv_reader& rows, const histogram_columns& at) {
  cell_table table;
  table.numel = rows.count(at.n);
  if (table.numel > max_numel) rows.fail(at.n, "is more than the 2^40 elements that a table may have");
  table.zeros = rows.count(at.zero);
  table.nans = rows.count(at.nan);
  table.unsigned_infinities = rows.count(at.inf);
  table.cells = read_binades(rows, at);
  check_total(rows, at, table);
  table.max_abs = read_max_abs(rows, at, table);
  table.min_abs = table.cells.empty() ? 0 : not_known;
  if (at.sum_abs) table.reported_abs_sum = read_sum(rows, *at.sum_abs);
  if (at.sum_sq) table.reported_square_sum = read_sum(rows, *at.sum_sq);
  return table;
}

class histogram_csv final : public source {
 public:
  histogram_csv(csv_reader rows, std::vector<tensor_info> known, const read_limits& limits)
      : limits_(limits),
        rows_(std::move(rows)),
        at_(rows_),
        pending_(rows_.next()),
        tensors_(std::move(known)),
        last_steps_(tensors_.size(), no_step) {
    for (const tensor_info& t : tensors_) indices_.emplace(t.name, static_cast<std::uint32_t>(indices_.size()));
    if (!pending_) throw input_error(rows_.path(), "", "holds no rows below its header");
    step_ = rows_.step(at_.step, std::nullopt);
  }

  [[nodiscard]] source_kind kind() const override { return source_kind::histogram_csv; }
  [[nodiscard]] std::string description() const override { return "histogram CSV"; }
  [[nodiscard]] const std::vector<tensor_info>& tensors() const override { return tensors_; }

  [[nodiscard]] bool next(step& into) override {
    if (!pending_) return false;
    into = {};
    into.key.step = step_;
    do into.tensors.push_back(read_row());
    while (advance() && step_ == into.key.step);
    return true;
  }

 private:
  bool advance() {
    pending_ = rows_.next();
    if (pending_ && rows_.integer(at_.step) != step_) step_ = rows_.step(at_.step, step_);
    return pending_;
  }

  tensor_row read_row() {
    tensor_row row{.tensor = 0, .table = read_table(rows_, at_)};
    row.tensor = tensor_index(row.table.numel);
    return row;
  }

  std::uint32_t tensor_index(std::uint64_t numel) {
    const std::string& name = rows_.text(at_.tensor);
    if (name.empty()) rows_.fail(at_.tensor, "the field is empty");
    const auto [found, added] = indices_.try_emplace(name, static_cast<std::uint32_t>(tensors_.size()));
    const std::uint32_t index = found->second;
    const tensor_kind kind = read_kind(name);
    if (added) {
      check_count(indices_.size(), limits_, rows_.path(), "", "tensors");
      check_name(rows_.path(), "tensor " + in_quotes(name), name);
      tensor_info& info = tensors_.emplace_back();
      info.name = name;
      info.kind = kind;
      info.numel = numel;
      last_steps_.push_back(step_);
      return index;
    }
    if (last_steps_[index] == step_)
      rows_.fail(at_.tensor, in_quotes(name) + " appears twice in step " + std::to_string(step_));
    tensor_info& info = tensors_[index];
    if (info.kind != kind)
      rows_.fail(*at_.kind, in_quotes(name) + " was " + std::string(to_string(info.kind)) + " in an earlier step");
    if (info.numel != numel) info.numel = 0;  // an activation gradient follows the batch
    last_steps_[index] = step_;
    return index;
  }

  [[nodiscard]] tensor_kind read_kind(const std::string& name) const {
    if (!at_.kind || rows_.is_blank(*at_.kind)) return kind_of_name(name);
    const auto kind = parse_kind(trimmed(rows_.text(*at_.kind)));
    if (!kind)
      rows_.fail(*at_.kind,
                 in_quotes(rows_.text(*at_.kind)) +
                     " is not one of wgrad, agrad, weight_grad, activation_grad, weight, update, activation");
    return *kind;
  }

  read_limits limits_;
  csv_reader rows_;
  histogram_columns at_;
  static constexpr std::int64_t no_step = -1;

  bool pending_;           // whether rows_ stands at a row that was not returned
  std::int64_t step_ = 0;  // of that row
  std::vector<tensor_info> tensors_;
  std::vector<std::int64_t> last_steps_;  // in which each tensor was seen
  std::unordered_map<std::string, std::uint32_t> indices_;
};

}  // namespace

bool is_histogram_csv(const csv_reader& rows) {
  return rows.find("step") && rows.find("tensor") && rows.find("counts");
}

std::unique_ptr<source> open_histogram_csv(csv_reader rows, std::vector<tensor_info> known, const read_limits& limits) {
  return std::make_unique<histogram_csv>(std::move(rows), std::move(known), limits);
}

}  // namespace ulp::io
