// What treatments of 8 bits and fewer lose of the tensors of a step.
#ifndef ULP_ASK_RUNS_NARROW_ENERGIES_HPP
#define ULP_ASK_RUNS_NARROW_ENERGIES_HPP

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <ulp/ask/runs/judged_treatment.hpp>
#include <ulp/io/source/source.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/plan/hardware.hpp>
#include <ulp/model/plan/lost_energy.hpp>

namespace ulp {

class narrow_energies {
 public:
  // `how`: is made to read what they are judged by.
  narrow_energies(std::span<const plan_treatment> treatments, source_options& how);

  // Precondition: it is narrow. `doubts`: gets why it is not decided.
  [[nodiscard]] lost_energy operator()(std::size_t treatment, const tensor_row& row, plan_doubts& doubts) const;
  // What was counted of the values themselves; nullptr where the input has none, or the treatment no blocks.
  [[nodiscard]] const quantized_outcomes* counted(std::size_t treatment, const tensor_row& row) const;

 private:
  std::span<const plan_treatment> treatments_;
  std::vector<std::size_t> quantized_at_;              // of each treatment in tensor_row::quantized
  std::vector<std::optional<block_energy>> energies_;  // of those that tables bound
};

}  // namespace ulp

#endif
