#include "optimizer_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/io/bytes/error.hpp>
#include <ulp/io/source/source.hpp>

#include "dump_files.hpp"

namespace ulp {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t floats_at_once = 1U << 14U;

// float32, or where that would round a number that is rounded again, the number of the format.
float rounded_once(double x, const format& to) {
  const auto f = static_cast<float>(x);
  if (to == float32 || double{f} == x || std::isnan(x)) return f;
  return to_float(to, encode(to, x).code);
}

// The next numbers of a stream, those after `into` passed over.
void read_floats(number_stream& in, std::span<float> into, std::size_t of, const format& to) {
  std::vector<double> part(std::min(floats_at_once, std::max<std::size_t>(of, 1)));
  for (std::size_t first = 0; first < of;) {
    const std::size_t count = std::min(part.size(), of - first);
    in.read(std::span{part}.first(count));
    for (std::size_t i = 0; i < count && first + i < into.size(); ++i) into[first + i] = rounded_once(part[i], to);
    first += count;
  }
}

std::size_t index_of(const number_file& file, std::string_view name) {
  const auto& all = file.arrays();
  const auto found = std::ranges::find(all, name, &number_array::name);
  return static_cast<std::size_t>(found - all.begin());
}

std::string shape_text(const std::vector<std::uint64_t>& shape) { return fmt::format("({})", fmt::join(shape, ", ")); }

// By the step in the name where every one has it, else as given.
std::vector<std::string> in_order_of_steps(std::vector<std::string> files) {
  const regex pattern = source_options{}.steps_from;
  std::map<std::int64_t, std::string> by_step;
  for (const std::string& file : files) {
    const auto text = pattern.last_group(fs::path(file).filename().string());
    std::int64_t step = 0;
    if (!text || std::from_chars(text->data(), text->data() + text->size(), step).ec != std::errc()) return files;
    const auto [at, is_new] = by_step.emplace(step, file);
    if (!is_new)
      throw input_error(file, "", fmt::format("is of step {}, as {} is; a step is one file here", step, at->second));
  }
  std::vector<std::string> ordered;
  for (auto& [step, file] : by_step) ordered.push_back(std::move(file));
  return ordered;
}

std::size_t elements_of(const number_file& file) {
  std::size_t n = 0;
  for (const number_array& array : file.arrays()) n += array.numel;
  return n;
}

// All arrays of a dump, one after the other, as far as they fit.
void read_all(const number_file& file, std::span<float> into, const format& to) {
  std::size_t first = 0;
  for (std::size_t i = 0; i < file.arrays().size() && first < into.size(); ++i) {
    const std::size_t n = file.arrays()[i].numel;
    read_floats(*file.open(i), into.subspan(first, std::min(n, into.size() - first)), n, to);
    first += n;
  }
}

}  // namespace

optimizer_input::optimizer_input(const optimizer_input_options& options, listener& to) : options_(options) {
  const std::vector<std::string> files = files_of(options.inputs, "a dump of each step");
  if (std::ranges::find(files, "-") != files.end())
    throw std::invalid_argument("INPUT: standard input cannot be read here: name a file");
  if (files.size() == 1) {
    arrays_ = std::make_unique<number_file>(files.front(), options.limits);
    arrays_->refuse_without_numbers("grads");
    if (index_of(*arrays_, "grads") == arrays_->arrays().size()) arrays_.reset();
  }
  if (arrays_) {
    tell_notes(*arrays_, to);
    open_arrays(files.front());
  } else {
    open_dumps(in_order_of_steps(files), to);
  }
  if (!options.weights.empty()) tell_notes(number_file(options.weights, options.limits), to);
  if (options.elements > width_)
    throw std::invalid_argument(fmt::format("--elements {}: a gradient has {}", options.elements, width_));
  size_ = options.elements == 0 ? width_ : static_cast<std::size_t>(options.elements);
}

void optimizer_input::open_arrays(const std::string& path) {
  const number_array& grads = arrays_->arrays()[index_of(*arrays_, "grads")];
  if (grads.shape.size() != 2)
    throw input_error(path, "array 'grads'", "is of shape " + shape_text(grads.shape) + ", not [steps, elements]");
  rows_ = grads.shape[0];
  width_ = static_cast<std::size_t>(grads.shape[1]);
  if (const std::string wrong = wrong_with_rows(options_.limits, rows_, width_); !wrong.empty())
    throw input_error(path, "array 'grads'", wrong);
  gradients_ = arrays_->open(index_of(*arrays_, "grads"));
  bits_ = uint16_rows::open(path, "sr_bits", options_.limits);
  if (bits_ && bits_->width() != width_)
    throw input_error(path, "array 'sr_bits'",
                      fmt::format("has {} elements a step, and 'grads' {}", bits_->width(), width_));
  if (!options_.weights.empty()) return;
  arrays_->refuse_without_numbers("w0");
  const std::size_t weights = index_of(*arrays_, "w0");
  if (weights == arrays_->arrays().size())
    throw input_error(path, "", "has no array 'w0', the first weights; give --w0 FILE");
  if (arrays_->arrays()[weights].numel != width_)
    throw input_error(path, "array 'w0'",
                      fmt::format("has {} elements, and 'grads' {} a step", arrays_->arrays()[weights].numel, width_));
}

void optimizer_input::open_dumps(const std::vector<std::string>& paths, listener& to) {
  if (options_.weights.empty())
    throw std::invalid_argument(
        (paths.size() == 1 ? paths.front() + " has no array 'grads', so it is a dump of one step"
                           : "several inputs are dumps of steps, each of one (an .npz with 'grads' and 'w0' is given "
                             "alone)") +
        ": the first weights are missing; give --w0 FILE, a dump of them");
  std::vector<number_array> first;
  for (const std::string& path : paths) {
    const number_file file(path, options_.limits);
    if (first.empty()) {  // of the others the same would be said
      first = file.arrays();
      tell_notes(file, to);
    }
    const bool same = std::ranges::equal(file.arrays(), first, [](const number_array& a, const number_array& b) {
      return a.name == b.name && a.numel == b.numel;
    });
    if (!same)
      throw input_error(path, "",
                        "does not hold the arrays that " + paths.front() + " does, in the same order and sizes");
    width_ = elements_of(file);
  }
  if (width_ == 0) throw input_error(paths.front(), "", "holds no floating-point numbers");
  dumps_ = paths;
  rows_ = paths.size();
}

std::vector<float> optimizer_input::first_weights() const {
  std::vector<float> weights(size_);
  if (options_.weights.empty()) {
    read_floats(*arrays_->open(index_of(*arrays_, "w0")), weights, size_, options_.rounded_to);
    return weights;
  }
  const number_file file(options_.weights, options_.limits);
  if (elements_of(file) != width_)
    throw input_error(options_.weights, "",
                      fmt::format("holds {} numbers, and a gradient {}", elements_of(file), width_));
  read_all(file, weights, options_.rounded_to);
  return weights;
}

void optimizer_input::read(std::span<float> gradient) {
  if (gradients_)
    read_floats(*gradients_, gradient, width_, options_.rounded_to);
  else
    read_all(number_file(dumps_.at(next_dump_++), options_.limits), gradient, options_.rounded_to);
}

void optimizer_input::read_bits(std::span<std::uint16_t> bits) {
  std::vector<std::uint16_t> row(width_);
  bits_->read(row);
  std::copy_n(row.begin(), bits.size(), bits.begin());
}

}  // namespace ulp
