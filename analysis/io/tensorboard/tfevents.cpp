#include "tfevents.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/bytes/printable.hpp>

#include "bytes/text.hpp"
#include "bytes/within.hpp"
#include "event.hpp"
#include "histogram.hpp"
#include "scalars.hpp"
#include "source/bucket_widths.hpp"
#include "table/table_source.hpp"
#include "tfrecord.hpp"

namespace ulp::io {
namespace {

constexpr std::string_view version_start = "brain.Event:";

// Tags have a path before the name of the tensor: "grad/wgrad/conv1.weight".
tensor_kind kind_of_tag(std::string_view tag) {
  for (;;) {
    const tensor_kind kind = kind_of_name(tag);
    const std::size_t slash = tag.find('/');
    if (kind != tensor_kind::unknown || slash == std::string_view::npos) return kind;
    tag.remove_prefix(slash + 1);
  }
}

class tfevents final : public source {
 public:
  tfevents(const std::vector<std::string>& paths, const read_limits& limits) : limits_(limits) {
    struct opened {
      double wall_time;
      std::unique_ptr<tfrecord_file> file;
    };
    std::vector<opened> files;
    for (const std::string& path : paths) {
      auto file = std::make_unique<tfrecord_file>(path);
      const double began = check_first(*file);
      files.push_back({began, std::move(file)});
    }
    std::ranges::sort(files, {}, [](const opened& o) { return std::pair{o.wall_time, o.file->path()}; });
    for (opened& o : files) files_.push_back(std::move(o.file));
    for (std::uint32_t i = 0; i < files_.size(); ++i) index(i);
    if (steps_.empty() && logged_.empty())
      throw input_error(paths.front(), "", "holds neither a histogram nor a scalar that can be read");
    next_ = steps_.begin();
    make_notes();
  }

  [[nodiscard]] bool has_histograms() const noexcept { return !steps_.empty(); }

  // Its scalars, as they were logged.
  [[nodiscard]] run_table as_table(const told_columns& told) const {
    table_builder table(files_.front()->path(), "TensorBoard event files", told, limits_);
    table.count_from("event");
    const std::uint32_t step = table.column("step");
    for (std::size_t i = 0; i < logged_.size(); ++i) {
      table.begin(i + 1);
      table.put(step, static_cast<double>(logged_[i].step));
      table.put(table.column(*logged_[i].tag), logged_[i].value);
      table.end();
    }
    run_table all = table.take();
    for (const std::string& note : notes_)
      if (note.find("cut short") != std::string::npos) all.notes.push_back(note);
    if (!others_.empty()) all.notes.push_back("tags that are not read: " + joined({others_.begin(), others_.end()}));
    return all;
  }

  [[nodiscard]] source_kind kind() const override { return source_kind::event_files; }
  [[nodiscard]] std::string description() const override { return "TensorBoard events"; }
  [[nodiscard]] const std::vector<tensor_info>& tensors() const override { return tensors_; }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }
  [[nodiscard]] std::uint64_t step_count() const override { return steps_.size(); }
  [[nodiscard]] bool logs_unit_scale() const override {
    return std::ranges::all_of(steps_, [&](const auto& step) {
      const step_scalars* const logged = scalars_.at(step.first);
      return logged != nullptr && logged->loss_scale == 1;
    });
  }

  [[nodiscard]] bool next(step& into) override {
    if (next_ == steps_.end()) return false;
    into = {};
    into.key.step = next_->first;
    if (const step_scalars* const logged = scalars_.at(next_->first)) into.scalars = *logged;
    std::map<std::uint32_t, tensor_row> rows;
    for (const place& p : next_->second) {
      const tf_event event = event_at(p);
      for (const tf_value& value : event.values) {
        const auto known = indices_.find(value.tag);
        if (known == indices_.end()) continue;
        if (auto table = read(p, event, value))
          rows[known->second] = {.tensor = known->second, .table = std::move(*table)};
      }
    }
    for (auto& [tensor, row] : rows) into.tensors.push_back(std::move(row));
    ++next_;
    return true;
  }

