// What an expert would say of a run: what happened, what to change and how sure that is; then every question that the
// input can answer, with its evidence and with what it does not show.
#ifndef ULP_REPORT_FINDINGS_ADVICE_HPP
#define ULP_REPORT_FINDINGS_ADVICE_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/questions/rounding_text.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/formats/rounding.hpp>
#include <ulp/io/config/config_import.hpp>
#include <ulp/model/causes/diagnosis.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/replay/scenario.hpp>
#include <ulp/model/replay/survey.hpp>
#include <ulp/model/sweep/sweep.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// How much a finding asks for: something is wrong, something is worth a look, all is well.
enum class finding_grade : std::uint8_t { trouble, notable, fine };

// One line of the small picture beside a finding.
struct finding_bar {
  std::string label;
  value_range share;  // of 1
  std::string text;
  finding_grade grade = finding_grade::fine;
};

struct finding {
  std::string topic;  // what it is about, as one word for programs
  std::string question;
  std::string conclusion;
  std::vector<std::string> evidence;  // lines
  std::string limits;                 // what it does not show
  std::vector<named_value> numbers;   // what the sentences say, for programs: shares are fractions of 1
  finding_grade grade = finding_grade::fine;
  // Where it is seen; nullopt and empty where it is of no single step or tensor.
  std::optional<std::int64_t> step = {};
  std::string tensor = {};
  std::vector<finding_bar> bars = {};
};

// A finding on weights, and what the first three lines say where no cause is worse: `happened` is empty where weights are well.
struct weights_told {
  finding about;
  std::string happened;
  std::string change;
  std::string sure;
};

// The first three lines.
struct advice_summary {
  // name_of the first cause; where there is none "healthy", "underflow", "lost_updates", "weights_not_finite", "loss_rise" or
  // "unknown".
  std::string cause;
  std::string happened;
  std::string change;
  std::vector<std::string> lines;  // of the framework's configuration
  std::string sure;
  finding_grade grade = finding_grade::fine;
  std::optional<std::int64_t> left_out_from;  // the step from which on nothing else is judged
};

struct advice {
  advice_summary first;
  std::vector<finding> findings;  // causes first, then what is wrong with weights, then the other questions
  std::string thresholds;         // from which on something is worth a look or wrong, in words

  // Nothing of what was asked stands out.
  [[nodiscard]] bool all_clear() const noexcept;
};

// Whose configuration is written, and what it says already.
struct own_configuration {
  std::string framework = "pytorch_gradscaler";  // or a scaler
  std::string format;                            // a name of the catalogue; empty where it does not say
  bool is_static = false;                        // its scale is constant
  std::optional<std::string> weights_kept_in;    // as imported_config has it
  bool weights_stochastic = false;
};
[[nodiscard]] own_configuration own_configuration_of(const imported_config& said);

struct advice_options {
  std::string format_name = "float16";  // the format that is scaled
  ulp::format format;
  ulp::rounding rounding;            // to it
  rounding_text typed;               // each format that is compared may have another
  double epsilon = 1e-5;             // the share of the magnitude of gradients that underflow may take
  std::size_t worst = 5;             // tensors that are named
  std::vector<tensor_group> groups;  // looked at beside single tensors
  own_configuration configured;
};

// What they are as texts: `groups` are the run's. Throws std::invalid_argument, also where the rounding is drawn.
[[nodiscard]] advice_options advice_options_of(const std::string& format, const rounding_text& rounding,
                                               const std::string& epsilon, const run_text& run);

// Fed with the steps of a run: once, and where the run died once more up to there, so that nothing but the first question
// is answered by what came after.
class adviser {
 public:
  adviser(advice_options options, selection counted, name_predicate checked);

  // As survey::expect.
  void expect(std::size_t steps) { whole_.expect(steps); }
  void add(const step& now, const std::vector<tensor_info>& tensors);
  // After the last step: what is to be read again; nullopt where that is not needed. A source that cannot be read again is
  // judged with all its steps.
  [[nodiscard]] std::optional<selection> again(const std::vector<tensor_info>& tensors);
  void add_again(const step& now, const std::vector<tensor_info>& tensors);

  // All steps, and those that are judged.
  [[nodiscard]] const survey& whole() const noexcept { return whole_; }
  [[nodiscard]] const survey& judged() const noexcept { return less_ ? *less_ : whole_; }
  [[nodiscard]] const advice_options& options() const noexcept { return options_; }

  // `updates`: what weights_finding says of the same run.
  [[nodiscard]] advice result(const std::vector<tensor_info>& tensors, std::optional<weights_told> updates = {});

 private:
  advice_options options_;
  selection counted_;
  name_predicate checked_;
  std::vector<scenario> scenarios_;
  survey whole_;
  std::optional<survey> less_;
  std::optional<sweep> trials_;
  std::optional<diagnosis> found_;
};

// The summary as the first of the findings, topic "summary".
[[nodiscard]] finding finding_of(const advice_summary& first);

}  // namespace ulp

#endif
