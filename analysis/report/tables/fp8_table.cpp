#include <ulp/report/tables/fp8_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <ulp/formats/names.hpp>
#include <utility>

namespace ulp {
namespace {

// As C prints it with %a, whatever the locale.
std::string hexadecimal(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), std::fabs(x), std::chars_format::hex).ptr;
  return (std::signbit(x) ? "-0x" : "0x") + std::string(text.data(), end);
}

// NaN is a number here like others, not nothing.
table_value real(double x, real_text as) {
  if (as == real_text::hexadecimal) return hexadecimal(x);
  if (std::isnan(x)) return std::string{"nan"};
  return x;
}

// A float32 number as short as it is told from its neighbours.
std::string float32_text(double x) { return fmt::format("{}", static_cast<float>(x)); }

std::string format_name(const fp8_treatment& t) { return to_string(t.how.format); }

struct tensor_line {
  const tensor_info& tensor;
  const fp8_treatment& as;
  const fp8_tensor_summary& sum;
};

table_value text_if(bool known, const std::string& text) { return known ? table_value{text} : table_value{}; }

// "19 of 750 (2.53 %)"
std::string among(std::uint64_t n, std::uint64_t of) {
  return fmt::format("{} of {} ({} %)", grouped(n), grouped(of),
                     percent_number(static_cast<double>(n) / static_cast<double>(of)));
}

std::string step_share(std::uint64_t n, std::uint64_t of) {
  return n == 0
             ? "0"
             : fmt::format("{} ({} %)", grouped(n), percent_number(static_cast<double>(n) / static_cast<double>(of)));
}

// "23,074 to 23,602"
std::string range_text(const count_range& n) {
  return n.exact() ? grouped(n.low) : fmt::format("{} to {}", grouped(n.low), grouped(n.high));
}

table_value sqnr_of(const rounding_noise& noise) { return value_if(noise.values > 0, noise.sqnr()); }
std::string sqnr_text(const rounding_noise& noise) {
  const double x = noise.sqnr();
  if (noise.values == 0 || std::isnan(x)) return "-";
  return fmt::format("{}{:.1f}", noise.squares_exact ? "" : "~", x);
}

// What became of the values of a row's summary, as counts for machines and as shares for people.
template <typename Row>
void add_counts(std::vector<column<Row>>& to, bool known) {
  to.push_back(
      {"nonzero", "", [=](const Row& r) { return value_if(known, r.sum.counts.nonzero()); }, range_keys::both});
  for (const auto& [name, part] : {std::pair{"saturated", &outcome_counts::overflow},
                                   {"underflow", &outcome_counts::underflow},
                                   {"subnormal", &outcome_counts::subnormal}}) {
    to.push_back(
        {name, "", [=, part = part](const Row& r) { return value_if(known, r.sum.counts.*part); }, range_keys::both});
    to.push_back({"",
                  name,
                  [=, part = part](const Row& r) {
                    return text_if(known, percent_text(share_of_nonzero(r.sum.counts, r.sum.counts.*part)));
                  },
                  {},
                  alignment::right});
  }
}

}  // namespace

fp8_columns fp8_columns_of(const fp8_row& row) {
  return row.has_counts ? fp8_columns::counts : row.is_live ? fp8_columns::live_scales : fp8_columns::amaxes;
}

