// Gradients of micro-batches in dumps, added up element by element.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include <ulp/ask/reading/reading.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/io/bytes/error.hpp>
#include <ulp/io/inputs/number_file.hpp>

#include "accumulation_ways.hpp"
#include "dump_files.hpp"

namespace ulp {
namespace {

// Addends of a part of a tensor: enough that the work for each is small, few enough that they stay in memory.
constexpr std::size_t most_addends = std::size_t{1} << 22;

std::string place_of(const number_array& array) { return fmt::format("tensor '{}'", array.name); }

// The gradients of one tensor in every micro-batch.
struct stacked_tensor {
  std::string name;
  std::uint64_t numel = 0;
  std::vector<std::size_t> indices;  // in each file; in the only one where that holds all
};

class microbatches {
 public:
  microbatches(const accumulate_question& asked, listener& to) : selected_(asked.run.selected()) {
    const read_limits limits = asked.run.how_to_read().limits;
    std::vector<std::string> paths = files_of(asked.run.inputs, "a dump of each micro-batch");
    is_stack_ = paths.size() == 1;
    if (!is_stack_ && asked.microbatches > 0 && asked.microbatches < paths.size()) paths.resize(asked.microbatches);
    for (const std::string& path : paths) files_.emplace_back(path, limits);
    tell_notes(files_.front(), to);
    if (!files_.front().ignored().empty())
      to.note(fmt::format("{}: not read: {}", paths.front(), fmt::join(files_.front().ignored(), ", ")));
    if (is_stack_)
      find_in_stack(limits);
    else
      find_in_files();
    if (tensors_.empty())
      throw input_error(paths.front(), "", "has no gradients of the selected tensors; see --tensor and --kind");
    if (std::ranges::all_of(tensors_, [](const stacked_tensor& tensor) { return tensor.numel == 0; }))
      throw input_error(paths.front(), "", "its gradients have no elements");
    if (asked.microbatches > count_)
      throw std::invalid_argument(fmt::format("--microbatches {}: the input has only {}", asked.microbatches, count_));
    if (asked.microbatches > 0) count_ = asked.microbatches;
  }

  [[nodiscard]] const std::vector<stacked_tensor>& tensors() const { return tensors_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }

  // act(first, addends): the elements from `first` on.
  template <typename Act>
  void read(const stacked_tensor& tensor, Act act) const {
    if (is_stack_) {
      const auto rows = files_.front().open(tensor.indices.front());
      std::vector<std::vector<double>> all(count_, std::vector<double>(tensor.numel));
      for (std::vector<double>& row : all) rows->read(row);
      in_parts(tensor.numel, [&](std::size_t first, std::size_t size) {
        std::vector<std::vector<double>> part;
        for (const std::vector<double>& row : all) {
          const auto begin = row.begin() + static_cast<std::ptrdiff_t>(first);
          part.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(size));
        }
        act(first, part);
      });
      return;
    }
    std::vector<std::unique_ptr<number_stream>> rows;
    for (std::size_t k = 0; k < files_.size(); ++k) rows.push_back(files_[k].open(tensor.indices[k]));
    std::vector<std::vector<double>> part(files_.size());
    in_parts(tensor.numel, [&](std::size_t first, std::size_t size) {
      for (std::size_t k = 0; k < rows.size(); ++k) {
        part[k].resize(size);
        rows[k]->read(part[k]);
      }
      act(first, part);
    });
  }

 private:
  template <typename Act>
  void in_parts(std::uint64_t numel, Act act) const {
    const std::size_t size = std::max<std::size_t>(most_addends / count_, 1024);
    for (std::size_t first = 0; first < numel; first += size) act(first, std::min<std::size_t>(size, numel - first));
  }

  [[nodiscard]] bool takes(const number_array& array) const {
    const bool is_gradient = !array.name.starts_with("agrad/") && !array.name.starts_with("weight/");
    const tensor_info info{.name = array.name, .kind = tensor_kind::weight_grad};
    return is_gradient && selected_.takes(info);
  }