 private:
  // An event with a histogram.
  struct place {
    std::uint32_t file = 0;
    std::uint64_t offset = 0;
  };

  [[nodiscard]] tf_event parse(const tfrecord_file& file, const tfrecord_file::record& r) const {
    return parse_event(cursor(file.path(), "event", r.data_offset, r.data), limits_);
  }

  // When the file was begun.
  double check_first(const tfrecord_file& file) const {
    const auto first = file.at(0);
    if (!first) throw input_error(file.path(), "", "holds no complete event");
    const tf_event event = parse(file, *first);
    if (!event.version.starts_with(version_start))
      throw input_error(
          file.path(), "byte " + std::to_string(first->data_offset),
          "holds TFRecords, but the first is not an event with a version: it is not a TensorBoard event file");
    return std::isnan(event.wall_time) ? 0 : event.wall_time;
  }

  [[nodiscard]] tf_event event_at(const place& p) const {
    const tfrecord_file& file = *files_[p.file];
    const auto r = file.at(p.offset);
    if (!r) throw input_error(file.path(), "byte " + std::to_string(p.offset), "the file became shorter");
    return parse(file, *r);
  }

  // The table of a histogram; nullopt where the value is none, or tells nothing.
  [[nodiscard]] std::optional<cell_table> read(const place& p, const tf_event& event, const tf_value& value) const {
    try {
      if (value.histogram) return table_of(*value.histogram);
      const auto plugin = plugins_.find(value.tag);
      if (value.tensor && plugin != plugins_.end() && plugin->second == "histograms") return table_of(*value.tensor);
    } catch (const histogram_error& problem) {
      throw input_error(
          files_[p.file]->path(), "byte " + std::to_string(p.offset),
          "histogram " + in_quotes(value.tag) + " of step " + std::to_string(event.step) + " has " + problem.what());
    }
    return std::nullopt;
  }

  struct logged_scalar {
    const std::string* tag = nullptr;  // of tags_
    std::int64_t step = 0;
    double value = 0;
  };

  // Reads a file through.
  void index(std::uint32_t number) {
    const tfrecord_file& file = *files_[number];
    std::uint64_t offset = 0;
    while (const auto r = file.at(offset)) {
      const place here{number, offset};
      offset = r->next;
      if (r->kept)
        index(here, parse(file, *r));
      else
        ++too_long_;
    }
    if (offset != file.size())
      notes_.push_back(printable(file.path()) + ": its last record is cut short at byte " + std::to_string(offset) +
                       ", as in a running job; the complete records are read");
  }

  void index(const place& here, const tf_event& event) {
    if (event.restarts) {
      steps_.erase(steps_.lower_bound(event.step), steps_.end());
      scalars_.forget_from(event.step);
      std::erase_if(logged_, [&](const logged_scalar& logged) { return logged.step >= event.step; });
    }
    bool any = false;
    for (const tf_value& value : event.values) {
      tags_.insert(value.tag);
      check_count(tags_.size(), limits_, files_[here.file]->path(), "byte " + std::to_string(here.offset),
                  "different tags");
      if (!value.plugin.empty()) plugins_.try_emplace(value.tag, value.plugin);
      any = see(here, event, value) || any;
    }
    if (any) steps_[event.step].push_back(here);
  }

