#include "dumps.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <unordered_map>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/io/source/share.hpp>
#include <ulp/model/cells/element_types.hpp>
#include <ulp/model/cells/tensor_counter.hpp>

#include "block_values.hpp"
#include "bytes/text.hpp"
#include "bytes/within.hpp"
#include "source/blocks_of_both.hpp"
#include "source/codes_of_both.hpp"

namespace ulp::io {
namespace {

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + ")";
}

// The values of `once`, so many times each.
counted_values repeated(counted_values once, std::uint64_t times) {
  if (times == 1) return once;
  counted_values all;
  for (const code_count& c : once.codes) all.codes.push_back({.code = c.code, .count = c.count * times});
  bool any = false;
  for (;; once.table.merge(cell_table(once.table))) {
    if (times % 2 == 1 && any) all.table.merge(once.table);
    if (times % 2 == 1 && !any) all.table = once.table;
    any = any || times % 2 == 1;
    times /= 2;
    if (times == 0) return all;
  }
}

class dump_source final : public source, public divisible {
 public:
  dump_source(std::vector<dump_step> steps, std::string description, const source_options& options,
              scalar_table scalars)
      : steps_(std::move(steps)),
        description_(std::move(description)),
        counter_(counted_with(options)),
        options_(options),
        scalars_(std::move(scalars)) {
    for (const dump_step& step : steps_) {
      if (step.files.size() > 1 && !step.files.front().one_of_many)
        notes_.push_back("step " + std::to_string(step.number) + " comes from " + std::to_string(step.files.size()) +
                         " files, " + printable(step.files.front().path) + " and others: their tensors are combined");
      for (const dump_file& file : step.files) {
        const auto reader = file.open(file.path, options_.limits);
        reader->check_ignored();
        for (const dump_reader::tensor& tensor : reader->tensors()) enter(step, file, tensor);
        see_rank(file);
        if (reader->tensors().empty() && !file.one_of_many)
          notes_.push_back(printable(file.path) + ": holds no readable tensor; its step is empty");
        if (!reader->ignored().empty()) see_ignored(file, "not read: " + joined(reader->ignored()));
        if (&step == &steps_.front())  // of the others' files the same would be said
          for (const std::string& note : reader->notes()) notes_.push_back(printable(file.path) + ": " + note);
        see_loss_scale(file, reader->said_loss_scale());
      }
    }
    if (!without_blocks_.empty()) notes_.push_back("no blocks are counted of " + joined(without_blocks_));
    if (std::isnan(options_.factor) && !options_.factor_is_loss_scale && !loss_scale_file_.empty())
      add_loss_scale_note();
    for (const ignored_alike& alike : ignored_)
      notes_.push_back(printable(*alike.file) +
                       (alike.files > 1 ? " and " + std::to_string(alike.files - 1) + " more: " : ": ") + alike.what);
    if (tensors_.empty() && !options_.allow_empty) refuse_empty();
  }

  [[nodiscard]] source_kind kind() const override { return source_kind::dump; }
  [[nodiscard]] std::string description() const override { return description_; }
  [[nodiscard]] const std::vector<tensor_info>& tensors() const override { return tensors_; }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }
  [[nodiscard]] std::uint64_t step_count() const override { return steps_.size(); }
  [[nodiscard]] run_header header() const override { return header_; }

  [[nodiscard]] bool next(step& into) override { return next_part(into, 0, 1); }

  [[nodiscard]] bool divides() const override { return true; }
  [[nodiscard]] bool next_part(step& into, std::size_t index, std::size_t count) override {
    if (next_ == steps_.size()) return false;
    const dump_step& current = steps_[next_++];
    into = {};
    into.key.step = current.number;
    into.ranks = ranks_of(current);
    if (index >= count) return true;
    const std::vector<double> edges = edges_at(current.number);
    part_choice part(index, count);
    for (const dump_file& file : current.files) read(file, edges, part, into);
    // The same rows in the same order, however many parts there are.
    std::ranges::sort(into.tensors, {}, &tensor_row::tensor);
    return true;
  }

 private:
  struct seen {
    std::uint32_t index = 0;
    std::int64_t step = 0;            // the last one
    const dump_file* file = nullptr;  // of that step
    dtype type = dtype::unknown;      // there
  };
  // Files of a layout whose parts that are not read are alike.
  struct ignored_alike {
    std::string what;
    const std::string* file = nullptr;  // the first
    std::uint64_t files = 1;
  };

  // Each tensor belongs to the part that has the fewest elements so far.
  class part_choice {
   public:
    part_choice(std::size_t index, std::size_t count) : index_(index), elements_(count) {}
    [[nodiscard]] bool takes(std::uint32_t tensor, std::uint64_t numel) {
      const auto least = std::ranges::min_element(elements_);
      const auto [found, added] = parts_.try_emplace(tensor, static_cast<std::size_t>(least - elements_.begin()));
      elements_[found->second] += numel + 1;
      return found->second == index_;
    }