  void find_in_stack(const read_limits& limits) {
    const number_file& file = files_.front();
    for (std::size_t i = 0; i < file.arrays().size(); ++i) {
      const number_array& array = file.arrays()[i];
      if (!takes(array)) continue;
      if (array.shape.empty())
        throw input_error(file.path(), place_of(array),
                          "is a single number, without an index of micro-batches; give one file for each micro-batch");
      const std::uint64_t count = array.shape.front();
      if (count == 0 || (count_ > 0 && count != count_))
        throw input_error(file.path(), place_of(array),
                          fmt::format("its first index, the micro-batch, has {} values{}; give one file for each "
                                      "micro-batch, or --tensor for those that are stacked so",
                                      count, count_ > 0 ? fmt::format(", not the {} of the one before", count_) : ""));
      if (const std::string wrong = wrong_with_rows(limits, count, array.numel / count); !wrong.empty())
        throw input_error(file.path(), place_of(array), wrong);
      count_ = count;
      tensors_.push_back({array.name, array.numel / count, {i}});
    }
  }

  void find_in_files() {
    count_ = files_.size();
    const number_file& first = files_.front();
    for (std::size_t i = 0; i < first.arrays().size(); ++i) {
      const number_array& array = first.arrays()[i];
      if (!takes(array)) continue;
      stacked_tensor& tensor = tensors_.emplace_back(stacked_tensor{array.name, array.numel, {}});
      for (const number_file& file : files_) {
        const auto found = std::ranges::find(file.arrays(), array.name, &number_array::name);
        if (found == file.arrays().end() && file.arrays().size() != 1)
          throw input_error(file.path(), place_of(array), "is missing, but is in " + first.path());
        // The one array of a .npy has the name of its file.
        const auto& same = found == file.arrays().end() ? file.arrays().front() : *found;
        if (same.shape != array.shape)
          throw input_error(file.path(), place_of(same), "has another shape than in " + first.path());
        tensor.indices.push_back(static_cast<std::size_t>(&same - file.arrays().data()));
      }
    }
  }

  selection selected_;
  std::vector<number_file> files_;
  bool is_stack_ = false;
  std::uint64_t count_ = 0;
  std::vector<stacked_tensor> tensors_;
};

}  // namespace

std::vector<accumulation_row> measured_accumulation(const accumulate_question& asked,
                                                    const std::vector<accumulation_way>& ways, listener& to) {
  const microbatches all(asked, to);
  std::vector<accumulation_errors> together(ways.size());
  std::vector<accumulation_row> rows;
  const auto append = [&](const std::string& tensor, const accumulation_way& way, const accumulation_errors& errors) {
    rows.push_back({.tensor = tensor,
                    .way = way,
                    .microbatches = all.count(),
                    .numel = errors.numel,
                    .relative_error = errors.relative(),
                    .measured = errors,
                    .beyond_normal = std::nullopt});
  };
  work reading(to, "tensors", all.tensors().size());
  for (const stacked_tensor& tensor : all.tensors()) {
    std::vector<accumulation_errors> errors(ways.size());
    all.read(tensor, [&](std::size_t first, const std::vector<std::vector<double>>& addends) {
      for (std::size_t w = 0; w < ways.size(); ++w) {
        accumulation how = ways[w].how;
        how.random.first = first;
        how.random.stream = stream_of(tensor.name, 0);
        errors[w] += accumulation_error(addends, how);
      }
    });
    for (std::size_t w = 0; w < ways.size(); ++w) {
      append(tensor.name, ways[w], errors[w]);
      together[w] += errors[w];
    }
    reading.advance();
  }
  if (all.tensors().size() > 1)
    for (std::size_t w = 0; w < ways.size(); ++w) append("", ways[w], together[w]);
  return rows;
}

}  // namespace ulp
