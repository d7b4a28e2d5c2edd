#include "gradient_steps.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <ulp/ask/questions/number_text.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/io/bytes/error.hpp>

#include "dump_files.hpp"

namespace ulp {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t numbers_at_once = std::size_t{1} << 14;
constexpr std::string_view first_weights_name = "w0";

std::string without_prefix(std::string_view name, std::string_view prefix) {
  return std::string{name.starts_with(prefix) ? name.substr(prefix.size()) : name};
}

tensor_kind kind_by_prefix(const std::string& name) {
  const std::size_t slash = name.find('/');
  const auto named = slash == std::string::npos ? std::nullopt : parse_kind(name.substr(0, slash));
  return named.value_or(tensor_kind::weight_grad);
}

std::string tensor_place(const std::string& tensor) { return fmt::format("tensor '{}'", tensor); }

void read_numbers(number_stream& from, std::span<float> into, double unit) {
  std::vector<double> part(std::min(numbers_at_once, std::max<std::size_t>(into.size(), 1)));
  for (std::size_t first = 0; first < into.size(); first += part.size()) {
    const std::size_t count = std::min(part.size(), into.size() - first);
    from.read(std::span{part}.first(count));
    for (std::size_t i = 0; i < count; ++i) into[first + i] = static_cast<float>(part[i] / unit);
  }
}

void skip_numbers(number_stream& from, std::uint64_t count) {
  std::vector<float> nothing(static_cast<std::size_t>(std::min<std::uint64_t>(count, numbers_at_once)));
  for (; count > 0; count -= std::min<std::uint64_t>(count, numbers_at_once))
    read_numbers(
        from, std::span{nothing}.first(static_cast<std::size_t>(std::min<std::uint64_t>(count, numbers_at_once))), 1);
}

std::int64_t step_of_path(const std::string& path, const regex& pattern, std::int64_t otherwise) {
  auto text = pattern.last_group(fs::path(path).filename().string());
  if (!text) text = pattern.last_group(path);
  std::int64_t step = otherwise;
  if (text) std::from_chars(text->data(), text->data() + text->size(), step);
  return step;
}

// The optimizer did not step: nothing was applied, or a scaler found an infinity.
bool was_skipped(const step_scalars& logged) { return !logged.applied.value_or(!logged.found_inf.value_or(false)); }

std::size_t array_named(const number_file& file, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(file.arrays(), name, &number_array::name) - file.arrays().begin());
}

}  // namespace

gradient_steps::gradient_steps(const gradient_question& asked, listener& to)
    : asked_(asked), limits_(asked.run.how_to_read().limits), selected_(asked.run.selected()) {
  const std::vector<std::string> files = files_of(asked_.run.inputs, "a dump of each step");
  for (const std::string& file : files)
    if (file == "-") throw std::invalid_argument("-: dumps cannot be read from standard input: name a file");
  is_stack_ = files.size() == 1;
  if (is_stack_)
    open_stack(files.front(), to);
  else
    open_dumps(files, to);
  if (tensors_.empty())
    throw input_error(files.front(), "", "has no weight gradients of the selected tensors; see --tensor and --kind");
  if (count() == 0) throw std::invalid_argument("no step is left; see --steps and --every");
  find_weights();
}

void gradient_steps::open_stack(const std::string& path, listener& to) {
  stack_.emplace(path, limits_);
  std::vector<std::string> ignored = stack_->ignored();
  std::erase_if(ignored, [](const std::string& text) { return text.starts_with("'sr_bits'"); });
  if (!ignored.empty()) to.note(fmt::format("{}: not read: {}", path, fmt::join(ignored, ", ")));
  if (asked_.run.factor == "scale" || !asked_.run.scalars.empty())
    throw std::invalid_argument("--factor scale and --scalars go with a dump of each step; one dump has --factor N");
  std::uint64_t steps = 0;
  const std::string* first = nullptr;
  for (std::size_t i = 0; i < stack_->arrays().size(); ++i) {
    const number_array& array = stack_->arrays()[i];
    const tensor_info info{.name = array.name, .kind = kind_by_prefix(array.name)};
    if (array.name == first_weights_name || info.kind != tensor_kind::weight_grad || !selected_.takes(info)) continue;
    const std::uint64_t rows = array.shape.empty() ? 0 : array.shape.front();
    if (rows == 0)
      throw input_error(path, tensor_place(array.name),
                        "has no index of steps; one dump holds all steps, the first index of every array being the "
                        "step: give that, or a dump of each step");
    if (const std::string wrong = wrong_with_rows(limits_, rows, array.numel / rows); !wrong.empty())
      throw input_error(path, tensor_place(array.name), wrong);
    if (first != nullptr && rows != steps)
      throw input_error(
          path, tensor_place(array.name),
          fmt::format("has {} steps and '{}' {}; one dump holds all steps, the first index of every array "
                      "being the step: give that, or a dump of each step",
                      rows, *first, steps));
    steps = rows;
    first = &array.name;
    tensors_.push_back({without_prefix(array.name, "wgrad/"), array.numel / rows, {i}, array.name});
    streams_.push_back(stack_->open(i));
  }
  bits_ = uint16_rows::open(path, "sr_bits", limits_);
  if (bits_ && (tensors_.size() != 1 || bits_->width() != tensors_.front().numel || bits_->rows() != steps)) {
    to.note(fmt::format("{}: sr_bits are not used: they are no 16 bits for each element of one tensor and step", path));
    bits_.reset();
  }
  for (std::uint64_t i = 0; i < steps; ++i)
    if (selected_.takes(static_cast<std::int64_t>(i))) chosen_.push_back(i);
}

