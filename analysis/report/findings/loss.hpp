// What rounding to a format loses of a set of tensors at a scale, in the order of what matters.
#ifndef ULP_REPORT_FINDINGS_LOSS_HPP
#define ULP_REPORT_FINDINGS_LOSS_HPP

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <ulp/model/replay/survey.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

struct range_loss {
  value_range magnitude{not_known, not_known};  // the share of the sum of magnitudes that underflow takes
  double sqnr = not_known;                      // in decibels; infinite where nothing is rounded
  double lost_sqnr = not_known;                 // by its range: what an exponent of 8 bits would add
  value_range underflow;                        // the share of the nonzero values

  // Nothing above it, also where the input leaves some of it open.
  [[nodiscard]] bool is_within(double epsilon) const { return magnitude.high <= epsilon; }
};

// Of the magnitudes alone, which is all that searching for a scale needs.
[[nodiscard]] value_range magnitude_loss_of(const survey& run, const tensor_set& of, const treatment& how,
                                            double scale);
[[nodiscard]] range_loss loss_of(const survey& run, const tensor_set& of, const treatment& how, double scale);

// "0.00012 % of the magnitude", "nothing", "[1, 2.5] % of the magnitude", "all of the magnitude", "less than 1e-10 % of
// the magnitude".
[[nodiscard]] std::string magnitude_text(const value_range& share);
// "loses 0.00012 % of the magnitude, SQNR 72.1 dB (0.3 dB lost to its range), 2.26 % of nonzero underflow"
[[nodiscard]] std::string loss_text(const range_loss& loss);
[[nodiscard]] named_values numbers_of(const range_loss& loss);

// Which of the kinds that are judged apart it is: an index into judged_kinds.
struct judged_kind {
  const char* key;   // "weight_grad"
  const char* noun;  // "weight gradients"
};
inline constexpr std::array<judged_kind, 3> judged_kinds{
    {{"weight_grad", "weight gradients"}, {"activation_grad", "activation gradients"}, {"unknown", "gradients"}}};
[[nodiscard]] std::size_t judged_as(tensor_kind kind);

// The counted tensors by what they are, weight gradients first (with those of unknown kind where there are no others), as
// a loss scale multiplies them.
struct named_kind {
  std::string key;
  std::string noun;
  tensor_set set;
};
[[nodiscard]] std::vector<named_kind> kinds_of(const survey& run, const std::vector<tensor_info>& tensors);

}  // namespace ulp

#endif
