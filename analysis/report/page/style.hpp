// How the page looks: one style sheet, for light and dark screens and for paper.
#ifndef ULP_REPORT_PAGE_STYLE_HPP
#define ULP_REPORT_PAGE_STYLE_HPP

#include <string>
#include <string_view>

namespace ulp {

extern const std::string_view page_style;

// What is in its pictures: rules of which each begins with "svg", in the colours of the page.
extern const std::string_view picture_style;

// The value of a colour of the page, "#0b6e8a" of "heat", on a light screen.
[[nodiscard]] std::string light_colour(std::string_view name);

}  // namespace ulp

#endif
