#include <ulp/io/inputs/open.hpp>

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <utility>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/recording/recording.hpp>

#include "dump_steps.hpp"
#include "dumps/layouts.hpp"
#include "file_kind.hpp"
#include "folders.hpp"
#include "source/inferred_roles.hpp"
#include "source/labels.hpp"
#include "source/unit_factor.hpp"
#include "table/read_scalars.hpp"
#include "table/table_source.hpp"
#include "text.hpp"

namespace ulp {
namespace {

std::unique_ptr<source> open_unlabelled(const std::vector<std::string>& inputs, source_options options,
                                        const io::scalar_table& scalars) {
  if (!options.scalars.empty()) options.columns.clear();  // these are the scalars' then
  const io::file_kind& first = io::file_kind_of(inputs.front(), options.limits);
  const auto is_alike = [&](const std::string& path) { return &io::file_kind_of(path, options.limits) == &first; };
  const bool are_one_kind = inputs.size() == 1 || (first.joins && std::ranges::all_of(inputs, is_alike));
  // Dumps of several kinds are a run too; of what is none, their opener says that it cannot be given with others.
  return (are_one_kind ? first.open : io::open_given_dumps)(inputs, options, scalars);
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

io::scalar_table scalars_for(const source_options& options, std::vector<std::string>& notes) {
  if (options.scalars.empty()) return {};
  return io::read_scalars(options.scalars, options.limits, io::told_by(options), notes);
}

// With what is to be known of the scalars.
class noted_source final : public forwarding_source {
 public:
  noted_source(std::unique_ptr<source> inner, std::vector<std::string> notes)
      : forwarding_source(std::move(inner)), notes_(std::move(notes)) {}
  [[nodiscard]] std::vector<std::string> notes() const override {
    std::vector<std::string> all = inner().notes();
    all.insert(all.end(), notes_.begin(), notes_.end());
    return all;
  }

 private:
  std::vector<std::string> notes_;
};

}  // namespace

std::optional<input_format> input_format_of(const std::string& path, std::uint64_t largest_text) {
  try {
    const read_limits limits;
    const io::file_kind& kind = io::file_kind_of(path, limits);
    const input_format format{kind.name, kind.globs, kind.is_dump()};
    if (kind.is_dump()) (void)kind.open_dump(path, limits);
    if (&kind != &io::file_kinds().back()) return format;
    if (!io::is_named_as(path, kind)) return {};
    if (std::filesystem::file_size(path) <= largest_text) (void)io::open_text(path, {});
    return format;
  } catch (const std::exception&) {  // who opens it says why
    return {};
  }
}

std::vector<input_format> input_formats() {
  std::vector<input_format> all;
  for (const io::file_kind& kind : io::file_kinds())
    all.push_back({.name = kind.name, .globs = kind.globs, .is_dump = kind.is_dump()});
  return all;
}

std::vector<std::string> dumps_of_framework(const std::string& folder) { return io::files_in_layout(folder); }

std::unique_ptr<source> open_source(const std::vector<std::string>& named, const source_options& options) {
  if (named.empty()) throw input_error("input", "", "none is given");
  const std::vector<std::string> inputs = io::with_files_of_folders(named);
  if (options.scalars == "-" && std::ranges::find(inputs, "-") != inputs.end())
    throw input_error("-", "", "standard input cannot be both the input and the scalars");
  std::vector<std::string> notes;
  io::scalar_table scalars = scalars_for(options, notes);
  auto opened = open_unlabelled(inputs, options, scalars);
  if (!options.columns.empty() && options.scalars.empty() && opened->columns().empty())
    throw input_error(inputs.front(), "", "is no table of a run, so it has none of the columns that --columns names");
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
  if (!notes.empty()) run = std::make_unique<noted_source>(std::move(run), std::move(notes));
  return has_unit_factor ? io::with_unit_factor(std::move(run)) : std::move(run);
}

std::unique_ptr<source> follow_recording(const std::string& path, const source_options& options, wait_for_steps wait) {
  std::vector<std::string> notes;
  io::scalar_table scalars = scalars_for(options, notes);
  if (io::holds_something(path) && !io::file_kind_of(path, options.limits).is_recording())
    throw input_error(path, "", "is not a recording: only recordings can be followed");
  auto run = labelled(io::open_following(path, options, std::move(wait)), options, std::move(scalars), {});
  if (!notes.empty()) run = std::make_unique<noted_source>(std::move(run), std::move(notes));
  return run;
}

}  // namespace ulp
