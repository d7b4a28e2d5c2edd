// Pairs of weights and updates counted: dumps element by element, recordings by their joint tables.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <ulp/ask/precision/weights_answer.hpp>
#include <ulp/ask/questions/number_text.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/io/bytes/error.hpp>
#include <ulp/io/inputs/open.hpp>
#include <ulp/io/recording/check.hpp>
#include <ulp/io/recording/joint_tables.hpp>

namespace ulp {
namespace {

bool selects(const selection& selected, const std::string& tensor, std::int64_t step) {
  return selected.takes(step) && selected.takes(tensor_info{.name = tensor, .kind = tensor_kind::weight});
}

// As update_pair::tensor names it.
std::string without_prefix(const std::string& weight) {
  for (const std::string_view prefix : {"weight/", "weight__"})
    if (weight.starts_with(prefix)) return weight.substr(prefix.size());
  return weight;
}

// The format of weights whose updates may be their differences.
const format* format_of_differences(const weights_item& of) {
  if (of.origin == update_origin::gradient) return nullptr;
  return of.weight_type == dtype::bfloat16 ? &bfloat16 : of.weight_type == dtype::float16 ? &float16 : nullptr;
}

// Whether every update is the distance from its weight to a number of the format, as some type holds it: so are differences of weights
// that are kept in it.
bool are_distances(std::span<const double> weights, std::span<const double> updates, const format& own) {
  const auto rounded = [&](double x) { return to_double(own, encode(own, x).code); };
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (updates[i] == 0 || !std::isfinite(updates[i]) || !std::isfinite(weights[i])) continue;
    const double distance = rounded(weights[i] + updates[i]) - weights[i];
    if (updates[i] != distance && updates[i] != static_cast<float>(distance) && updates[i] != rounded(distance))
      return false;
  }
  return true;
}

// One tensor whose recorded updates are no differences shows that none are; where the learning rate was 0, zeros are no lost updates.
void settle_rounded(std::vector<weights_item>& items) {
  const bool are_exact = std::ranges::any_of(items, [](const weights_item& i) {
    return i.origin == update_origin::recorded && format_of_differences(i) != nullptr && !i.rounded_updates;
  });
  for (weights_item& item : items)
    if (item.learning_rate == 0 || (are_exact && item.origin == update_origin::recorded)) item.rounded_updates = false;
}

void count_dumps(counted_weights& all, const run_text& run, const source_options& how, double learning_rate,
                 listener& to) {
  const std::unique_ptr<update_pairs> pairs = open_update_pairs(run.inputs, how, learning_rate);
  const selection selected = run.selected();
  for (const std::string& line : pairs->notes()) to.note(line);
  work reading(to, "tensors", pairs->all().size());
  for (std::size_t i = 0; i < pairs->all().size(); ++i) {
    const update_pair& pair = pairs->all()[i];
    reading.advance();
    if (!selects(selected, pair.weight, pair.step)) continue;
    weights_item item{.tensor = pair.tensor,
                      .weight = pair.weight,
                      .step = pair.step,
                      .weight_type = pair.weight_type,
                      .origin = pair.origin,
                      .learning_rate = pair.learning_rate};
    item.of.resize(all.cases.size());
    const format* const own = format_of_differences(item);
    item.rounded_updates = own != nullptr;
    pairs->read(i, [&](std::span<const double> weights, std::span<const double> updates) {
      for (std::size_t c = 0; c < all.cases.size(); ++c) {
        weights_counts& counts = item.of[c];
        counts.lost += count_lost_updates(weights, updates, all.cases[c].how);
        *counts.changed += count_changed(weights, all.cases[c].how);
        counts.beyond = *counts.changed > 0;
      }
      if (item.rounded_updates && item.origin == update_origin::recorded)
        item.rounded_updates = are_distances(weights, updates, *own);
    });
    all.items.push_back(std::move(item));
  }
}

void count_recording(counted_weights& all, const run_text& run, const source_options& how, double learning_rate,
                     listener& to) {
  const std::string& path = run.inputs.front();
  refuse_damaged(path);
  for (const typed_treatment& c : all.cases)
    if (!tells_lost_updates(c.how))
      throw std::invalid_argument(fmt::format(
          "{}: joint tables tell of nearest-even and stochastic rounding, without flushing or saturation, to "
          "formats with subnormals and NaN; give the dumps for {} and others",
          path, c.rounding_name));
  if (!has_joint_tables(path))
    throw input_error(path, "",
                      "holds no joint tables of weights and updates: record them (joint= of the Recorder, ulp record "
                      "--joint of dumps that hold both), or give the dumps");
  const selection selected = run.selected();
  bool later_weights = false;
  bool of_gradients = false;
  work reading(to, "tables", 0);
  read_joint_tables(path, how.attempts, [&](const step_key& key, const step_scalars& scalars, joint_row row) {
    reading.advance();
    if (!selects(selected, row.tensor, key.step)) return true;
    weights_item item{.tensor = without_prefix(row.tensor),
                      .weight = row.tensor,
                      .step = key.step,
                      .weight_type = row.weight_type,
                      .origin = row.origin,
                      .learning_rate = std::isnan(learning_rate) ? scalars.learning_rate : learning_rate};
    later_weights = later_weights || row.origin == update_origin::next_weights;
    of_gradients = of_gradients || row.origin == update_origin::gradient;
    for (const typed_treatment& c : all.cases)
      item.of.push_back(
          {count_lost_updates(row.table, c.how), std::nullopt, has_weights_beyond(row.table, c.how.format)});
    const format* const own = format_of_differences(item);
    item.rounded_updates = own != nullptr && (row.origin == update_origin::next_weights ||
                                              count_lost_updates(row.table, {*own}).lost.low == 0);
    all.items.push_back(std::move(item));
    return true;
  });
  const std::string updates = later_weights && of_gradients ? "some updates" : "updates";
  if (of_gradients)
    to.note(updates + " are -lr times the gradient, plain SGD: momentum, weight decay and clipping are left out");
  if (later_weights) to.note(updates + " are the weights of the next step that was recorded, minus these");
}

}  // namespace

