// How the page looks: one style sheet, for light and dark screens and for paper.
#ifndef ULP_REPORT_STYLE_HPP
#define ULP_REPORT_STYLE_HPP

#include <string_view>

namespace ulp {

extern const std::string_view page_style;

}  // namespace ulp

#endif
