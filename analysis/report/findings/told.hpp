// A cause in words: what a reader is told first, and what speaks for it.
#ifndef ULP_REPORT_FINDINGS_TOLD_HPP
#define ULP_REPORT_FINDINGS_TOLD_HPP

#include <string>
#include <vector>

#include <ulp/io/config/configuration_lines.hpp>
#include <ulp/model/causes/diagnosis.hpp>
#include <ulp/report/findings/advice.hpp>

namespace ulp {

struct told {
  std::string happened;
  std::string change;              // what to do
  std::vector<std::string> lines;  // of a configuration
  std::string sure;                // how sure that is, and by what
  std::vector<std::string> evidence;
  named_values numbers;
};

// What the words need beside the cause.
struct telling {
  const std::vector<tensor_info>& tensors;
  const advice_options& options;
  std::uint64_t steps = 0;      // of the run that tell whether they overflowed
  std::uint64_t all_steps = 0;  // of the run
  bool has_tensors = true;      // else it is a log
  std::optional<int>
      safe_log2;  // the largest power of two at which no step before the run's death overflows; nullopt: all
  double usual_norm = not_known;  // that 99 % of the steps before its death do not exceed
  bool is_replaced = false;       // it is none of the run any more: that was started again from an earlier step
};

[[nodiscard]] told tell(const cause& of, const telling& about);

// Of each cause: tell*.cpp.
#define ULP_TOLD_CAUSE(name) [[nodiscard]] told told_of(const name& of, const telling& about);
ULP_CAUSES(ULP_TOLD_CAUSE)
#undef ULP_TOLD_CAUSE

// The largest power of two at which no finite step overflows, or a usual scale where none does at any.
[[nodiscard]] double safe_scale(const telling& about);
// What keeps gradients that underflow: the safe scale where it does and is above `scale`, else bfloat16.
void advise_against_underflow(std::string& change, std::vector<std::string>& lines, const telling& about, double scale,
                              bool safe_scale_does);
// Of the framework, in the manner of the user's own configuration, or that it has no setting for it; empty where the configuration
// has it already.
[[nodiscard]] std::vector<std::string> lines_for(const telling& about, loss_scale_choice choice);
// The user's own configuration trains in a format with the range of float32, where no loss scale is needed.
[[nodiscard]] bool is_wide(const own_configuration& own);

[[nodiscard]] named_values numbers_of(const step_span& s);
[[nodiscard]] bool is_gapless(const step_span& s);
// "step 7", "steps 7 to 18", "between steps 7 and 30", "about steps 7 to 18", "within steps 1 to 50"
[[nodiscard]] std::string where(const step_span& s);
// "step 7", "12 steps (steps 7 to 18)", "12 steps (between steps 7 and 30)", "3 attempts at step 7"
[[nodiscard]] std::string span_text(const step_span& s);
// "step 7", "steps 7, 9 and 3 more"
[[nodiscard]] std::string listed(const std::vector<std::int64_t>& steps);
// "30-fold", "10^13-fold"
[[nodiscard]] std::string times_text(double times);
// "30 times", "10^13 times"
[[nodiscard]] std::string multiple_text(double times);
// ", while the gradient norm is finite", ", while the gradient norm is finite in 3 of them"; empty where it is in none.
[[nodiscard]] std::string finite_norms_text(std::uint64_t finite, std::uint64_t of);
// How sure it is then what happened.
inline constexpr const char* unsure_by_norms =
    "not sure: a loss that is NaN or infinite mostly has gradients that are, too; this loss and this norm may be of two steps or batches";
// "2.3", "1,234", "1.2e+08"
[[nodiscard]] std::string loss_number(double loss);
// "clip the norm near 1.1, which ..."; empty where no norms are known.
[[nodiscard]] std::string clipping_text(const telling& about);

}  // namespace ulp

#endif
