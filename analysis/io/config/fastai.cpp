// fastai 2 in a script: fastai/fastai fastai/callback/fp16.py (MixedPrecision hands its arguments to torch's GradScaler; to_fp16,
// to_bf16 and to_fp32 add or remove it), callback/training.py (GradientClip). fastai 1 has other arguments, and a scaler of its own.
#include <algorithm>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "frameworks.hpp"
#include "programs/rows.hpp"

namespace ulp::io {
namespace {

constexpr std::string_view by_hand = "GradientClip clips in the program: give --clip-norm";
constexpr std::string_view to_float16 = ".to_fp16(";
constexpr std::string_view to_bf16 = ".to_bf16(";

// Learner(...), vision_learner(...): what they return others have, too.
bool is_of_learner(std::string_view call) {
  const std::size_t chained = std::min(call.find(to_float16), call.find(to_bf16));
  return chained != std::string_view::npos && call.find("earner(") < chained;
}

// learn = Learner(...).to_fp16(), which is open as what is called on any call.
const config_entry* chained_in(const config_node& node) {
  for (const config_entry& e : node.entries) {
    if (e.value.open && is_of_learner(e.value.text)) return &e;
    if (const config_entry* const found = chained_in(e.value)) return found;
  }
  return nullptr;
}

bool has_chained(const config_node& root) { return chained_in(root) != nullptr; }

void import_chained(import_run& run, const config_entry& root) {
  const config_entry& e = *chained_in(root.value);
  run.only_what_matters = true;
  run.settled[static_cast<std::size_t>(concern::precision)] = true;
  if (e.value.text.ends_with(".to_bf16()")) {
    run.no_scaling("bfloat16");
    run.means(".to_bf16()", std::string{to_bfloat16});
  } else if (e.value.text.ends_with(".to_fp16()")) {
    set_grad_scaler(run);
    run.means(".to_fp16()", std::string{with_torch_grad_scaler});
  } else {
    throw input_error(run.file, at_line(e.line),
                      "calls to_fp16 or to_bf16 of fastai in a chain, where its arguments are not read; write learn = "
                      "learn.to_fp16(...) on a line of its own");
  }
  run.out.weights_kept_in = "float32";
  run.note(std::string{by_hand});
}

}  // namespace

program_row fastai_chained_program() {
  return {.name = "fastai", .place = written_in::files, .import = import_chained, .is_its = has_chained};
}

program_row fastai_program() {
  return {
      .name = "fastai",
      .calls = "to_fp16 to_bf16 MixedPrecision",
      .call_markers = "()=to_fp16|to_bf16 amp_mode growth_interval init_scale growth_factor backoff_factor",
      .keys = {.read = "()"},
      .precision = {{.when = "!()",
                     .refused = "calls neither to_fp16 nor to_bf16, as far as it is read; give --scaler and --format"},
                    {.when = "loss_scale", .refused = "is of fastai 1, whose scaler is not known here"},
                    {.when = "max_noskip", .refused = "is of fastai 1, whose scaler is not known here"},
                    {.when = "dynamic", .refused = "is of fastai 1, whose scaler is not known here"},
                    {.when = "flat_master", .refused = "is of fastai 1, whose scaler is not known here"},
                    {.when = "()=to_bf16", .format = "bfloat16", .weights = "float32", .meaning = to_bfloat16},
                    {.when = "amp_mode=bf16", .format = "bfloat16", .weights = "float32", .meaning = to_bfloat16},
                    {.when = "amp_mode !amp_mode=fp16", .refused = "is no mode that is known here"},
                    torch_scaled("", "autocast to float16 with torch.amp.GradScaler")},
      .scale = {{"pytorch_gradscaler", "init_scale", "init_scale", "scale of the first step"},
                {"pytorch_gradscaler", "growth_factor", "growth_factor", "factor of growth"},
                {"pytorch_gradscaler", "backoff_factor", "backoff_factor", "factor of backoff"},
                {"pytorch_gradscaler", "growth_interval", "growth_interval",
                 "good steps in a row before the scale grows"}},
      .remarks = {{.text = by_hand}},
      .place = written_in::files};
}

}  // namespace ulp::io
