#include "tensor_scales.hpp"

#include <algorithm>
#include <limits>
#include <ulp/ask/runs/fp8_answer.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/report/tables/fp8_table.hpp>

namespace ulp::gui {
namespace {

static_assert(sizeof(scaled_step) == 80);

scaled_step drawn_of(const fp8_row& r) {
  return {.step = r.key.step,
          .amax = r.amax,
          .multiplied_by = r.multiplied_by,
          .ideal = r.ideal,
          .saturated = r.counts.overflow,
          .underflow = r.counts.underflow,
          .saturates = r.saturates,
          .stale = r.is_stale(),
          .held = r.scales.held};
}

// The rows of all tensors, as long as there are not too many; then those of one.
class kept_rows {
 public:
  kept_rows(std::map<std::uint32_t, std::vector<scaled_step>>& rows, const std::string& of, std::size_t most)
      : rows_(rows), of_(of), most_(most) {}

  void add(const fp8_row& row, const std::vector<tensor_info>& tensors, bool divides) {
    float& live = live_.try_emplace(row.tensor, not_a_number).first->second;
    if (keeps_all_ || tensors[row.tensor].name == of_) {
      scaled_step& now = rows_[row.tensor].emplace_back(drawn_of(row));
      // A step uses what the step before it has left.
      now.live = divides ? 1.0 / static_cast<double>(live) : static_cast<double>(live);
    }
    live = row.live_scale.value_or(not_a_number);
    if (!keeps_all_ || ++kept_ <= most_) return;
    keeps_all_ = false;
    std::erase_if(rows_, [&](const auto& of_tensor) { return tensors[of_tensor.first].name != of_; });
  }

 private:
  static constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
  std::map<std::uint32_t, std::vector<scaled_step>>& rows_;
  const std::string& of_;
  std::size_t most_;
  std::size_t kept_ = 0;
  bool keeps_all_ = true;
  std::map<std::uint32_t, float> live_;  // after the last step
};

}  // namespace

std::shared_ptr<const tensor_scales> scales_under(const loaded_run& run, const fp8_spec& spec, const std::string& of,
                                                  listener& to, std::size_t most_rows) {
  const fp8_question asked = question_of(run.text, spec);
  const auto all = std::make_shared<tensor_scales>();
  kept_lines lines(to);
  kept_rows kept(all->rows, of, most_rows);
  const fp8_scaler_entry& policy = policy_of(asked);
  const auto hears = [&](const std::vector<fp8_row>& rows, const std::vector<tensor_info>& tensors) {
    for (const fp8_row& r : rows) kept.add(r, tensors, policy.divides);
  };
  const fp8_answer answer = fp8_replay_over(asked, lines, hears, with_noise::no);
  all->recipe = answer.by.recipe().name;
  all->policy = policy.name;
  all->is_of_amaxes = answer.is_of_amaxes;
  all->live = answer.live;
  all->tensors = answer.tensors;
  all->summaries = answer.by.summaries();
  all->choices = answer.by.choices();
  all->worst_first = worst_first(answer);
  for (const auto& [tensor, sum] : all->summaries)
    all->formats[tensor] = to_string(answer.by.recipe().of(all->tensors[tensor]).how.format);
  all->notes = without(lines.notes(), run.notes);
  all->warnings = without(lines.warnings(), run.warnings);
  for (auto& [tensor, rows] : all->rows) rows.shrink_to_fit();
  // Which one is the worst is known only now.
  if (all->rows.empty()) return scales_under(run, spec, all->tensors[all->worst_first.front()].name, to, most_rows);
  return all;
}

table table_of(const tensor_scales& all, std::uint32_t tensor) {
  using row = scaled_step;
  const auto found = all.rows.find(tensor);
  const std::vector<row> none;
  const bool counted = !all.is_of_amaxes;
  // NaN is a number here like others, not nothing.
  const auto real = [](double x) { return std::isnan(x) ? table_value{std::string{"nan"}} : table_value{x}; };
  const std::vector<column<row>> columns = {
      {"step", "step", &row::step},
      {"tensor", "tensor", [&](const row&) { return all.tensors[tensor].name; }},
      {"amax", "amax", [=](const row& r) { return real(r.amax); }},
      {"multiplied_by", "multiplied by", [=](const row& r) { return real(r.multiplied_by); }},
      {"ideal_scale", "ideal scale", [](const row& r) { return value_if(!std::isnan(r.ideal), r.ideal); }},
      {"stale", "stale", &row::stale},
      {"held", "held", &row::held},
      {"saturates", "saturates", &row::saturates},
      {"underflow", "underflow", [=](const row& r) { return value_if(counted, r.underflow); }, range_keys::both},
      {"saturated", "saturated", [=](const row& r) { return value_if(counted, r.saturated); }, range_keys::both},
  };
  return ulp::table_of(columns, found == all.rows.end() ? none : found->second);
}

}  // namespace ulp::gui
