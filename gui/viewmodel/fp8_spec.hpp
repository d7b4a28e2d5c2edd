// Under which FP8 recipe runs are replayed.
#ifndef ULP_GUI_VIEWMODEL_FP8_SPEC_HPP
#define ULP_GUI_VIEWMODEL_FP8_SPEC_HPP

#include <string>
#include <vector>

#include <ulp/ask/questions/run_text.hpp>
#include <ulp/ask/runs/fp8_answer.hpp>

namespace ulp::gui {

inline constexpr const char* usual_fp8_recipe = "te_delayed:hybrid";
// All that can be replayed, with their variants.
[[nodiscard]] std::vector<std::string> fp8_recipe_names();

struct fp8_spec {
  std::string recipe = usual_fp8_recipe;
  std::vector<std::string> parameters = {};  // "key=value" of its policy
  std::vector<std::string> kept_out = {};    // parts of the names of tensors that a configuration does not cast
  friend bool operator==(const fp8_spec&, const fp8_spec&) = default;
};

[[nodiscard]] fp8_question question_of(const run_text& run, const fp8_spec& spec);
[[nodiscard]] fp8_spec spec_of(const fp8_question& asked);
// "te_delayed:hybrid margin=1"
[[nodiscard]] std::string name_of(const fp8_spec& spec);
// With the full name of the recipe. Throws std::invalid_argument where it is none, or its policy has no such
// parameters.
[[nodiscard]] fp8_spec checked(fp8_spec spec);

}  // namespace ulp::gui

#endif
