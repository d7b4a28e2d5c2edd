// What a plan is asked for.
#ifndef ULP_GUI_VIEWMODEL_PLAN_SPEC_HPP
#define ULP_GUI_VIEWMODEL_PLAN_SPEC_HPP

#include <string>

namespace ulp::gui {

struct plan_spec {
  std::string hardware = "any";
  std::string lose;  // as ulp plan takes it; empty: its usual share
  friend bool operator==(const plan_spec&, const plan_spec&) = default;
};

}  // namespace ulp::gui

#endif