   private:
    std::size_t index_;
    std::vector<std::uint64_t> elements_;
    std::unordered_map<std::uint32_t, std::size_t> parts_;  // of tensors, which several ranks may have
  };

  void see_rank(const dump_file& file) {
    if (!file.rank) return;
    several_ranks_ = several_ranks_ || (header_.reduction == "local" && header_.rank != *file.rank);
    header_.reduction = "local";
    header_.rank = several_ranks_ ? 0 : *file.rank;
    header_.world = std::max(header_.world, *file.rank + 1);
  }

  static std::vector<std::uint32_t> ranks_of(const dump_step& step) {
    std::vector<std::uint32_t> ranks;
    for (const dump_file& file : step.files)
      if (const std::uint32_t rank = file.rank.value_or(0); ranks.empty() || ranks.back() != rank)
        ranks.push_back(rank);
    return ranks;
  }

  void see_ignored(const dump_file& file, const std::string& what) {
    if (!file.one_of_many) return notes_.push_back(printable(file.path) + ": " + what);
    const auto alike = std::ranges::find(ignored_, what, &ignored_alike::what);
    if (alike != ignored_.end())
      ++alike->files;
    else
      ignored_.push_back({what, &file.path});
  }

  [[noreturn]] static void fail(const dump_file& file, const std::string& name, const std::string& reason) {
    throw input_error(file.path, "tensor " + in_quotes(name), reason);
  }

  // A recording of nothing looks like one of a run that lost nothing.
  [[noreturn]] void refuse_empty() const {
    const std::string& first = steps_.front().files.front().path;
    const auto ignored = steps_.front().files.front().open(first, options_.limits)->ignored();
    throw input_error(first, "",
                      std::string("holds no readable tensor") + (steps_.size() > 1 ? ", nor does another input" : "") +
                          (ignored.empty() ? "" : "; not read: " + joined(ignored)) +
                          "; --allow-empty accepts it as an empty step");
  }

  void see_loss_scale(const dump_file& file, double said) {
    if (std::isnan(said)) return;
    if (loss_scale_file_.empty()) {
      loss_scale_file_ = file.path;
      loss_scale_ = said;
    }
    loss_scales_differ_ = loss_scales_differ_ || said != loss_scale_;
  }

