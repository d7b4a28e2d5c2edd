#include "judged_blocks.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <ulp/ask/questions/number_text.hpp>

#include "tables/judged_text.hpp"

namespace ulp {
namespace {

std::string what_decides(const judged_row& in, const judged_treatment& j) {
  if (in.tried.from_values && !j.doubts.is_double) return "its extents do not fit these blocks";
  return what_to_record(&in.row, j.doubts);
}

}  // namespace

std::size_t chosen_index(const block_advice& b) {
  const std::vector<const block_format*>& rows = b.of.rows;
  const bool is_second =
      rows.size() > 1 && b.tried->is_better(b.tried->index_of(*rows[1]), b.tried->index_of(*rows[0]));
  return is_second ? 1 : 0;
}

const block_format& chosen_of(const block_advice& b) { return *b.of.rows[chosen_index(b)]; }

std::string element_text(const block_format& row) {
  const std::string_view name = row.element.name;
  std::string text;
  for (std::size_t i = name.find("_e") + 1; i < name.size() && text.size() < 4; ++i)
    text += static_cast<char>(std::toupper(static_cast<unsigned char>(name[i])));
  return text;
}

std::string of_tensors(std::size_t n, std::size_t all) { return fmt::format("{} of {}", n, count_text(all, "tensor")); }

judged_row judged_in(const block_trial& tried, const block_format& row) {
  const std::size_t at = tried.index_of(row);
  judged_row made{.tried = tried,
                  .row = row,
                  .at = at,
                  .tensors = tried.judged(),
                  .nonfinite = tried.count(at, trial_verdict::nonfinite),
                  .drowned = tried.count(at, trial_verdict::drowned),
                  .open = tried.count(at, trial_verdict::not_decided),
                  .held = tried.count(at, trial_verdict::held),
                  .saturating = tried.saturating(at)};
  std::ranges::stable_sort(
      made.tensors, [&](const tried_tensor* x, const tried_tensor* y) { return did_worse(x->of[at], y->of[at]); });
  if (made.nonfinite + made.drowned == 0)
    std::ranges::stable_partition(
        made.tensors, [&](const tried_tensor* t) { return verdict_of(t->of[at]) == trial_verdict::not_decided; });
  return made;
}

std::string fate_text(const judged_row& in, const judged_treatment& j) {
  if (j.nonfinite > 0) return "becomes infinite or NaN " + in_steps(j.nonfinite, j.nonfinite_first);
  const std::string more = is_one_number(j) ? "" : "; " + what_decides(in, j);
  if (verdict_of(j) == trial_verdict::not_decided) return "is not decided" + more;
  if (j.worst.high == 0) return "loses nothing";
  return fmt::format("loses {} of its energy{} in step {}{}{}", lost_percent(j), is_one_number(j) ? "" : ",",
                     j.step_of_high, j.saturating > 0 ? "; saturates " + in_steps(j.saturating, j.saturates_first) : "",
                     more);
}

}  // namespace ulp
