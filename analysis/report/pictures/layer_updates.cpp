#include <ulp/report/pictures/layer_updates.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <ulp/ask/precision/weights_answer.hpp>
#include <ulp/model/updates/joint_table.hpp>

namespace ulp {
namespace {

layer_cell cell_of_item(const weights_item& of) {
  const lost_updates& counts = of.of.front().lost;
  const auto values = [](const count_range& c) {
    return value_range{static_cast<double>(c.low), static_cast<double>(c.high)};
  };
  layer_cell cell{
      .part = values(counts.lost), .whole = values(counts.updates), .open = static_cast<double>(counts.open_zeros)};
  cell.known = cell.whole.high > 0;
  return cell;
}

}  // namespace

std::string why_no_updates(source_kind kind, const format& to, const std::string& format_name) {
  if (kind == source_kind::dump || tells_lost_updates({to})) return {};
  return fmt::format("Joint tables tell of formats with a sign, a zero, subnormals and NaN; {} is none.", format_name);
}

layer_updates layer_updates_of(const counted_weights& counted, const std::vector<tensor_info>& tensors) {
  std::map<std::string_view, std::uint32_t> places;
  for (std::uint32_t t = 0; t < tensors.size(); ++t) places.emplace(tensors[t].name, t);
  layer_updates all;
  for (const weights_item& item : counted.items)
    if (const auto place = places.find(item.weight); place != places.end())
      all.cells.push_back({item.step, place->second, cell_of_item(item)});
  std::ranges::stable_sort(all.cells, {}, &updates_cell::step);
  return all;
}

layer_answer answer_to(const layer_question& question, const std::vector<column_span>& columns, std::size_t tensors,
                       const layer_updates& counted) {
  layer_answer all{
      .question = question, .tensors = tensors, .cells = std::vector<layer_cell>(columns.size() * tensors)};
  for (std::size_t c = 0; c < columns.size(); ++c) {
    auto at = std::ranges::lower_bound(counted.cells, columns[c].first_step, {}, &updates_cell::step);
    for (; at != counted.cells.end() && at->step <= columns[c].last_step; ++at)
      if (at->tensor < tensors) add(question.metric, all.cells[c * tensors + at->tensor], at->cell);
  }
  return all;
}

}  // namespace ulp
