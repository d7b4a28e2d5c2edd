// What an expert would say of a run: what happened, what to change and how sure that is; then every question that the
// input can answer, with its evidence and with what it does not show.
#ifndef ULP_REPORT_FINDINGS_ADVICE_HPP
#define ULP_REPORT_FINDINGS_ADVICE_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/runs/advice_answer.hpp>
#include <ulp/model/outcomes/outcome.hpp>
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
  // name_of the first cause; where there is none "healthy", "underflow", "lost_updates", "weights_not_finite", "loss_rise",
  // "too_short", "unknown", or "replaced" where something had gone wrong in steps that were done again.
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

[[nodiscard]] advice advice_on(const examined_run& run);
// `updates`: what is said of its weights, see weights_finding.
[[nodiscard]] advice advice_on(const examined_run& run, std::optional<weights_told> updates);

// The summary as the first of the findings, topic "summary".
[[nodiscard]] finding finding_of(const advice_summary& first);

// A row for each finding, the summary first.
[[nodiscard]] table advice_table(const advice& given);

}  // namespace ulp

#endif
