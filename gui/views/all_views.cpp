#include "all_views.hpp"

#include "clipping_view.hpp"
#include "compare_view.hpp"
#include "exponents_view.hpp"
#include "formats_view.hpp"
#include "layers_view.hpp"
#include "overview_view.hpp"
#include "plan_view.hpp"
#include "policies_view.hpp"
#include "scale_view.hpp"
#include "steps_view.hpp"
#include "tensor_scales_view.hpp"
#include "window_view.hpp"

namespace ulp::gui {

std::vector<view*> make_views(view_state& state, QWidget* parent) {
  return {new overview_view(state, parent), new window_view(state, parent),  new exponents_view(state, parent),
          new layers_view(state, parent),   new scale_view(state, parent),   new tensor_scales_view(state, parent),
          new clipping_view(state, parent), new formats_view(state, parent), new plan_view(state, parent),
          new policies_view(state, parent), new steps_view(state, parent),   new compare_view(state, parent)};
}

QStringList view_keys() {
  return {"overview", "window",  "exponents", "layers",   "scale", "tensor-scales",
          "clipping", "formats", "plan",      "policies", "steps", "compare"};
}

}  // namespace ulp::gui
