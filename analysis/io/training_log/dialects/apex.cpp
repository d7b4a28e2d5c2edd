// Apex amp: a line for each skipped step, from every rank, with the scale after it, which is half of the one before; no
// step numbers. "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0": NVIDIA/apex
// apex/amp/handle.py (scale_loss) at 007c5947; without "loss scaler 0" before version 0.1 of 2019, and "Gradient
// overflow, skipping update" of its old handle.
#include <array>

#include "rows.hpp"

namespace ulp::io {
namespace {

using kind = scale_record::kind;

// The number of the loss's own scaler stands before these words.
record_match read_apex_reducing(const record_text& text, std::size_t at, bool last) {
  constexpr std::string_view words = "reducinglossscaleto";
  constexpr std::string_view before = "lossscaler";
  scale_record r{.what = kind::overflow};
  std::size_t digits = at - words.size();
  std::uint32_t unit = 1;
  for (int n = 0; n < 6 && digits > 0 && text.view()[digits - 1] >= '0' && text.view()[digits - 1] <= '9'; ++n) {
    r.part += unit * static_cast<std::uint32_t>(text.view()[--digits] - '0');
    unit *= 10;
  }
  if (!text.view().substr(0, digits).ends_with(before)) r.part = 0;
  return read_trailing(text, at, last, "", r, &scale_record::after);
}

record_match read_skipping(const record_text&, std::size_t at, bool) {
  return whole_record({.what = kind::overflow}, at);
}

// "DLL 2020-06-03 02:40:14.640910 - PARAMETER loss_scale : 524288.0": NVIDIA/DeepLearningExamples
// PyTorch/LanguageModeling/BERT/run_pretraining.py (take_optimizer_step) logs the scale after an overflow.
record_match read_parameter(const record_text& text, std::size_t at, bool last) {
  return read_trailing(text, at, last, "", {.what = kind::overflow}, &scale_record::after);
}

// The words that go on with the scale: it is what they are read by.
record_match read_no_scale(const record_text&, std::size_t, bool) { return no_record(); }

constexpr std::array apex_starts{
    record_start{"reducinglossscaleto", read_apex_reducing},
    record_start{"Gradientoverflow,skippingupdate", read_skipping, true},
    record_start{"Gradientoverflow.Skippingstep", read_no_scale, true},
    record_start{"PARAMETERloss_scale:", read_parameter},
};

}  // namespace

log_dialect apex_dialect() {
  // Apex lets nobody set its window.
  return {.name = "Apex", .starts = apex_starts, .window = 2000, .has_scalers = true};
}

}  // namespace ulp::io
