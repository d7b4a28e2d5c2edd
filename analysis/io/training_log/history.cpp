#include "history.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "by_order.hpp"
#include "choice.hpp"
#include "numbered_runs.hpp"

namespace ulp::io {
namespace {

using kind = scale_record::kind;
using origin = scale_record::origin;

std::string count_text(std::uint64_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::string_view name_of(origin from) noexcept {
  switch (from) {
    case origin::megatron: return "Megatron-LM";
    case origin::deepspeed: return "DeepSpeed";
    case origin::apex: return "Apex";
    case origin::fairseq: return "fairseq";
    case origin::colossal: return "ColossalAI";
    case origin::trainer: return "Hugging Face Trainer";
    case origin::openmmlab: return "OpenMMLab";
    case origin::swin: return "Swin or DeiT";
    case origin::imagenet: return "PyTorch's ImageNet example";
    case origin::espnet: return "ESPnet";
    case origin::detectron: return "Detectron2";
    case origin::insightface: return "InsightFace";
    case origin::llm_c: return "llm.c";
    case origin::bar:
    case origin::print: break;
  }
  return "";
}

std::string names_of(const std::vector<scale_record>& records) {
  std::set<origin> seen;
  for (const scale_record& r : records)
    if (is_framework(r.from) && (r.what == kind::overflow || r.what == kind::reached || r.what == kind::metrics))
      seen.insert(r.from);
  std::string all;
  for (const origin from : seen) all += (all.empty() ? "" : " and ") + std::string{name_of(from)};
  return all;
}

// What norms and losses that are not finite say.
void note_what_is_lost(const std::vector<scale_record>& records, scale_history& into) {
  std::uint64_t lost = 0;
  std::uint64_t zero_loss = 0;
  std::uint64_t means = 0;
  for (const scale_record& r : records) {
    lost += r.is_lost() ? 1 : 0;
    zero_loss += r.from == origin::trainer && r.grad_norm_is_nan && r.loss == 0 ? 1 : 0;
    means += r.mean_is_lost && !r.is_lost() ? 1 : 0;
  }
  if (lost > 0)
    into.notes.push_back("a loss or a gradient norm that is NaN or infinite stands in " + count_text(lost, "line") +
                         ": the gradients were not finite there");
  if (zero_loss > 0)
    into.notes.push_back(
        "a loss of 0 beside a norm that is NaN stands in " + count_text(zero_loss, "line") +
        ": in place of a loss that is not finite the Trainer takes the mean of those since the line before "
        "(logging_nan_inf_filter), 0 where there are none");
  if (means > 0)
    into.notes.push_back("the mean of the gradient norm is not finite in " + count_text(means, "line") +
                         ": so was the norm of an earlier step of that epoch, which has no line");
}

}  // namespace

void scale_run::describe(const scale_record& line) {
  loss = line.loss;
  grad_norm = line.grad_norm;
  learning_rate = line.learning_rate;
  loss_is_nan = line.loss_is_nan;
  grad_norm_is_nan = line.grad_norm_is_nan;
  lost = line.is_lost();
  decided = lost || !std::isnan(line.grad_norm);
}

scale_history history_of(std::vector<scale_record> records, const std::string& path) {
  scale_history all;
  const std::uint64_t others = choose_records(records);
  all.frameworks = names_of(records);
  if (all.frameworks.empty()) return all;
  if (std::ranges::none_of(records, [](const scale_record& r) { return r.what == kind::reached; })) {
    all.runs = runs_by_order(records, all.notes);
  } else {
    add_numbered_runs(records, path, all);
  }
  note_what_is_lost(records, all);
  all.float16 = std::ranges::none_of(records, [](const scale_record& r) { return r.what == kind::bfloat16; });
  constexpr double window_of_apex = 2000;  // which it does not let anybody set
  for (const scale_record& r : records) {
    if (r.what == kind::window && r.after >= 1) all.window = r.after;
    if (r.from == origin::apex) all.window = window_of_apex;
  }
  if (others > 0)
    all.notes.push_back(std::to_string(others) + (others == 1 ? " line" : " lines") +
                        " of other ranks or other scalers: left out");
  return all;
}

}  // namespace ulp::io
