// Conclusions in plain words, each with its evidence and with what it does not show.
#ifndef ULP_REPORT_ADVICE_HPP
#define ULP_REPORT_ADVICE_HPP

#include <string>
#include <vector>

#include <ulp/formats/format.hpp>
#include <ulp/formats/rounding.hpp>
#include <ulp/model/scenario.hpp>
#include <ulp/model/step.hpp>
#include <ulp/model/survey.hpp>
#include <ulp/model/sweep.hpp>
#include <ulp/report/rounding_text.hpp>
#include <ulp/report/run_text.hpp>
#include <ulp/report/table.hpp>

namespace ulp {

struct finding {
  std::string topic;  // what it is about, as one word for programs
  std::string question;
  std::string conclusion;
  std::vector<std::string> evidence;  // lines
  std::string limits;                 // what it does not show
  std::vector<named_value> numbers;   // what the sentences say, for programs: shares are fractions of 1
};

struct advice_options {
  std::string format_name = "float16";  // the format that is scaled
  ulp::format format;
  ulp::rounding rounding;            // to it
  rounding_text typed;               // each format that is compared may have another
  double epsilon = 1e-3;             // the share of nonzero gradients that may underflow
  std::size_t worst = 5;             // tensors that are named
  std::vector<tensor_group> groups;  // looked at beside single tensors
};

// What they are as texts: `groups` are the run's. Throws std::invalid_argument, also where the rounding is drawn.
[[nodiscard]] advice_options advice_options_of(const std::string& format, const rounding_text& rounding,
                                               const std::string& epsilon, const run_text& run);

// GradScaler with various starts and growth intervals, to be run over the same steps as the survey.
[[nodiscard]] std::vector<scenario> scaler_trials(const advice_options& options, const selection& counted,
                                                  const name_predicate& checked);

// The questions that the input can answer: which format needs no loss scale, which static scales do, which start and
// growth interval of GradScaler, which tensors lose most, how often clipping would trigger, whether tensors need scales
// of their own, and what scaling cannot help. `trials` are the results of scaler_trials, in their order.
[[nodiscard]] std::vector<finding> advice_of(const survey& run, const std::vector<tensor_info>& tensors,
                                             const std::vector<scenario>& scenarios,
                                             const std::vector<sweep_result>& trials, const advice_options& options);

}  // namespace ulp

#endif
