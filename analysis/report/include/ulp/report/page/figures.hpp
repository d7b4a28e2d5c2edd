// The pictures of the page as SVG files of their own.
#ifndef ULP_REPORT_PAGE_FIGURES_HPP
#define ULP_REPORT_PAGE_FIGURES_HPP

#include <string>
#include <string_view>
#include <vector>

#include <ulp/report/page/html.hpp>

namespace ulp {

// Named as the views of the viewer that show the same: window, scale, layers, clipping; and logged.
[[nodiscard]] std::vector<std::string> figure_names();

// Throws std::invalid_argument where there is no such picture.
void check_figure_name(std::string_view name);

// With its legend, on white, without scripts, fonts or addresses of anything. Its style is its own, also inside a page. Of
// several policies it shows the first. Throws std::invalid_argument where there is no such picture, or the run has nothing
// to draw in it.
[[nodiscard]] std::string figure_of(const report_page& page, std::string_view name);

}  // namespace ulp

#endif
