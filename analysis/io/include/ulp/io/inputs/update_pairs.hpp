// Weights and their updates, element by element, from dumps.
//
// A tensor's name is that of its weight: what stands behind weight/, update/ or wgrad/ (or weight__ ... in .npz) belongs together.
// Names without such a prefix are weights where a step has an update or a gradient of the same name, or where a rule of
// source_options::kinds says so. The update of a weight is, the first that there is:
//   recorded       the tensor update/NAME of the same step;
//   gradient       -lr g of the gradient wgrad/NAME of the same step, where the learning rate is given or logged: plain SGD, without
//                  momentum or weight decay. g is divided by its factor first; float32 operations, as torch's, unless g is float64;
//   next_weights   the weight in the next step that has it, minus this one, in float64.
#ifndef ULP_IO_INPUTS_UPDATE_PAIRS_HPP
#define ULP_IO_INPUTS_UPDATE_PAIRS_HPP

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ulp/io/source/source.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/updates/joint_row.hpp>

namespace ulp {

struct update_pair {
  std::string tensor;  // without prefix
  std::string weight;  // as it is called in its file
  std::int64_t step = 0;
  update_origin origin = update_origin::recorded;
  dtype weight_type = dtype::unknown;
  std::vector<std::uint64_t> shape;
  std::uint64_t numel = 0;
  double learning_rate = not_known;  // of the step
  std::int64_t next_step = 0;        // of next_weights
};

// Of as many weights as updates, in the same order.
using take_pairs = std::function<void(std::span<const double> weights, std::span<const double> updates)>;

class update_pairs {
 public:
  update_pairs() = default;
  update_pairs(const update_pairs&) = delete;
  update_pairs& operator=(const update_pairs&) = delete;
  virtual ~update_pairs() = default;

  // By step, then as in the files.
  [[nodiscard]] virtual const std::vector<update_pair>& all() const = 0;
  // What a user should know: weights without updates, steps that are apart.
  [[nodiscard]] virtual const std::vector<std::string>& notes() const = 0;
  // The elements of all()[index], a part at a time. Throws input_error.
  virtual void read(std::size_t index, const take_pairs& take) const = 0;
};

// `learning_rate`: of every step; NaN: as options.scalars logs it. Throws input_error: for an input that is no dump, where no
// weight has an update, for a weight and an update of different shapes, for gradients under a loss scale that is logged but not
// said to be their factor.
[[nodiscard]] std::unique_ptr<update_pairs> open_update_pairs(const std::vector<std::string>& inputs,
                                                              const source_options& options, double learning_rate);

// The joint tables of those pairs of one step whose weights are taken, by the names that they have in their files. Throws
// input_error.
[[nodiscard]] std::vector<joint_row> joint_rows_of(const update_pairs& pairs, std::int64_t step,
                                                   const std::function<bool(const std::string& weight)>& takes);

// Whether they are dumps all, and so can be opened so. Throws input_error for what is not read at all.
[[nodiscard]] bool are_dumps(const std::vector<std::string>& inputs, const source_options& options);

}  // namespace ulp

#endif
