// The pictures of the page: drawings below each other, and what their lines and colours mean.
#ifndef ULP_REPORT_PAGE_FIGURE_HPP
#define ULP_REPORT_PAGE_FIGURE_HPP

#include <string>
#include <vector>

#include <ulp/report/page/html.hpp>

#include "svg.hpp"

namespace ulp {

// A line in a colour of the style, or a swatch, and what it means.
struct legend_key {
  std::string text;
  std::string colour;
  std::string line;    // solid, dashed, dotted
  std::string swatch;  // a sample, in place of the line
};
[[nodiscard]] legend_key line_key(std::string colour, std::string line, std::string text);
[[nodiscard]] legend_key swatch_key(std::string swatch, std::string text);

struct figure {
  struct part {
    drawing drawn;
    std::string description;
  };
  std::vector<legend_key> legend;
  std::vector<part> parts;  // none where there is nothing to draw

  [[nodiscard]] bool empty() const noexcept { return parts.empty(); }
};

// Gradients by magnitude and step, of a single step by magnitude, with the limits of the format under the policy.
[[nodiscard]] figure window_figure(const report_page& page, const report_replay& replay);
// The loss scale of a replay by step.
[[nodiscard]] figure scale_figure(const report_replay& replay);
[[nodiscard]] std::vector<legend_key> scale_legend(const std::vector<report_replay>& replays);
// Loss, learning rate, norm and loss scale of the run itself by step, as far as they were logged.
[[nodiscard]] figure logged_figure(const report_page& page);
// Underflow by tensor and step, of the tensors that lose most.
[[nodiscard]] figure loss_figure(const report_page& page);
// The norm of the gradients by step.
[[nodiscard]] figure norm_figure(const report_page& page);

}  // namespace ulp

#endif
