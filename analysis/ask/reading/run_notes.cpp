#include <ulp/ask/reading/run_notes.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <ulp/ask/questions/number_text.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/model/machines/policy_analysis.hpp>

namespace ulp {
namespace {

// "all 3 tensors"
std::string all_of(std::uint64_t n, std::string_view noun) {
  return n == 1 ? fmt::format("the only {}", noun) : "all " + count_text(n, noun);
}

}  // namespace

std::string rule_text(const tensor_choice& choice) {
  const std::uint64_t n = choice.checked_count();
  switch (choice.rule()) {
    case check_rule::undecided: return "what the log says";
    case check_rule::expression: return count_text(n, "tensor") + ", by --check";
    case check_rule::counted: return count_text(n, "tensor") + ", by --tensor";
    case check_rule::low_gradients:
      return count_text(n, choice.default_kind() == tensor_kind::weight_grad ? "weight gradient" : "tensor") +
             " of role low";
    case check_rule::all_weight_grads: return all_of(n, "weight gradient");
    case check_rule::everything: return all_of(n, "tensor");
  }
  return "";
}

void run_notes::see(const step& now, const std::vector<tensor_info>& tensors) {
  repeated_.see(now.key, now.scalars);
  doubts_.see(now, tensors);
  if (previous_ && !gap_ && now.key.step > *previous_ + 1) gap_ = {*previous_, now.key.step};
  previous_ = now.key.step;
  const bool told =
      now.max_abs || std::ranges::any_of(now.layers, [](const layer_row& layer) { return layer.max_abs.has_value(); });
  bounded_ = bounded_ || now.bounds;
  const bool flagged = now.scalars.found_inf || std::ranges::any_of(now.layers, [](const layer_row& layer) {
                         return layer.found_inf.has_value();
                       });
  // A flag holds at the scale that it was found at.
  const bool at_scale = now.layers.empty() && now.scalars.loss_scale > 0;
  if (now.tensors.empty() && !told && !now.bounds && !(flagged && at_scale)) (flagged ? flags_only_ : silent_) = true;
  told_ = told_ || told || flagged || now.bounds || !now.tensors.empty();
}

std::vector<std::string> run_notes::lines(const tensor_choice& choice, const run_text& run) const {
  std::vector<std::string> all = repeated_.lines(run);
  for (std::string& line : doubts_.lines()) all.push_back(std::move(line));
  if (gap_)
    all.push_back(
        fmt::format("steps are missing (after {} comes {}); the policy sees the remaining steps as consecutive",
                    gap_->first, gap_->second));
  if (bounded_ && choice.rule() == check_rule::undecided)
    all.emplace_back(
        "the input only bounds the largest gradient of each step: overflow is assumed where the bounds prove it, and "
        "marked ~ where they leave it open");
  if (flags_only_ && !bounded_ && choice.rule() == check_rule::undecided)
    all.emplace_back(
        "the input only shows whether a step overflowed at the recorded run's scale: every scale is assumed to "
        "overflow in the same steps, and the format has no effect; a column maxabs would show more");
  if (silent_)
    all.push_back(fmt::format("{} have neither gradients nor overflow: they are assumed not to overflow",
                              told_ ? "some steps" : "the steps"));
  if (choice.rule_is_late())
    all.emplace_back(
        "tensors that appeared after the first step would have changed which ones are checked, or the norm; give "
        "--check, or record the input first");
  if (choice.unknown_count() > 0)
    all.push_back(
        fmt::format("the roles of {} are unknown: of these only what is infinite or NaN counts as overflow, and the "
                    "replay may miss "
                    "some at other scales; say what they are with --role REGEX=low or =float32",
                    count_text(choice.unknown_count(), "gradient")));
  if (choice.rule() == check_rule::all_weight_grads)
    all.emplace_back(
        "roles are unknown, so all weight gradients are checked for overflow, even those kept in float32; select them "
        "with --check or --role REGEX=low");
  return all;
}

std::vector<std::string> group_notes(const std::vector<tensor_set>& groups) {
  std::vector<std::string> all;
  for (const tensor_set& g : groups)
    if (g.tensors.empty()) all.push_back(fmt::format("--group: no counted tensor is in {}", g.name));
  return all;
}

std::vector<std::string> group_notes(const std::vector<tensor_group>& groups, const std::vector<tensor_info>& tensors,
                                     const selection& counted) {
  std::vector<bool> found(groups.size());
  for (const tensor_info& t : tensors)
    if (const auto of = group_of(groups, t.name); of && counted.takes(t)) found[*of] = true;
  std::vector<std::string> all;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (!found[i] && !tensors.empty())
      all.push_back(fmt::format("--group: no counted tensor is in {}; names are like '{}'", groups[i].name,
                                tensors.front().name));
  return all;
}

std::vector<std::string> policy_notes(const scenario& s, const std::string& format_name) {
  std::vector<std::string> all = parameter_notes(s.recipe.machine());
  // A scaler's own idea of the 16-bit type chooses its defaults and should be that of the replay.
  for (const scaler_parameter& p : s.recipe.machine().parameters())
    if (p.name == "fp16_type" && find_format(to_string(p.value)) != s.recipe.usual().format)
      all.push_back(fmt::format("{} has the defaults of fp16_type={}, the replay is in {}; see --set fp16_type=",
                                s.recipe.machine().entry().name, to_string(p.value), format_name));
  if (s.order.clip_before_unscale)
    all.emplace_back(
        "--order: gradients are clipped while scaled, so the bound on the true gradient is the bound divided by the "
        "scale");
  if (s.order.clip_before_check && s.clip_value)
    all.emplace_back(
        "--order: infinities are clamped to the bound before the overflow check, so only NaN skips a step");
  return all;
}

}  // namespace ulp
