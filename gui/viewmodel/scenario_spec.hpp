// A scenario as the user writes it, and what it means.
#ifndef ULP_GUI_VIEWMODEL_SCENARIO_SPEC_HPP
#define ULP_GUI_VIEWMODEL_SCENARIO_SPEC_HPP

#include <string>
#include <utility>
#include <vector>

#include <ulp/io/source.hpp>
#include <ulp/model/scenario.hpp>

namespace ulp::gui {

struct scenario_spec {
  std::string scaler = "pytorch_gradscaler";
  std::vector<std::pair<std::string, std::string>> parameters;  // those that were set, as typed
  std::string format = "float16";
  std::string rounding;    // empty: the format's own
  std::string clip_norm;   // at most one of the two
  std::string clip_value;  // likewise
  std::string order;       // of unscaling, the overflow check and clipping; empty: unscale,check,clip
  std::string check;       // a regular expression; empty: the default rule
  friend bool operator==(const scenario_spec&, const scenario_spec&) = default;
};

// Throws std::invalid_argument, whose text is for the user, where the specification means nothing.
[[nodiscard]] scenario scenario_of(const scenario_spec& spec);

// "pytorch_gradscaler growth_interval=200, float16".
[[nodiscard]] std::string name_of(const scenario_spec& spec);

// The `ulp replay` line that does the same.
[[nodiscard]] std::string command_of(const scenario_spec& spec, const std::vector<std::string>& inputs,
                                     const source_options& how = {});

}  // namespace ulp::gui

#endif