table fp8_rows_table(std::span<const fp8_row> rows, const std::vector<tensor_info>& tensors, real_text reals,
                     fp8_columns with) {
  using row = fp8_row;
  const auto as = [=](auto part) { return [=](const row& r) { return real(part(r), reals); }; };
  const auto counted = [](auto part) { return [=](const row& r) { return table_value{std::invoke(part, r.counts)}; }; };
  std::vector<column<row>> columns = {
      {"step", "", [](const row& r) { return r.key.step; }},
      {"tensor", "", [&](const row& r) { return tensors[r.tensor].name; }},
      {"amax", "", as([](const row& r) { return r.amax; })},
      {"scale_before", "", as([](const row& r) { return r.scales.before; })},
      {"scale_used", "", as([](const row& r) { return r.scales.used; })},
      {"scale_after", "", as([](const row& r) { return r.scales.after; })},
  };
  if (with == fp8_columns::live_scales)
    columns.push_back({"live_scale", "", [=](const row& r) {
                         return r.live_scale ? real(static_cast<double>(*r.live_scale), reals) : table_value{};
                       }});
  if (with == fp8_columns::counts) {
    const std::vector<column<row>> more = {
        {"multiplied_by", "", as([](const row& r) { return r.multiplied_by; })},
        {"ideal_scale", "", [=](const row& r) { return std::isnan(r.ideal) ? table_value{} : real(r.ideal, reals); }},
        {"stale", "", &row::is_stale},
        {"held", "", [](const row& r) { return r.scales.held; }},
        {"saturates", "", &row::saturates},
        {"numel", "", counted([](const outcome_counts& c) { return exactly(c.numel); })},
        {"zero", "", counted(&outcome_counts::zeros), range_keys::both},
        {"nonfinite", "", counted([](const outcome_counts& c) { return exactly(c.nonfinite); })},
        {"underflow", "", counted([](const outcome_counts& c) { return c.underflow; }), range_keys::both},
        {"subnormal", "", counted([](const outcome_counts& c) { return c.subnormal; }), range_keys::both},
        {"saturated", "", counted([](const outcome_counts& c) { return c.overflow; }), range_keys::both},
        {"sqnr_db", "", [](const row& r) { return sqnr_of(r.noise); }},
        {"sqnr_exact", "", [](const row& r) { return value_if(r.noise.values > 0, r.noise.squares_exact); }},
    };
    columns.insert(columns.end(), more.begin(), more.end());
  }
  return table_of(columns, rows);
}

table fp8_tensors_table(const fp8_answer& answer) {
  using row = tensor_line;
  constexpr auto right = alignment::right;
  std::vector<row> sorted;
  for (const std::uint32_t tensor : worst_first(answer)) {
    const tensor_info& info = answer.tensors[tensor];
    sorted.push_back({info, answer.by.recipe().of(info), answer.by.summaries().at(tensor)});
  }

  const bool has_counts = !answer.is_of_amaxes;
  std::vector<column<row>> columns = {
      {"tensor", "tensor", [](const row& r) { return r.tensor.name; }},
      {"kind", "", [](const row& r) { return std::string{to_string(r.tensor.kind)}; }},
      {"format", "format", [](const row& r) { return format_name(r.as); }},
      {"steps", "steps", [](const row& r) { return integer(r.sum.steps); }},
      {"first_scale", "", [](const row& r) { return r.sum.first_scale; }},
      {"last_scale", "last scale", [](const row& r) { return r.sum.last_scale; }},
      {"saturating_steps", "", [](const row& r) { return integer(r.sum.saturating); }},
      {"", "saturating steps", [](const row& r) { return step_share(r.sum.saturating, r.sum.steps); }, {}, right},
      {"stale_steps", "", [](const row& r) { return integer(r.sum.stale); }},
      {"first_stale_step", "first stale",
       [](const row& r) { return r.sum.first_stale ? table_value{*r.sum.first_stale} : table_value{}; }},
      {"", "stale steps", [](const row& r) { return step_share(r.sum.stale, r.sum.steps); }, {}, right},
      {"most_binades_above", "", [](const row& r) { return r.sum.most_binades_above; }},
      {"most_binades_below", "", [](const row& r) { return r.sum.most_binades_below; }},
      {"infinite_steps", "amax inf",
       [](const row& r) { return value_if(r.sum.infinite > 0, integer(r.sum.infinite)); }},
      {"nan_steps", "amax NaN", [](const row& r) { return value_if(r.sum.nan > 0, integer(r.sum.nan)); }},
      {"held_steps", "scale held", [](const row& r) { return value_if(r.sum.held > 0, integer(r.sum.held)); }},
      {"numel", "", [=](const row& r) { return value_if(has_counts, exactly(r.sum.counts.numel)); }},
  };
  add_counts(columns, has_counts);
  columns.push_back({"sqnr_db", "", [](const row& r) { return sqnr_of(r.sum.noise); }});
  columns.push_back(
      {"", "SQNR dB", [=](const row& r) { return text_if(has_counts, sqnr_text(r.sum.noise)); }, {}, right});
  return table_of(columns, sorted);
}