weights_counts& weights_counts::operator+=(const weights_counts& other) {
  lost += other.lost;
  if (changed && other.changed)
    *changed += *other.changed;
  else
    changed.reset();
  beyond = beyond || other.beyond;
  return *this;
}

counted_weights count_weights(const run_text& run, const std::vector<typed_treatment>& cases, double learning_rate,
                              listener& to) {
  counted_weights all{.cases = cases, .items = {}};
  for (const typed_treatment& c : cases)
    if (!counts_lost_updates(c.how))
      throw std::invalid_argument(
          fmt::format("{}: stochastic rounding of weights is not counted with --ftz, --daz or in formats without "
                      "subnormals; leave these out, or give another --rounding",
                      c.format_name));
  const source_options how = run.how_to_read();
  if (are_dumps(run.inputs, how)) {
    count_dumps(all, run, how, learning_rate, to);
  } else {
    if (run.inputs.size() > 1 || open_source(run.inputs, how)->kind() != source_kind::recording)
      throw std::invalid_argument(
          fmt::format("{}: lost updates need a recording with joint tables, or dumps with weights and updates or "
                      "gradients (.safetensors, .npz, .pt, .npy)",
                      run.inputs.front()));
    count_recording(all, run, how, learning_rate, to);
  }
  if (all.items.empty())
    throw std::invalid_argument(
        fmt::format("{}: --tensor, --kind, --steps and --every select no weights with updates", run.inputs.front()));
  settle_rounded(all.items);
  bool any_open = false;
  for (weights_item& item : all.items) {
    if (!item.rounded_updates) continue;
    for (weights_counts& counts : item.of) {
      counts.lost.open_zero_updates();
      any_open = any_open || counts.lost.open_zeros > 0;
    }
  }
  if (any_open) to.note("differences of 16-bit weights that are zero may be lost updates: hence ranges");
  return all;
}

bool weights_layout::is_by(const std::string& what) const { return std::ranges::find(by, what) != by.end(); }

std::vector<std::string> not_counted(const lost_updates& sum, const std::string& format_name) {
  std::vector<std::string> parts;
  const auto add = [&](std::uint64_t n, const char* one, const char* several, const std::string& what) {
    if (n == 1) parts.push_back(fmt::format("1 {} {}", one, what));
    if (n > 1) parts.push_back(fmt::format("{}{} {} {}", n == sum.numel ? "all " : "", grouped(n), several, what));
  };
  add(sum.nonfinite, "weight or its update is", "weights or their updates are", "infinite or NaN");
  add(sum.overflowing.high, "weight is", "weights are", "beyond " + format_name);
  add(sum.zero_updates, "update is", "updates are", "zero");
  return parts;
}

double decided_share(const counted_weights& all) {
  std::uint64_t updates = 0;
  std::uint64_t open = 0;
  for (const weights_item& item : all.items)
    for (const weights_counts& of : item.of) {
      updates += of.lost.updates.high;
      open += std::max(of.lost.lost.high - of.lost.lost.low, of.lost.updates.high - of.lost.updates.low);
    }
  return updates == 0 ? 1 : 1 - static_cast<double>(open) / static_cast<double>(updates);
}

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

}  // namespace ulp