  // It may have been written before or after the values were unscaled, so nothing is done about it.
  void add_loss_scale_note() {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), loss_scale_).ptr;
    const std::string scale(digits.data(), end);
    notes_.push_back(printable(loss_scale_file_) + ": its metadata says loss_scale " + scale +
                     (loss_scales_differ_ ? ", other files another: log them in a CSV of step and scale, and give "
                                            "--scalars FILE --factor scale if the values were recorded under them"
                                          : ": give --factor " + scale + " if the values were recorded under it"));
  }

  void enter(const dump_step& step, const dump_file& file, const dump_reader::tensor& tensor) {
    const auto index = static_cast<std::uint32_t>(tensors_.size());
    const auto [found, added] = indices_.try_emplace(tensor.name, seen{index, step.number, &file, tensor.type});
    const bool of_blocks = !options_.blocks.empty() || !options_.quantized.empty();
    if (const std::string why = why_not_quantized(tensor, options_.quantized); added && of_blocks && !why.empty())
      without_blocks_.push_back(printable(tensor.name) + ", which " + why);
    if (tensor.numel > max_numel) fail(file, tensor.name, "has more than the 2^40 elements that a table may have");
    if (added) {
      check_count(indices_.size(), options_.limits, file.path, "", "different tensors, with those of other inputs,");
      check_name(file.path, "", tensor.name);
      tensor_info& info = tensors_.emplace_back();
      info.name = tensor.name;
      info.kind = tensor.kind == tensor_kind::unknown ? kind_of_name(tensor.name) : tensor.kind;
      info.shape = tensor.shape;
      info.numel = tensor.numel;
      if (format_of_codes(tensor.type) != nullptr) info.through = to_string(tensor.type);
      return;
    }
    seen& last = found->second;
    const bool is_another_ranks = last.step == step.number && file.rank != last.file->rank;
    if (last.step == step.number && !is_another_ranks)
      fail(file, tensor.name,
           "is also in " + last.file->path + " of step " + std::to_string(step.number) +
               "; record the files of each rank separately (--rank, --world, --run-id, --layout) and combine them with "
               "ulp merge");
    if (is_another_ranks && tensor.type != last.type)
      fail(file, tensor.name,
           "its values are " + std::string(to_string(tensor.type)) + ", and " + std::string(to_string(last.type)) +
               " in " + last.file->path +
               ": all ranks must have a tensor in the same type; name the folder of one "
               "rank");
    tensor_info& info = tensors_[last.index];
    if (info.shape != tensor.shape) {
      // Ranks may have parts of different sizes, and activations as many rows as there are tokens.
      if (!file.one_of_many)
        fail(
            file, tensor.name,
            "has the shape " + shape_text(tensor.shape) + ", but " + shape_text(info.shape) + " in " + last.file->path);
      info.shape.clear();
      if (info.numel != tensor.numel) info.numel = 0;
    }
    last = {last.index, step.number, &file, tensor.type};
  }

  static cell_counter::with counted_with(const source_options& options) {
    if (!options.with_sums) return cell_counter::with::nothing;
    return options.with_errors ? cell_counter::with::sums_and_errors : cell_counter::with::sums;
  }

  // The edges as the values of the step were recorded.
  [[nodiscard]] std::vector<double> edges_at(std::int64_t number) const {
    double factor = options_.factor;
    if (options_.factor_is_loss_scale)
      if (const step_scalars* const logged = logged_at(scalars_, number)) factor = logged->loss_scale;
    std::vector<double> edges;
    for (const double edge : options_.edges) {
      const double at = std::isnan(factor) ? edge : edge * factor;
      // Close ones may meet when they are rounded.
      if (at > 0 && std::isfinite(at) && (edges.empty() || at > edges.back())) edges.push_back(at);
    }
    return edges;
  }

  void read(const dump_file& file, std::span<const double> edges, part_choice& part, step& into) {
    const auto reader = file.open(file.path, options_.limits);
    std::vector<bool> taken;
    std::vector<std::uint32_t> indices;
    for (const dump_reader::tensor& tensor : reader->tensors()) {
      const auto found = indices_.find(tensor.name);
      if (found == indices_.end()) fail(file, tensor.name, "was not there when the file was first opened");
      indices.push_back(found->second.index);
      taken.push_back(part.takes(indices.back(), tensor.numel));
    }
    std::vector<counted_values> counted = count(*reader, taken, edges);
    for (std::size_t i = 0; i < counted.size(); ++i) {
      if (!taken[i]) continue;
      const dump_reader::tensor& tensor = reader->tensors()[i];
      counted_values all = repeated(std::move(counted[i]), tensor.times);
      tensor_row row{
          .tensor = indices[i], .type = tensor.type, .table = std::move(all.table), .codes = std::move(all.codes)};
      if (!options_.blocks.empty() && why_no_blocks(tensor).empty())
        row.blocks = blocks_of(*reader, i, options_.blocks);
      if (!options_.quantized.empty() && why_not_quantized(tensor, options_.quantized).empty())
        row.quantized = quantized_of(*reader, i, options_.quantized, into.key.step);
      add(std::move(row), file, into);
    }
  }

  // To the row that another rank has given, if there is one.
  void add(tensor_row row, const dump_file& file, step& into) const {
    const auto there = file.rank && *file.rank > 0 ? std::ranges::find(into.tensors, row.tensor, &tensor_row::tensor)
                                                   : into.tensors.end();
    if (there == into.tensors.end()) return into.tensors.push_back(std::move(row));
    if (there->type != row.type || row.table.numel > max_numel - there->table.numel)
      fail(file, tensors_[row.tensor].name,
           "does not fit those of the other ranks of step " + std::to_string(into.key.step));
    there->codes = codes_of_both(*there, row);
    there->table.merge(row.table);
    merge_blocks(*there, row);
    merge_quantized(*there, row);
  }

  // Memory does not grow with the tensors.
  std::vector<counted_values> count(dump_reader& from, const std::vector<bool>& taken, std::span<const double> edges) {
    const auto& tensors = from.tensors();
    std::size_t index = 0;
    std::unique_ptr<byte_stream> in;
    std::uint64_t left = 0;  // values of tensors[index], once `in` is there
    return counter_.count(tensors.size(), edges, [&](value_chunk& chunk) {
      for (; index < tensors.size(); ++index, in.reset()) {
        if (!taken[index]) continue;
        const dump_reader::tensor& tensor = tensors[index];
        if (in == nullptr) {
          in = from.open(index);
          left = tensor.numel / tensor.times;
        }
        if (left == 0) continue;
        const std::uint64_t values = std::min<std::uint64_t>(left, tensor_counter::chunk_bytes / size_of(tensor.type));
        chunk.tensor = index;
        chunk.type = tensor.type;
        chunk.order = tensor.order;
        chunk.bytes.resize(values * size_of(tensor.type));
        in->read(chunk.bytes);
        left -= values;
        return true;
      }
      return false;
    });
  }

  std::vector<dump_step> steps_;
  std::vector<std::string> notes_;
  std::string description_;
  tensor_counter counter_;
  source_options options_;
  scalar_table scalars_;
  std::size_t next_ = 0;
  std::vector<tensor_info> tensors_;
  std::unordered_map<std::string, seen> indices_;
  run_header header_;
  bool several_ranks_ = false;
  std::vector<ignored_alike> ignored_;
  std::vector<std::string> without_blocks_;  // tensors, and why
  std::string loss_scale_file_;              // the first that says one
  double loss_scale_ = not_known;
  bool loss_scales_differ_ = false;
};

}  // namespace

std::unique_ptr<source> open_dumps(std::vector<dump_step> steps, const std::string& description,
                                   const source_options& options, const scalar_table& scalars) {
  return std::make_unique<dump_source>(std::move(steps), description, options, scalars);
}

}  // namespace ulp::io