table fp8_sweep_table(const fp8_sweep_answer& answer) {
  using row = swept_fp8;
  constexpr auto right = alignment::right;
  std::vector<column<row>> columns = {
      {"pareto", "", &row::on_front},
      {"", "*", [](const row& r) { return std::string{r.on_front ? "*" : ""}; }},
      {"recipe", "", [](const row& r) { return r.asked.recipe; }},
      {"scaler", "", [](const row& r) { return r.asked.scaler; }},
      {"format", "", [](const row& r) { return r.asked.format; }},
      {"", "recipe",
       [](const row& r) {
         return r.asked.recipe.empty() ? r.asked.scaler + " " + r.asked.format : recipe_of(r.asked).name;
       }},
      {"parameters", "parameters", [](const row& r) { return fmt::format("{}", fmt::join(r.asked.parameters, " ")); }},
      {"tensor_steps", "", [](const row& r) { return integer(r.sum.steps); }},
      {"saturating_steps", "", [](const row& r) { return integer(r.sum.saturating); }},
      {"", "saturating steps", [](const row& r) { return step_share(r.sum.saturating, r.sum.steps); }, {}, right},
      {"stale_steps", "", [](const row& r) { return integer(r.sum.stale); }},
      {"", "stale steps", [](const row& r) { return step_share(r.sum.stale, r.sum.steps); }, {}, right},
      {"infinite_steps", "", [](const row& r) { return integer(r.sum.infinite); }},
      {"nan_steps", "", [](const row& r) { return integer(r.sum.nan); }},
      {"held_steps", "", [](const row& r) { return integer(r.sum.held); }},
      {"", "scale held", [](const row& r) { return step_share(r.sum.held, r.sum.steps); }, {}, right},
  };
  add_counts(columns, !answer.is_of_amaxes);
  const bool has_counts = !answer.is_of_amaxes;
  columns.push_back({"not_finite_underflow", "",
                     [=](const row& r) { return value_if(has_counts, r.sum.not_finite_underflow); }, range_keys::both});
  columns.push_back({"",
                     "underflow at amax inf, NaN",
                     [=](const row& r) {
                       return text_if(has_counts && r.sum.not_finite_underflow.high > 0,
                                      percent_text(share_of_nonzero(r.sum.counts, r.sum.not_finite_underflow)));
                     },
                     {},
                     right});
  columns.push_back({"sqnr_db", "", [](const row& r) { return sqnr_of(r.sum.noise); }});
  columns.push_back(
      {"", "SQNR dB", [=](const row& r) { return text_if(has_counts, sqnr_text(r.sum.noise)); }, {}, right});
  return table_of(columns, answer.recipes);
}

