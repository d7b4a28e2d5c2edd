// A plan in the words of a framework: what its launcher, its configuration or its code takes.
//
// A layer is in 8 bits or fewer where all three operands of its products were recorded, its input, its weight and the
// gradient of its output, and each of them holds in what the framework's recipe makes of it. All other layers are in
// the list of those that stay in 16 bits, with the reason beside it.
#ifndef ULP_REPORT_TABLES_PLAN_FILES_HPP
#define ULP_REPORT_TABLES_PLAN_FILES_HPP

#include <string>
#include <string_view>
#include <vector>

#include <ulp/ask/runs/plan_answer.hpp>

namespace ulp {

struct plan_file {
  std::string text;                // whole lines
  std::vector<std::string> notes;  // what the framework cannot say
};

// "emulate", "megatron", ...
[[nodiscard]] std::vector<std::string> plan_frameworks();

// Throws std::invalid_argument where the plan's hardware is not one that the framework runs on.
[[nodiscard]] plan_file plan_file_for(std::string_view framework, const plan_answer& plan);

// The layer that a tensor is of: its name without what says the kind ("wgrad/") and without ".weight" or ".bias".
[[nodiscard]] std::string layer_of(std::string_view tensor);

}  // namespace ulp

#endif
