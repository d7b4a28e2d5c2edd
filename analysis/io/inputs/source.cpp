#include <ulp/io/source/source.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/recording/recording.hpp>

#include "bytes/text.hpp"
#include "csv/scalars.hpp"
#include "dump_steps.hpp"
#include "file_kind.hpp"
#include "folders.hpp"
#include "recording/following.hpp"
#include "source/inferred_roles.hpp"
#include "source/read_ahead.hpp"
#include "source/reader.hpp"
#include "source/unit_factor.hpp"
#include "tensorboard/tfevents.hpp"

namespace ulp {
namespace {

void check_common_step(const std::vector<io::dump_step>& steps, const io::scalar_table& scalars,
                       const source_options& options) {
  const auto is_logged = [&](const io::dump_step& step) { return io::logged_at(scalars, step.number) != nullptr; };
  if (!scalars.empty() && std::ranges::none_of(steps, is_logged))
    throw input_error(
        options.scalars, "column 'step'",
        "none of its steps is one of the input's, which begin at step " + std::to_string(steps.front().number));
}

std::unique_ptr<source> open_dumps(const std::vector<std::string>& inputs, const source_options& options,
                                   const io::scalar_table& scalars) {
  io::dumped_steps found = io::dump_steps_of(inputs, options);
  check_common_step(found.steps, scalars, options);
  return io::open_dumps(std::move(found.steps), found.description, options, scalars);
}

// Whether a line can be names of columns: what stands in most lines of logs is not in them.
bool names_columns(std::string_view line) {
  return line.find(',') != std::string_view::npos && line.find_first_of("=|:<>[]{}") == std::string_view::npos;
}

std::unique_ptr<source> open_text(const std::string& path, const read_limits& limits) {
  io::line_reader lines(path, limits);
  if (lines.at_end()) throw input_error(path, "", "is empty");
  if (!names_columns(lines.peek())) {
    if (auto log = io::open_scale_log(std::move(lines), "")) return log;
    throw input_error(
        path, "",
        "is neither a CSV of histograms or steps, whose line 1 names its columns, nor a training log with "
        "lines of a layout that is known: docs/inputs.md lists them");
  }
  io::csv_reader rows(std::move(lines));
  if (io::is_histogram_csv(rows)) {
    auto once = io::open_histogram_csv(std::move(rows), {}, limits);
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) return once;
    // A file is read twice: mistakes show before anything is written, and all tensors are known from the first step on.
    step skipped;
    while (once->next(skipped)) {
    }
    return io::open_histogram_csv(io::csv_reader(path, limits), once->tensors(), limits);
  }
  if (io::is_step_log(rows)) return io::open_step_log(std::move(rows), limits);
  const bool are_scalars = rows.find("step") && io::scalar_columns(rows).any();
  auto [rest, first_line] = std::move(rows).release();
  if (auto log = io::open_scale_log(std::move(rest), first_line)) return log;
  if (are_scalars)
    throw input_error(
        path, "line 1",
        "names what a training loop logs of each step, and no gradients: give it by --scalars, beside the "
        "dumps, the histogram CSV or the recording of the run");
  throw input_error(path, "line 1",
                    "names the columns of neither a histogram CSV (step, tensor, n, zero, nan, inf, max_abs, e_min, "
                    "counts) nor a step log (step and found_inf or maxabs)");
}

std::unique_ptr<source> open_unlabelled(const std::vector<std::string>& inputs, const source_options& options,
                                        const io::scalar_table& scalars) {
  if (inputs.size() == 1) {
    const auto form = io::file_kind_of(inputs.front(), options.limits).how;
    if (form == io::file_kind::form::recording)
      return options.merged && totals_are_as_good(inputs.front())
                 ? open_totals(inputs.front(), totals_with::cells, options.attempts)
                 : io::read_ahead(open_recording(inputs.front(), options.attempts));
    if (form == io::file_kind::form::text) return open_text(inputs.front(), options.limits);
  }
  const auto is_tfevents = [&](const std::string& path) {
    return io::file_kind_of(path, options.limits).how == io::file_kind::form::event_file;
  };
  if (std::ranges::all_of(inputs, is_tfevents)) return io::open_tfevents(inputs, options.limits);
  return open_dumps(inputs, options, scalars);
}

// Recordings may know their factors; nothing else does.
bool lacks_factor(const std::vector<std::string>& inputs, const source_options& options, const source& opened) {
  if (!std::isnan(options.factor) || options.factor_is_loss_scale) return false;
  if (opened.kind() != source_kind::recording) return true;
  step first;
  const auto once = open_recording(inputs.front(), options.attempts);
  while (once->next(first) && first.tensors.empty()) continue;
  return std::ranges::any_of(first.tensors, [](const tensor_row& row) { return !row.factor_known(); });
}

std::unique_ptr<source> labelled(std::unique_ptr<source> opened, const source_options& options,
                                 io::scalar_table scalars, io::inferred_roles inferred) {
  const bool says_nothing = inferred.empty() && options.kinds.empty() && options.roles.empty() && scalars.empty() &&
                            std::isnan(options.factor) && !options.factor_is_loss_scale;
  return says_nothing ? std::move(opened)
                      : io::with_labels(std::move(opened), options, std::move(scalars), std::move(inferred));
}

}  // namespace

std::unique_ptr<source> open_source(const std::vector<std::string>& named, const source_options& options) {
  if (named.empty()) throw input_error("input", "", "none is given");
  const std::vector<std::string> inputs = io::with_event_files(named);
  if (options.scalars == "-" && std::ranges::find(inputs, "-") != inputs.end())
    throw input_error("-", "", "standard input cannot be both the input and the scalars");
  io::scalar_table scalars;
  if (!options.scalars.empty()) scalars = io::read_scalars(options.scalars, options.limits);
  auto opened = open_unlabelled(inputs, options, scalars);
  io::inferred_roles inferred;
  const bool has_tensors = opened->kind() != source_kind::step_log && opened->kind() != source_kind::training_log;
  if (options.infer && has_tensors && std::ranges::find(inputs, "-") == inputs.end()) {
    source_options first = options;
    first.merged = first.with_sums = first.with_errors = false;
    inferred = io::infer_roles(*labelled(open_unlabelled(inputs, first, scalars), first, scalars, {}));
    // Totals are of the roles that were recorded.
    if (!inferred.empty() && options.merged) opened = open_unlabelled(inputs, first, scalars);
  }
  const bool has_unit_factor =
      options.infer && has_tensors && io::is_unit_scale(*opened, scalars) && lacks_factor(inputs, options, *opened);
  auto run = labelled(std::move(opened), options, std::move(scalars), std::move(inferred));
  return has_unit_factor ? io::with_unit_factor(std::move(run)) : std::move(run);
}

std::unique_ptr<source> follow_recording(const std::string& path, const source_options& options, wait_for_steps wait) {
  io::scalar_table scalars;
  if (!options.scalars.empty()) scalars = io::read_scalars(options.scalars, options.limits);
  return labelled(io::open_following(path, options, std::move(wait)), options, std::move(scalars), {});
}

}  // namespace ulp