std::vector<summary_line> lines_of(const fp8_answer& answer, const fp8_question& asked) {
  fp8_tensor_summary all;
  std::uint64_t held_tensors = 0;
  for (const auto& [tensor, sum] : answer.by.summaries()) {
    all += sum;
    held_tensors += sum.held > 0 ? 1 : 0;
  }
  const fp8_recipe& recipe = answer.by.recipe();
  const fp8_scaler& policy = recipe.forward.start;
  std::string parameters;
  named_values values;
  for (const auto& p : policy.parameters()) {
    if (std::holds_alternative<std::monostate>(p.value)) continue;
    parameters += (parameters.empty() ? "" : " ") + p.name + "=" + to_string(p.value);
    values.all.push_back({p.name, std::visit([](const auto& v) { return table_value{v}; }, p.value)});
  }
  const std::string forward = format_name(recipe.forward);
  const std::string gradient = format_name(recipe.gradient);
  std::vector<summary_line> lines;
  if (!asked.recipe.empty()) lines.push_back({"recipe", recipe.name, {{"recipe", recipe.name}}});
  lines.push_back({"policy",
                   fmt::format("{} {}", policy.entry().name, parameters),
                   {{"policy", std::string{policy.entry().name}}, {"parameters", std::move(values)}}});
  lines.push_back({"format",
                   forward == gradient ? forward : fmt::format("{}, of gradients {}", forward, gradient),
                   {{"format", forward}, {"gradient_format", gradient}}});
  lines.push_back({"steps",
                   fmt::format("{}, of {}", grouped(answer.steps), count_text(answer.by.summaries().size(), "tensor")),
                   {{"steps", integer(answer.steps)}, {"tensors", integer(answer.by.summaries().size())}}});
  lines.push_back({"saturation",
                   all.saturating == 0 ? "in no step of any tensor"
                                       : fmt::format("in {} steps of a tensor", among(all.saturating, all.steps)),
                   {{"saturating_tensor_steps", integer(all.saturating)}, {"tensor_steps", integer(all.steps)}}});
  lines.push_back({"stale scale",
                   all.stale == 0 ? "never off by more than a binade"
                                  : fmt::format("off by more than a binade in {}, the first at step {}",
                                                among(all.stale, all.steps), *all.first_stale),
                   {{"stale_tensor_steps", integer(all.stale)},
                    {"first_stale_step", all.first_stale ? table_value{*all.first_stale} : table_value{}}}});
  const std::string kept = all.held == 0 ? ""
                                         : fmt::format("; it kept the scale in {}, of {}", among(all.held, all.steps),
                                                       count_text(held_tensors, "tensor"));
  const std::string vanished = all.not_finite_underflow.high == 0
                                   ? ""
                                   : fmt::format("; in them {} values underflow", range_text(all.not_finite_underflow));
  const std::string not_finite =
      all.infinite + all.nan == 0
          ? ""
          : fmt::format("in {}: {} infinite, {} NaN{}{}", among(all.infinite + all.nan, all.steps),
                        grouped(all.infinite), grouped(all.nan), vanished, kept);
  lines.push_back({"amax not finite",
                   not_finite,
                   {{"infinite_tensor_steps", integer(all.infinite)},
                    {"nan_tensor_steps", integer(all.nan)},
                    {"held_tensor_steps", integer(all.held)}}});
  if (!answer.is_of_amaxes) lines.back().values.push_back({"not_finite_underflow", all.not_finite_underflow});
  if (answer.live) {
    const live_comparison& live = *answer.live;
    const auto& first = live.first;
    lines.push_back(
        {"live scales",
         live.tensor_steps == 0
             ? "not known"
             : fmt::format("those of the replay in {} steps, in {} steps of a tensor{}",
                           among(live.equal_steps, live.steps), among(live.equal_tensor_steps, live.tensor_steps),
                           first ? fmt::format("; the first other one at step {}, {}: {}, replayed {}", first->step,
                                               answer.tensors[first->tensor].name, float32_text(first->live),
                                               float32_text(first->replayed))
                                 : std::string{}),
         {{"live_steps", integer(live.steps)},
          {"live_equal_steps", integer(live.equal_steps)},
          {"live_tensor_steps", integer(live.tensor_steps)},
          {"live_equal_tensor_steps", integer(live.equal_tensor_steps)},
          {"first_difference_step", first ? table_value{first->step} : table_value{}},
          {"first_difference_tensor", first ? table_value{answer.tensors[first->tensor].name} : table_value{}},
          {"first_difference_live", first ? table_value{first->live} : table_value{}},
          {"first_difference_replayed", first ? table_value{first->replayed} : table_value{}}}});
  }
  if (!answer.is_of_amaxes) {
    const auto counted = [&](const std::string& title, const count_range& part) {
      lines.push_back(
          {title,
           fmt::format("{} ({} of nonzero)", range_text(part), percent_text(share_of_nonzero(all.counts, part))),
           {{title, part}}});
    };
    counted("saturated", all.counts.overflow);
    counted("underflow", all.counts.underflow);
    counted("subnormal", all.counts.subnormal);
  }
  return lines;
}

}  // namespace ulp
