// Pieces of the page that its sections share, and the sections.
#ifndef ULP_REPORT_PAGE_HTML_PARTS_HPP
#define ULP_REPORT_PAGE_HTML_PARTS_HPP

#include <functional>
#include <string>
#include <string_view>
#include <ulp/report/page/html.hpp>
#include <vector>

#include "figure.hpp"
#include "svg.hpp"

namespace ulp {

// "1.25 %"
[[nodiscard]] std::string share_text(double share);
// Of sentences: typeset, and safe in HTML.
[[nodiscard]] std::string prose(std::string_view text);
// It scrolls in itself where it is too wide. Long texts are cut in the middle, and shown whole when pointed at.
[[nodiscard]] std::string html_table(const table& t);
// Shown when its summary is opened; both are HTML.
[[nodiscard]] std::string folded(std::string_view summary, std::string_view inside);
void label_steps(drawing& d, const std::vector<column_span>& spans);
// "7", "8 to 11"
[[nodiscard]] std::string steps_of(const column_span& s);
// With its legend above it.
[[nodiscard]] std::string html_of(const figure& f);
// An entry of a legend.
[[nodiscard]] std::string html_of(const legend_key& key);
// Each with its evidence, which is shown at first for the first `shown_open` that have any.
[[nodiscard]] std::string html_of(const std::vector<finding>& findings, std::size_t shown_open);
// The name of a policy and its parameters, as a heading.
[[nodiscard]] std::string heading_of(const report_replay& replay);
// The columns in which steps were skipped.
[[nodiscard]] std::vector<bool> skipped_in(const report_replay& replay);
// Of a share above 0 in a heat map: from 0.01 % on, all is strongest. Any can be told from none.
[[nodiscard]] double strength_of(double share);
// Whether there is but one step, so that nothing can be drawn over them.
[[nodiscard]] bool is_single_step(const report_page& page);
// Calls draw(first, last) for each run of columns that `is` tells.
void for_each_run(std::size_t columns, const std::function<bool(std::size_t)>& is,
                  const std::function<void(std::size_t, std::size_t)>& draw);

// What there is no data of, in legends.
inline constexpr std::string_view missing_text = "no data: no finite nonzero gradient was recorded";

// The sections, empty where there is nothing to show.
// What happened, what to change and how sure that is.
[[nodiscard]] std::string summary_section(const report_page& page);
// Loss and learning rate by step.
[[nodiscard]] std::string logged_section(const report_page& page);
// Gradients by magnitude and step, of a single step by magnitude, with the limits of the format.
[[nodiscard]] std::string window_section(const report_page& page);
[[nodiscard]] std::string scale_section(const report_page& page);
// The scales of the worst tensors under a recipe, and a table of all.
[[nodiscard]] std::string recipe_section(const report_page& page);
// Formats whose blocks share a scale.
[[nodiscard]] std::string block_section(const report_page& page);
// Where the run parts from others.
[[nodiscard]] std::string comparison_section(const report_page& page);
// What each tensor may be kept in.
[[nodiscard]] std::string plan_section(const report_page& page);
// Underflow by tensor and step.
[[nodiscard]] std::string loss_section(const report_page& page);
[[nodiscard]] std::string norm_section(const report_page& page);
[[nodiscard]] std::string findings_section(const report_page& page);

}  // namespace ulp

#endif
