#include <ulp/report/pictures/layer_updates.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <ulp/ask/answers/weights_answer.hpp>
#include <ulp/io/bytes/error.hpp>
#include <ulp/io/inputs/update_pairs.hpp>
#include <ulp/io/recording/joint_tables.hpp>
#include <ulp/model/updates/joint_table.hpp>

namespace ulp {
namespace {

// Keeps the notes, and says how far the work is.
class updates_progress final : public listener {
 public:
  updates_progress(const std::function<void(double)>& told, std::vector<std::string>& notes)
      : told_(told), notes_(notes) {}

  void note(const std::string& line) override { notes_.push_back(line); }
  void warn(const std::string& line) override { notes_.push_back(line); }
  void tell(const std::string& /*line*/) override {}
  void configured(const configuration& /*by*/) override {}
  void begin(const std::string& /*unit*/, std::uint64_t total) override { total_ = total; }
  void advance() override { told_(total_ == 0 ? 0 : static_cast<double>(done_++) / static_cast<double>(total_)); }
  void end() noexcept override {}

 private:
  const std::function<void(double)>& told_;
  std::vector<std::string>& notes_;
  std::uint64_t total_ = 0;
  std::uint64_t done_ = 0;
};

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

std::string why_no_updates(const run_text& run, source_kind kind) {
  std::error_code unknown;
  const bool are_files = std::ranges::all_of(
      run.inputs, [&](const std::string& input) { return std::filesystem::is_regular_file(input, unknown); });
  if (kind == source_kind::dump && are_files) {
    try {
      static_cast<void>(open_update_pairs(run.inputs, run.how_to_read(), not_known));
      return {};
    } catch (const input_error& problem) {
      return problem.what();
    }
  }
  if (kind != source_kind::recording || run.inputs.size() != 1 || !are_files)
    return "Lost updates need a recording with joint tables of weights and updates, or dumps that hold both.";
  if (has_joint_tables(run.inputs.front())) return {};
  return "This recording holds no joint tables of weights and updates: record them with ulp record --joint, or joint= "
         "of the Recorder.";
}

std::string why_no_updates(source_kind kind, const format& to, const std::string& format_name) {
  if (kind == source_kind::dump || tells_lost_updates({to})) return {};
  return fmt::format("Joint tables tell of formats with a sign, a zero, subnormals and NaN; {} is none.", format_name);
}

layer_updates count_layer_updates(const run_text& run, const std::vector<tensor_info>& tensors, const format& to,
                                  const std::function<void(double)>& told) {
  std::map<std::string_view, std::uint32_t> places;
  for (std::uint32_t t = 0; t < tensors.size(); ++t) places.emplace(tensors[t].name, t);
  layer_updates all;
  updates_progress hears(told, all.notes);
  const counted_weights counted =
      count_weights(run, {{.format_name = {}, .format = to, .rounding = {}, .rounding_name = {}}}, not_known, hears);
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