  // Whether the value is a histogram that tells something.
  bool see(const place& here, const tf_event& event, const tf_value& value) {
    const auto plugin = plugins_.find(value.tag);
    const bool is_tensor = value.tensor && plugin != plugins_.end();
    const bool is_histogram = value.histogram || (is_tensor && plugin->second == "histograms");
    const bool is_scalar = value.scalar || (is_tensor && plugin->second == "scalars" && !value.tensor->values.empty());
    if (!is_histogram && !is_scalar) {
      if (is_tensor) others_.insert(value.tag);
      return false;
    }
    if (event.step < 0)
      throw input_error(files_[here.file]->path(), "byte " + std::to_string(here.offset),
                        in_quotes(value.tag) + " is of step " + std::to_string(event.step) + ": steps begin at 0");
    if (is_scalar) {
      const double number = value.scalar ? *value.scalar : value.tensor->values.front();
      scalars_.add(value.tag, event.step, number);
      if (steps_.empty()) logged_.push_back({&*tags_.find(value.tag), event.step, number});
      return false;
    }
    const std::optional<cell_table> table = read(here, event, value);
    if (!table) {
      ++untold_;
      return false;
    }
    widths_.add(*table);
    const auto index = static_cast<std::uint32_t>(tensors_.size());
    const auto [known, fresh] = indices_.try_emplace(value.tag, index);
    if (fresh) {
      check_name(files_[here.file]->path(), "byte " + std::to_string(here.offset), value.tag);
      tensors_.push_back({.name = value.tag, .kind = kind_of_tag(value.tag), .numel = table->numel});
      last_steps_.push_back(-1);
    } else if (tensors_[known->second].numel != table->numel) {
      tensors_[known->second].numel = 0;
    }
    std::int64_t& last = last_steps_[known->second];
    if (event.step <= last) ++again_;
    last = std::max(last, event.step);
    return true;
  }

  void make_notes() {
    notes_.insert(notes_.begin(), widths_.text());
    if (!scalars_.ignored().empty()) notes_.push_back("scalars that are not read: " + joined(scalars_.ignored()));
    if (scalars_.negative_norms() > 0)
      notes_.push_back("a gradient norm is negative in " + std::to_string(scalars_.negative_norms()) +
                       " steps: none was computed there, or it was not finite; taken for no norm");
    if (!others_.empty()) notes_.push_back("tags that are not read: " + joined({others_.begin(), others_.end()}));
    const auto without =
        std::ranges::count_if(scalars_.all(), [&](const auto& logged) { return !steps_.contains(logged.first); });
    if (without > 0)
      notes_.push_back("steps with scalars but without a histogram are left out: " + std::to_string(without));
    if (untold_ > 0)
      notes_.push_back(
          "histograms whose edges are not numbers, because the tensor has NaN or infinities, are left out: " +
          std::to_string(untold_));
    if (again_ > 0)
      notes_.push_back("histograms of steps that their tag had already reached: " + std::to_string(again_) +
                       "; for each tag and step the last one counts");
    if (too_long_ > 0) notes_.push_back("records of more than 16 MiB that are not read: " + std::to_string(too_long_));
  }

  read_limits limits_;
  std::vector<std::unique_ptr<tfrecord_file>> files_;  // as they were begun
  std::map<std::int64_t, std::vector<place>> steps_;
  std::map<std::int64_t, std::vector<place>>::const_iterator next_;
  tf_scalars scalars_;
  std::vector<logged_scalar> logged_;                     // as long as no histogram came
  std::unordered_map<std::string, std::string> plugins_;  // by tag
  std::unordered_map<std::string, std::uint32_t> indices_;
  std::vector<tensor_info> tensors_;
  std::vector<std::int64_t> last_steps_;  // in which each tensor was seen
  bucket_widths widths_;
  std::unordered_set<std::string> tags_;
  std::set<std::string> others_;
  std::uint64_t untold_ = 0;
  std::uint64_t again_ = 0;
  std::uint64_t too_long_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace

std::unique_ptr<source> open_tfevents(const std::vector<std::string>& paths, const read_limits& limits,
                                      const told_columns& told) {
  auto files = std::make_unique<tfevents>(paths, limits);
  if (!files->has_histograms()) return open_run_table(files->as_table(told), told);
  return files;
}

}  // namespace ulp::io
