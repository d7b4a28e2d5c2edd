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

#include "bytes/text.hpp"
#include "bytes/within.hpp"

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
      if (step.files.size() > 1)
        notes_.push_back("step " + std::to_string(step.number) + " comes from " + std::to_string(step.files.size()) +
                         " files, " + printable(step.files.front().path) + " and others: their tensors are combined");
      for (const dump_file& file : step.files) {
        const auto reader = file.open(file.path, options_.limits);
        reader->check_ignored();
        for (const dump_reader::tensor& tensor : reader->tensors()) enter(step, file, tensor);
        if (reader->tensors().empty())
          notes_.push_back(printable(file.path) + ": holds no readable tensor; its step is empty");
        if (!reader->ignored().empty())
          notes_.push_back(printable(file.path) + ": not read: " + joined(reader->ignored()));
        if (&step == &steps_.front())  // of the others' files the same would be said
          for (const std::string& note : reader->notes()) notes_.push_back(printable(file.path) + ": " + note);
        see_loss_scale(file, reader->said_loss_scale());
      }
    }
    if (std::isnan(options_.factor) && !options_.factor_is_loss_scale && !loss_scale_file_.empty())
      add_loss_scale_note();
    if (tensors_.empty() && !options_.allow_empty) refuse_empty();
  }

  [[nodiscard]] source_kind kind() const override { return source_kind::dump; }
  [[nodiscard]] std::string description() const override { return description_; }
  [[nodiscard]] const std::vector<tensor_info>& tensors() const override { return tensors_; }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }
  [[nodiscard]] std::uint64_t step_count() const override { return steps_.size(); }

  [[nodiscard]] bool next(step& into) override { return next_part(into, 0, 1); }

  [[nodiscard]] bool divides() const override { return true; }
  [[nodiscard]] bool next_part(step& into, std::size_t index, std::size_t count) override {
    if (next_ == steps_.size()) return false;
    const dump_step& current = steps_[next_++];
    into = {};
    into.key.step = current.number;
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
    std::int64_t step = 0;              // the last one
    const std::string* file = nullptr;  // of that step
  };

  // Each tensor belongs to the part that has the fewest elements so far.
  class part_choice {
   public:
    part_choice(std::size_t index, std::size_t count) : index_(index), elements_(count) {}
    [[nodiscard]] bool takes(std::uint64_t numel) {
      const auto least = std::ranges::min_element(elements_);
      *least += numel + 1;
      return static_cast<std::size_t>(least - elements_.begin()) == index_;
    }

   private:
    std::size_t index_;
    std::vector<std::uint64_t> elements_;
  };

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
    const auto [found, added] = indices_.try_emplace(tensor.name, seen{index, step.number, &file.path});
    if (tensor.numel > max_numel) fail(file, tensor.name, "has more than the 2^40 elements that a table may have");
    if (added) {
      check_count(indices_.size(), options_.limits, file.path, "", "different tensors, with those of other inputs,");
      check_name(file.path, "", tensor.name);
      tensor_info& info = tensors_.emplace_back();
      info.name = tensor.name;
      info.kind = kind_of_name(tensor.name);
      info.shape = tensor.shape;
      info.numel = tensor.numel;
      if (format_of_codes(tensor.type) != nullptr) info.through = to_string(tensor.type);
      return;
    }
    seen& last = found->second;
    if (last.step == step.number)
      fail(file, tensor.name,
           "is also in " + *last.file + " of step " + std::to_string(step.number) +
               "; record the files of each rank separately (--rank, --world, --run-id, --layout) and combine them with "
               "ulp merge");
    const std::vector<std::uint64_t>& shape = tensors_[last.index].shape;
    if (shape != tensor.shape)
      fail(file, tensor.name,
           "has the shape " + shape_text(tensor.shape) + ", but " + shape_text(shape) + " in " + *last.file);
    last = {last.index, step.number, &file.path};
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
    for (const dump_reader::tensor& tensor : reader->tensors()) taken.push_back(part.takes(tensor.numel));
    std::vector<counted_values> counted = count(*reader, taken, edges);
    for (std::size_t i = 0; i < counted.size(); ++i) {
      const dump_reader::tensor& tensor = reader->tensors()[i];
      const auto found = indices_.find(tensor.name);
      if (found == indices_.end()) fail(file, tensor.name, "was not there when the file was first opened");
      if (!taken[i]) continue;
      counted_values all = repeated(std::move(counted[i]), tensor.times);
      into.tensors.push_back({.tensor = found->second.index,
                              .type = tensor.type,
                              .table = std::move(all.table),
                              .codes = std::move(all.codes)});
    }
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
  std::string loss_scale_file_;  // the first that says one
  double loss_scale_ = not_known;
  bool loss_scales_differ_ = false;
};

}  // namespace

std::unique_ptr<source> open_dumps(std::vector<dump_step> steps, const std::string& description,
                                   const source_options& options, const scalar_table& scalars) {
  return std::make_unique<dump_source>(std::move(steps), description, options, scalars);
}

}  // namespace ulp::io
