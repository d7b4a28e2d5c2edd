#include <ulp/io/inputs/update_pairs.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <ulp/formats/codec.hpp>
#include <ulp/io/bytes/error.hpp>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/io/recording/joint_tables.hpp>
#include <ulp/model/cells/element_types.hpp>
#include <utility>

#include "bytes/cursor.hpp"
#include "bytes/text.hpp"
#include "dump_steps.hpp"
#include "file_kind.hpp"
#include "folders.hpp"
#include "table/read_scalars.hpp"
#include "table/table_source.hpp"

namespace ulp {
namespace {

constexpr std::size_t block = 1 << 16;  // elements read at once

// A tensor of one file.
struct place {
  const io::dump_file* file = nullptr;
  std::size_t index = 0;
  io::dump_reader::tensor info;
};

// What a step has of one name.
struct found {
  std::optional<place> weight;
  std::optional<place> update;
  std::optional<place> gradient;
  std::optional<place> unprefixed;  // of no known kind
};

std::optional<place>* part_of(found& of, tensor_kind kind) {
  switch (kind) {
    case tensor_kind::weight: return &of.weight;
    case tensor_kind::update: return &of.update;
    case tensor_kind::weight_grad: return &of.gradient;
    case tensor_kind::unknown: return &of.unprefixed;
    case tensor_kind::activation:
    case tensor_kind::activation_grad: break;
  }
  return nullptr;
}

struct step_found {
  std::int64_t step = 0;
  std::vector<std::string> names;  // as in the files
  std::map<std::string, found> tensors;
};

// The values of one tensor, front to back.
class values_stream {
 public:
  explicit values_stream(const place& of, const read_limits& limits)
      : info_(of.info), reader_(of.file->open(of.file->path, limits)) {
    const auto& tensors = reader_->tensors();
    if (of.index >= tensors.size() || tensors[of.index].name != info_.name || tensors[of.index].numel != info_.numel)
      throw input_error(of.file->path, "tensor " + io::in_quotes(info_.name), "has changed since the file was opened");
    in_ = reader_->open(of.index);
    if (const format* const codes = format_of_codes(info_.type))
      for (std::uint64_t c = 0; c <= codes->code_mask(); ++c) decoded_.push_back(to_double(*codes, c));
  }

  void read(std::span<double> into) {
    const auto size = static_cast<std::size_t>(size_of(info_.type));
    bytes_.resize(into.size() * size);
    in_->read(bytes_);
    for (std::size_t i = 0; i < into.size(); ++i) {
      const std::uint64_t bits = io::bits_at(bytes_.data() + i * size, size, info_.order);
      into[i] = size == 8   ? std::bit_cast<double>(bits)
                : size == 4 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
                            : decoded_[bits];
    }
  }

 private:
  io::dump_reader::tensor info_;
  std::unique_ptr<io::dump_reader> reader_;
  std::unique_ptr<io::byte_stream> in_;
  std::vector<double> decoded_;  // of 16- and 8-bit types, by code
  std::vector<std::uint8_t> bytes_;
};

// As torch's optimizers multiply.
double step_of_sgd(double gradient, double learning_rate, double factor, bool is_double) {
  if (is_double) return -learning_rate * (gradient / factor);
  const auto g = static_cast<float>(gradient / factor);
  return -static_cast<float>(learning_rate) * g;
}

class dumped_pairs final : public update_pairs {
 public:
  dumped_pairs(const std::vector<std::string>& inputs, const source_options& options, double learning_rate)
      : options_(options), steps_(io::dump_steps_of(inputs, options).steps) {
    if (!options.scalars.empty())
      scalars_ = io::read_scalars(options.scalars, options.limits, io::told_by(options), notes_);
    std::vector<step_found> all;
    for (const io::dump_step& step : steps_) all.push_back(tensors_of(step));
    const auto knows_rate = [&](std::int64_t step) { return rate_at(step, learning_rate) > 0; };
    for (std::size_t i = 0; i < all.size(); ++i)
      for (const std::string& name : all[i].names) {
        const found& of = all[i].tensors.at(name);
        const place* const weight = weight_in(of);
        if (weight == nullptr) continue;
        update_pair pair{.tensor = name,
                         .weight = weight->info.name,
                         .step = all[i].step,
                         .weight_type = weight->info.type,
                         .shape = weight->info.shape,
                         .numel = weight->info.numel,
                         .learning_rate = rate_at(all[i].step, learning_rate)};
        if (of.update) {
          add(std::move(pair), *weight, *of.update, 1);
        } else if (of.gradient && knows_rate(all[i].step)) {
          pair.origin = update_origin::gradient;
          add(std::move(pair), *weight, *of.gradient, factor_at(all[i].step, of.gradient->file->path));
        } else if (const auto next = next_with(all, i, name)) {
          pair.origin = update_origin::next_weights;
          pair.next_step = next->first;
          add(std::move(pair), *weight, *next->second, 1);
        } else {
          without_.push_back(name + " in step " + std::to_string(all[i].step));
          lacks_rate_ = lacks_rate_ || of.gradient.has_value();
        }
      }
    if (all_.empty()) refuse(inputs.front());
    add_notes();
  }

