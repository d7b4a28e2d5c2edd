// Pieces of the page that its sections share, and the sections that are heat maps.
#ifndef ULP_REPORT_HTML_PARTS_HPP
#define ULP_REPORT_HTML_PARTS_HPP

#include <string>
#include <string_view>
#include <ulp/report/html.hpp>
#include <vector>

#include "svg.hpp"

namespace ulp {

// "2^-14"
[[nodiscard]] std::string log2_label(double x);
// "1.25 %"
[[nodiscard]] std::string share_text(double share);
// An entry of a legend: a line in a colour of the style.
[[nodiscard]] std::string key_of(std::string_view colour, std::string_view line, std::string_view text);
// Another: a swatch.
[[nodiscard]] std::string key_of(const std::string& swatch, std::string_view text);
[[nodiscard]] std::string html_table(const table& t);
// Shown when its summary is opened; both are HTML.
[[nodiscard]] std::string folded(std::string_view summary, std::string_view inside);
void label_steps(drawing& d, const std::vector<column_span>& spans);
// "7", "8 to 11"
[[nodiscard]] std::string steps_of(const column_span& s);

// Gradients by magnitude and step, with the limits of the format; empty where there are none.
[[nodiscard]] std::string window_section(const report_page& page);
// Underflow by tensor and step; empty where no tensor has gradients.
[[nodiscard]] std::string loss_section(const report_page& page);

}  // namespace ulp

#endif
