#include <ulp/report/tables/plan_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <ulp/ask/questions/number_text.hpp>
#include <utility>

#include "judged_text.hpp"

namespace ulp {
namespace {

struct plan_row {
  const plan_answer& plan;
  const planned_tensor& t;

  [[nodiscard]] const tensor_info& info() const { return plan.info[t.tensor]; }
  [[nodiscard]] const plan_treatment& treatment() const { return plan.treatment(t.chosen); }
  [[nodiscard]] const judged_treatment& judged() const { return t.of[t.chosen]; }
};

std::string bits_text(std::uint64_t bits, std::uint64_t numel) {
  return fmt::format("{:.4g}", static_cast<double>(bits) / static_cast<double>(std::max<std::uint64_t>(1, numel)));
}

std::string master_text(const planned_tensor& t) {
  switch (t.master) {
    case master_copy::not_asked: return "";
    case master_copy::assumed: return "float32 copy (assumed)";
    case master_copy::needed: return "float32 copy";
    case master_copy::not_needed: return "no copy";
  }
  return "";
}

std::string_view key_of(master_copy m) {
  switch (m) {
    case master_copy::not_asked: break;
    case master_copy::assumed: return "assumed";
    case master_copy::needed: return "needed";
    case master_copy::not_needed: return "not_needed";
  }
  return "";
}

std::string_view key_of(plan_scale s) {
  switch (s) {
    case plan_scale::none: return "none";
    case plan_scale::run: return "run";
    case plan_scale::tensor: return "tensor";
    case plan_scale::block: return "block";
  }
  return "";
}

std::string names_of(const plan_row& r, const std::vector<std::size_t>& treatments) {
  std::string all;
  for (const std::size_t i : treatments) all += (all.empty() ? "" : ", ") + std::string{r.plan.treatment(i).name};
  return all;
}

// Why it is what it is, where it is not for a figure.
std::string remark(const plan_row& r) {
  if (r.t.nothing_seen)
    return r.t.left_out > 0 && r.judged().steps == 0 ? "infinite or NaN in every step: nothing decides"
                                                     : "zero in every step: nothing decides";
  if (r.judged().verdict(r.plan.most) != plan_verdict::holds)
    return r.judged().may_saturate > 0 ? "saturates in float32, too" : "loses more in float32, too";
  const auto is_unfit = [](const judged_treatment& j) { return j.unfit; };
  return std::ranges::any_of(r.t.of, is_unfit) ? "a vector: not in 8 bits" : "";
}

column<plan_row> miss_column(const char* key, table_value (*value)(const judged_treatment&)) {
  return {key, "",
          [value](const plan_row& r) { return r.t.near_miss ? value(r.t.of[*r.t.near_miss]) : table_value{}; }};
}

table_value finite(double x) { return std::isfinite(x) ? table_value{x} : table_value{}; }

summary_line level_line(const plan_answer& plan, const plan_level& level) {
  constexpr std::array sums{"sums in float32", "float32 sums in attention, some sums of products in 16 bits",
                            "sums of attention and products partly in 16 bits, softmax in 16 bits"};
  const std::string setting = setting_text(plan, level.setting);
  return {
      fmt::format("level {}", level.level),
      fmt::format("{}; {} in float32; {} bits an element, losing at most {:.2g}; {}", setting,
                  count_text(level.in_float32, "tensor"), bits_text(level.bits, plan.numel), level.most,
                  sums[static_cast<std::size_t>(level.level)]),
      {{fmt::format("level_{}", level.level),
        named_values{{{"format", level.setting.half ? table_value{std::string{plan.treatment(*level.setting.half).name}}
                                                    : table_value{}},
                      {"loss_scale_log2",
                       level.setting.scale ? table_value{std::int64_t{level.setting.scale->log2}} : table_value{}},
                      {"lose", level.most},
                      {"bits", integer(level.bits)},
                      {"in_float32", integer(level.in_float32)}}}}}};
}

}  // namespace

std::string steps_text(const plan_answer& plan) {
  return plan.steps == 1 ? "the step" : fmt::format("any of {}", count_text(plan.steps, "step"));
}

std::string setting_text(const plan_answer& plan, const plan_setting& s) {
  if (!s.half) return "no tensor in 16 bits";
  const std::string name{plan.treatment(*s.half).name};
  if (!s.scale) return name + ", no loss scale";
  return fmt::format("{} with loss scale 2^{} (2^{}{} to 2^{} give the same plan)", name, s.scale->log2,
                     s.scale->lowest_log2, s.scale->may_be_lower ? " or less" : "", s.scale->highest_log2);
}

std::string why_not(const plan_answer& plan, const planned_tensor& t, std::size_t treatment) {
  const judged_treatment& j = t.of[treatment];
  switch (j.verdict(plan.most)) {
    case plan_verdict::holds: return "";
    case plan_verdict::unfit: return "a vector";
    case plan_verdict::fails:
      return j.saturating > 0 ? "saturates " + in_steps(j.saturating, j.saturates_first)
                              : fmt::format("loses {}{} in step {}", is_one_number(j) ? "" : "at least ",
                                            short_share(j.worst.low), j.step_of_low);
    case plan_verdict::open: break;
  }
  const std::string what =
      j.may_saturate > 0 && std::isfinite(j.worst.high) ? "may saturate " + in_steps(j.may_saturate, j.saturates_first)
      : std::isfinite(j.worst.high) ? fmt::format("loses {} in step {}", share_text(j), j.step_of_high)
                                    : "not decided";
  return what + "; " + what_to_record(plan.treatment(treatment).blocks(), j.doubts);
}

std::vector<summary_line> lines_of(const plan_answer& plan) {
  const plan_hardware& hardware = *plan.hardware;
  const auto beyond = static_cast<std::uint64_t>(std::ranges::count_if(plan.tensors, [&](const planned_tensor& t) {
    return !t.nothing_seen && t.of[t.chosen].verdict(plan.most) != plan_verdict::holds;
  }));
  std::vector<summary_line> lines;
  lines.push_back(
      {"plan",
       fmt::format("for {} ({}): no tensor loses more than {:.3g} of its energy in {}, and none saturates{}",
                   hardware.name, hardware.summary, plan.most, steps_text(plan),
                   (beyond > 0
                        ? fmt::format(", but for {} that float32 does not hold either", count_text(beyond, "tensor"))
                        : "") +
                       (plan.budget ? fmt::format("; the least that {} bits allow", grouped(*plan.budget)) : "")),
       {{"hardware", std::string{hardware.name}},
        {"lose", plan.most},
        {"budget", plan.budget ? integer(*plan.budget) : table_value{}},
        {"lost_share", plan.share},
        {"steps", integer(plan.steps)}}});
  std::uint64_t copies = 0;
  for (const planned_tensor& t : plan.tensors)
    if (t.master == master_copy::assumed || t.master == master_copy::needed) copies += 32 * t.numel;
  lines.push_back(
      {"bits",
       fmt::format("{} for {} elements of {}: {} an element, where float32 takes 32{}", grouped(plan.bits),
                   grouped(plan.numel), count_text(plan.tensors.size(), "tensor"), bits_text(plan.bits, plan.numel),
                   copies > 0 ? fmt::format("; float32 copies of weights take {} more", grouped(copies)) : ""),
       {{"bits", integer(plan.bits)},
        {"numel", integer(plan.numel)},
        {"bits_per_element",
         static_cast<double>(plan.bits) / static_cast<double>(std::max<std::uint64_t>(1, plan.numel))},
        {"master_copy_bits", integer(copies)}}});
  std::string others;
  for (const plan_setting& s : plan.other_settings) others += (others.empty() ? "" : "; ") + setting_text(plan, s);
  const std::optional<plan_loss_scale>& scale = plan.setting.scale;
  lines.push_back({"16 bits",
                   setting_text(plan, plan.setting) + (others.empty() ? "" : ". As many bits: " + others),
                   {{"format_16", plan.setting.half ? table_value{std::string{plan.treatment(*plan.setting.half).name}}
                                                    : table_value{}},
                    {"loss_scale_log2", scale ? table_value{std::int64_t{scale->log2}} : table_value{}},
                    {"loss_scale_lowest_log2",
                     scale && !scale->may_be_lower ? table_value{std::int64_t{scale->lowest_log2}} : table_value{}},
                    {"loss_scale_highest_log2", scale ? table_value{std::int64_t{scale->highest_log2}} : table_value{}},
                    {"also_possible", others.empty() ? table_value{} : table_value{others}}}});
  const bool has_narrow =
      std::ranges::any_of(plan.tensors, [&](const planned_tensor& t) { return plan.treatment(t.chosen).is_narrow(); });
  lines.push_back({"sums",
                   fmt::format("of products {}{}; not decided by a recording, see ulp precision dot", hardware.sums,
                               has_narrow && hardware.narrow_sums != hardware.sums
                                   ? fmt::format(", of 8 bits and fewer {}", hardware.narrow_sums)
                                   : ""),
                   {{"sums", std::string{has_narrow ? hardware.narrow_sums : hardware.sums}}}});
  if (has_narrow)
    lines.push_back(
        {"scales",
         "of FP8 a power of two from the tensor's own amax in each step (current scaling); of blocks along the "
         "last axis, as the row named in --json",
         {}});
  std::string untold;
  for (std::size_t i = 0; i < plan.treatments.size(); ++i)
    if (std::ranges::any_of(plan.tensors, [&](const planned_tensor& t) { return t.of[i].doubts.needs_values; }))
      untold += (untold.empty() ? "" : ", ") + std::string{plan.treatment(i).name};
  lines.push_back({"not decided",
                   untold.empty() ? "" : untold + ": only float32 values decide it, give the dumps",
                   {{"not_decided", untold.empty() ? table_value{} : table_value{untold}}}});
  std::uint64_t left_out = 0;
  for (const planned_tensor& t : plan.tensors) left_out += t.left_out;
  lines.push_back({"left out",
                   left_out == 0 ? ""
                                 : fmt::format("{} of a tensor with an infinity or a NaN, of which nothing is judged",
                                               count_text(left_out, "step")),
                   {{"left_out", integer(left_out)}}});
  for (const plan_level& level : plan.levels) lines.push_back(level_line(plan, level));
  if (!plan.levels.empty())
    lines.push_back(
        {"",
         "Levels are those of precision_opt_level. Assumed: a tenth of the share for level 0, ten times for "
         "level 2; what 16-bit sums lose is not in it, as their chunks are not published",
         {}});
  return lines;
}

std::string why_chosen(const plan_answer& plan, const planned_tensor& t) {
  const plan_row r{plan, t};
  const judged_treatment& j = r.judged();
  std::string text = fmt::format("{}: {}, {} bits for each of {}.", r.info().name, r.treatment().name,
                                 bits_text(j.bits, t.numel), count_text(t.numel, "element"));
  if (!t.nothing_seen)
    text += j.worst.high > 0 ? fmt::format(" Loses {} at most, in step {}.", short_share(j.worst.high), j.step_of_high)
                             : " Loses nothing.";
  if (t.near_miss)
    text += fmt::format(" Not {}: {}.", plan.treatment(*t.near_miss).name, why_not(plan, t, *t.near_miss));
  if (!t.ties.empty()) text += fmt::format(" As many bits: {}.", names_of(r, t.ties));
  if (const std::string more = remark(r); !more.empty())
    text += fmt::format(" {}{}.", static_cast<char>(std::toupper(static_cast<unsigned char>(more.front()))),
                        more.substr(1));
  if (t.master != master_copy::not_asked) text += fmt::format(" Beside it: {}.", master_text(t));
  return text;
}

table plan_table(const plan_answer& plan) {
  using row = plan_row;
  constexpr auto right = alignment::right;
  const std::vector<column<row>> columns = {
      {"tensor", "tensor", [](const row& r) { return r.info().name; }},
      {"kind", "kind", [](const row& r) { return std::string{to_string(r.info().kind)}; }},
      {"numel", "elements", [](const row& r) { return exactly(r.t.numel); }},
      {"treatment", "treatment", [](const row& r) { return std::string{r.treatment().name}; }},
      {"format", "", [](const row& r) { return std::string{r.treatment().format_name}; }},
      {"row", "",
       [](const row& r) {
         return r.treatment().row.empty() ? table_value{} : table_value{std::string{r.treatment().row}};
       }},
      {"scale", "", [](const row& r) { return std::string{key_of(r.treatment().scale)}; }},
      {"bits", "", [](const row& r) { return integer(r.judged().bits); }},
      {"", "bits each", [](const row& r) { return bits_text(r.judged().bits, r.t.numel); }, {}, right},
      {"lost_share", "",
       [](const row& r) {
         return std::isfinite(r.judged().worst.high) ? table_value{r.judged().worst} : table_value{};
       },
       range_keys::both},
      {"lost_share_estimate", "", [](const row& r) { return finite(r.judged().estimate); }},
      {"",
       "loses at most",
       [](const row& r) { return r.t.nothing_seen ? "-" : short_share(r.judged().worst.high); },
       {},
       right},
      {"worst_step", "in step",
       [](const row& r) { return value_if(!r.t.nothing_seen && r.judged().worst.high > 0, r.judged().step_of_high); }},
      {"steps", "", [](const row& r) { return integer(r.judged().steps); }},
      {"left_out", "left out", [](const row& r) { return value_if(r.t.left_out > 0, integer(r.t.left_out)); }},
      {"ties", "as many bits", [](const row& r) { return value_if(!r.t.ties.empty(), names_of(r, r.t.ties)); }},
      {"near_miss", "cheaper",
       [](const row& r) {
         return r.t.near_miss ? table_value{std::string{r.plan.treatment(*r.t.near_miss).name}} : table_value{};
       }},
      {"near_miss_reason", "why not",
       [](const row& r) { return r.t.near_miss ? table_value{why_not(r.plan, r.t, *r.t.near_miss)} : table_value{}; }},
      miss_column("near_miss_bits", [](const judged_treatment& j) { return integer(j.bits); }),
      miss_column("near_miss_lost_share_low", [](const judged_treatment& j) { return finite(j.worst.low); }),
      miss_column("near_miss_lost_share_high", [](const judged_treatment& j) { return finite(j.worst.high); }),
      {"master_copy", "",
       [](const row& r) { return value_if(r.t.master != master_copy::not_asked, std::string{key_of(r.t.master)}); }},
      {"", "weights", [](const row& r) { return value_if(r.t.master != master_copy::not_asked, master_text(r.t)); }},
      {"lost_updates", "",
       [](const row& r) {
         return value_if(r.t.master == master_copy::needed || r.t.master == master_copy::not_needed, r.t.lost_updates);
       },
       range_keys::both},
      {"remark", "remark", [](const row& r) { return value_if(!remark(r).empty(), remark(r)); }},
  };
  std::vector<row> rows;
  for (const planned_tensor& t : plan.tensors) rows.push_back({plan, t});
  return table_of(columns, rows);
}

}  // namespace ulp