  [[nodiscard]] const std::vector<update_pair>& all() const override { return all_; }
  [[nodiscard]] const std::vector<std::string>& notes() const override { return notes_; }

  void read(std::size_t index, const take_pairs& take) const override {
    const source_of& from = sources_[index];
    const update_pair& pair = all_[index];
    values_stream weights(from.weight, options_.limits);
    values_stream others(from.other, options_.limits);
    std::vector<double> w(block);
    std::vector<double> d(block);
    const bool is_double = from.other.info.type == dtype::float64;
    for (std::uint64_t left = pair.numel; left > 0;) {
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(left, block));
      const std::span some = std::span(w).first(n);
      const std::span changes = std::span(d).first(n);
      weights.read(some);
      others.read(changes);
      for (std::size_t i = 0; i < n; ++i) {
        if (pair.origin == update_origin::gradient)
          changes[i] = step_of_sgd(changes[i], pair.learning_rate, from.factor, is_double);
        if (pair.origin == update_origin::next_weights) changes[i] -= some[i];
      }
      take(some, changes);
      left -= n;
    }
  }

 private:
  struct source_of {
    place weight;
    place other;
    double factor = 1;
  };

  step_found tensors_of(const io::dump_step& step) {
    step_found all{.step = step.number, .names = {}, .tensors = {}};
    for (const io::dump_file& file : step.files) {
      const auto reader = file.open(file.path, options_.limits);
      reader->check_ignored();
      if (&step == &steps_.front())  // of the others' files the same would be said
        for (const std::string& note : reader->notes()) notes_.push_back(printable(file.path) + ": " + note);
      for (std::size_t i = 0; i < reader->tensors().size(); ++i) {
        const io::dump_reader::tensor& tensor = reader->tensors()[i];
        io::check_name(file.path, "", tensor.name);
        auto [base, kind] = io::without_prefix(tensor.name);
        const std::string name(base);
        for (const auto& [expression, said] : options_.kinds)
          if (expression.matches(tensor.name)) {
            kind = said;
            break;
          }
        const auto [at, is_new] = all.tensors.try_emplace(name);
        if (is_new) all.names.push_back(name);
        std::optional<place>* const part = part_of(at->second, kind);
        if (part == nullptr) continue;
        if (part->has_value())
          throw input_error(file.path, "tensor " + io::in_quotes(tensor.name),
                            "is also in " + (*part)->file->path + " of step " + std::to_string(step.number) +
                                "; --kind REGEX=weight says which tensors are weights");
        *part = place{&file, i, tensor};
      }
    }
    return all;
  }

  // A name of no kind is a weight where the step has its update or gradient.
  static const place* weight_in(const found& of) {
    if (of.weight) return &*of.weight;
    return of.unprefixed && (of.update || of.gradient) ? &*of.unprefixed : nullptr;
  }

  static std::optional<std::pair<std::int64_t, const place*>> next_with(const std::vector<step_found>& all,
                                                                        std::size_t from, const std::string& name) {
    for (std::size_t i = from + 1; i < all.size(); ++i)
      if (const auto at = all[i].tensors.find(name); at != all[i].tensors.end())
        if (const place* const weight = weight_in(at->second)) return std::pair{all[i].step, weight};
    return std::nullopt;
  }

  [[nodiscard]] double rate_at(std::int64_t step, double given) const {
    if (!std::isnan(given)) return given;
    const step_scalars* const logged = io::logged_at(scalars_, step);
    return logged != nullptr ? logged->learning_rate : not_known;
  }