void gradient_steps::open_dumps(const std::vector<std::string>& files, listener& to) {
  const source_options how = asked_.run.how_to_read();
  std::map<std::int64_t, step> by_number;
  std::int64_t place = 0;
  for (const std::string& file : files) {
    const std::int64_t number = step_of_path(file, how.steps_from, place++);
    by_number[number].files.push_back(file);
  }
  run_text run = asked_.run;
  run.inputs = files;
  source_options counted = how;
  counted.with_sums = false;
  const auto from = open_run(run, counted, to);
  std::vector<std::int64_t> skipped;
  for_each_step(*from, selected_, to, [&](const ulp::step& now) {
    if (was_skipped(now.scalars)) {
      skipped.push_back(now.key.step);
      return;
    }
    step& made = by_number[now.key.step];
    made.number = now.key.step;
    for (const tensor_row& row : now.tensors) {
      const tensor_info& info = from->tensors()[row.tensor];
      const bool is_gradient = info.kind == tensor_kind::weight_grad || info.kind == tensor_kind::unknown;
      if (!is_gradient || !selected_.takes(info)) continue;
      made.units[info.name] = row.unit();
      if (steps_.empty()) tensors_.push_back({without_prefix(info.name, "wgrad/"), row.table.numel, {}, info.name});
    }
    for (const tensor& t : tensors_)
      if (!made.units.contains(t.stored_as))
        throw input_error(made.files.empty() ? files.front() : made.files.front(), "",
                          fmt::format("step {} lacks {}; every step has every tensor: select others with --tensor, or "
                                      "steps with --steps",
                                      made.number, tensor_place(t.stored_as)));
    steps_.push_back(made);
  });
  if (skipped.empty()) return;
  to.note(skipped.size() == 1
              ? fmt::format("step {} is left out: the run skipped it", skipped.front())
              : fmt::format("{} steps are left out because the run skipped them, the first of them step {}",
                            grouped(skipped.size()), skipped.front()));
  if (steps_.empty()) throw std::invalid_argument("no step is left: the run skipped all that are selected");
}

void gradient_steps::find_weights() {
  weight_arrays_.resize(tensors_.size());
  std::string missing;
  const auto take = [&](const std::string& path, std::string_view prefix) {
    weights_file_.emplace(path, limits_);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      std::size_t at = array_named(*weights_file_, std::string{prefix} + tensors_[i].name);
      if (at == weights_file_->arrays().size() && prefix.empty())
        at = array_named(*weights_file_, "weight/" + tensors_[i].name);
      if (at == weights_file_->arrays().size()) {
        missing = tensors_[i].name;
        return false;
      }
      if (weights_file_->arrays()[at].numel != tensors_[i].numel)
        throw input_error(
            path, tensor_place(weights_file_->arrays()[at].name),
            fmt::format("has {} elements, and its gradient {}", weights_file_->arrays()[at].numel, tensors_[i].numel));
      weight_arrays_[i] = at;
    }
    return true;
  };
  if (!asked_.weights.empty()) {
    if (!take(asked_.weights, ""))
      throw input_error(asked_.weights, "", fmt::format("has no weights of {}", tensor_place(missing)));
    knows_weights_ = true;
    return;
  }
  if (is_stack_) {
    const std::size_t at = array_named(*stack_, first_weights_name);
    knows_weights_ =
        tensors_.size() == 1 && at < stack_->arrays().size() && stack_->arrays()[at].numel == tensors_.front().numel;
    if (!knows_weights_) return;
    weights_file_.emplace(asked_.run.inputs.front(), limits_);
    weight_arrays_ = {at};
    return;
  }
  knows_weights_ = take(steps_.front().files.front(), "weight/");
}

std::vector<float> gradient_steps::first_weights(std::size_t tensor) const {
  std::vector<float> weights(static_cast<std::size_t>(tensors_[tensor].numel));
  if (knows_weights_) read_numbers(*weights_file_->open(weight_arrays_[tensor]), weights, 1);
  return weights;
}

void gradient_steps::next(std::vector<std::vector<float>>& into) {
  into.resize(tensors_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i) into[i].resize(static_cast<std::size_t>(tensors_[i].numel));
  if (is_stack_) {
    const source_options how = asked_.run.how_to_read();
    const std::uint64_t wanted = chosen_.at(next_++);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      skip_numbers(*streams_[i], (wanted - at_) * tensors_[i].numel);
      read_numbers(*streams_[i], into[i], std::isnan(how.factor) ? 1 : how.factor);
    }
    if (bits_) {
      random_.resize(static_cast<std::size_t>(bits_->width()));
      for (std::uint64_t i = at_; i <= wanted; ++i) bits_->read(random_);
    }
    at_ = wanted + 1;
    return;
  }
  const step& now = steps_.at(next_++);
  std::vector<bool> found(tensors_.size());
  for (const std::string& path : now.files) {
    const number_file file(path, limits_);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const std::size_t at = array_named(file, tensors_[i].stored_as);
      if (at == file.arrays().size()) continue;
      if (file.arrays()[at].numel != tensors_[i].numel)
        throw input_error(
            path, tensor_place(tensors_[i].stored_as),
            fmt::format("has {} elements, and {} in the first step", file.arrays()[at].numel, tensors_[i].numel));
      read_numbers(*file.open(at), into[i], now.units.at(tensors_[i].stored_as));
      found[i] = true;
    }
  }
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (!found[i]) throw input_error(now.files.front(), tensor_place(tensors_[i].stored_as), "is not there any more");
}

}  // namespace ulp