  [[nodiscard]] double factor_at(std::int64_t step, const std::string& file) const {
    const step_scalars* const logged = io::logged_at(scalars_, step);
    const double scale = logged != nullptr ? logged->loss_scale : not_known;
    const std::string where = "step " + std::to_string(step);
    if (options_.factor_is_loss_scale) {
      if (!(scale > 0) || !std::isfinite(scale))
        throw input_error(options_.scalars.empty() ? file : options_.scalars, where,
                          "has no loss scale, which --factor scale needs");
      return scale;
    }
    if (!std::isnan(options_.factor)) return options_.factor;
    if (!std::isnan(scale) && scale != 1)
      throw input_error(options_.scalars, where,
                        "logs the loss scale " + io::decimal_text(scale) +
                            ": give --factor scale if gradients are multiplied by it, or --factor 1");
    return 1;
  }

  void add(update_pair pair, const place& weight, const place& other, double factor) {
    for (const place* const of : {&weight, &other}) {
      const std::string where = "tensor " + io::in_quotes(of->info.name);
      if (of->info.numel > max_numel)
        throw input_error(of->file->path, where, "has more than the 2^40 elements that a table may have");
      if (!of->info.row_by_row)
        throw input_error(of->file->path, where,
                          "is not stored row by row, so its elements cannot be paired; "
                          "save it with contiguous(), or numpy.ascontiguousarray");
    }
    if (weight.info.shape != other.info.shape)
      throw input_error(other.file->path, "tensor " + io::in_quotes(other.info.name),
                        "has another shape than its weight in " + weight.file->path);
    all_.push_back(std::move(pair));
    sources_.push_back({weight, other, factor});
  }

  [[noreturn]] void refuse(const std::string& file) const {
    throw input_error(
        file, "",
        lacks_rate_
            ? "has weights and gradients, but no learning rate: give --lr X, or --scalars FILE.csv with the column lr"
            : "holds no weight with its update: it takes weight/NAME and update/NAME, or wgrad/NAME and a learning "
              "rate, or weights of two steps (--kind REGEX=weight says which tensors are weights)");
  }

  void add_notes() {
    std::map<update_origin, std::uint64_t> pairs;
    std::uint64_t apart = 0;
    for (const update_pair& p : all_) {
      ++pairs[p.origin];
      if (p.origin == update_origin::next_weights && p.next_step != p.step + 1) ++apart;
    }
    const std::string updates = pairs.size() > 1 ? "some updates" : "updates";
    if (pairs.contains(update_origin::gradient))
      notes_.push_back(updates +
                       " are -lr times the gradient, plain SGD: momentum, weight decay and clipping are left out");
    if (pairs.contains(update_origin::next_weights))
      notes_.push_back(updates + " are the weights of the next step that has them, minus these");
    if (apart > 0)
      notes_.push_back(
          "some of these steps do not follow one another: what is counted there is the sum of several "
          "updates, of which fewer are lost");
    if (!without_.empty()) notes_.push_back("no update is known of " + io::joined(without_));
  }

  source_options options_;
  std::vector<io::dump_step> steps_;
  io::scalar_table scalars_;
  std::vector<update_pair> all_;
  std::vector<source_of> sources_;
  std::vector<std::string> notes_;
  std::vector<std::string> without_;
  bool lacks_rate_ = false;
};

}  // namespace

std::unique_ptr<update_pairs> open_update_pairs(const std::vector<std::string>& inputs, const source_options& options,
                                                double learning_rate) {
  if (inputs.empty()) throw input_error("input", "", "none is given");
  return std::make_unique<dumped_pairs>(inputs, options, learning_rate);
}

std::vector<joint_row> joint_rows_of(const update_pairs& pairs, std::int64_t step,
                                     const std::function<bool(const std::string& weight)>& takes) {
  std::vector<joint_row> rows;
  joint_counter counter;
  for (std::size_t i = 0; i < pairs.all().size(); ++i) {
    const update_pair& pair = pairs.all()[i];
    if (pair.step != step || !takes(pair.weight)) continue;
    pairs.read(
        i, [&](std::span<const double> weights, std::span<const double> updates) { counter.add(weights, updates); });
    const std::int64_t ahead = pair.origin == update_origin::next_weights ? pair.next_step - pair.step : 1;
    rows.push_back({pair.weight, pair.weight_type, pair.origin, static_cast<std::uint64_t>(ahead), counter.take()});
  }
  return rows;
}

bool are_dumps(const std::vector<std::string>& inputs, const source_options& options) {
  return std::ranges::all_of(io::with_files_of_folders(inputs),
                             [&](const std::string& path) { return io::file_kind_of(path, options.limits).is_dump(); });
}

}  // namespace ulp
