// States of an optimizer at some steps, as arrays of a .npz: the names, types and shapes of recorded runs of the libraries.
#ifndef ULP_ASK_ANSWERS_OPTIMIZER_ARRAYS_HPP
#define ULP_ASK_ANSWERS_OPTIMIZER_ARRAYS_HPP

#include <cstdint>
#include <span>
#include <string>
#include <ulp/formats/format.hpp>
#include <ulp/io/arrays/npz.hpp>
#include <ulp/model/optimizers/optimizer.hpp>
#include <vector>

namespace ulp {

class optimizer_arrays {
 public:
  explicit optimizer_arrays(const format& weights) : weights_(weights) {}

  // Bytes that one moment takes: those of w and all states.
  [[nodiscard]] std::uint64_t bytes_of_moment(const optimizer& of) const;

  // The state after of.steps() steps. w holds numbers of the weights' format.
  void add(const optimizer& of, std::span<const float> w);
  // The norm of the gradients of each step, where the dialect has one.
  void add_norm(double norm) { norms_.push_back(norm); }
  // Parameters that are numbers or flags become 0-d arrays; `elements` is written where it is not 0.
  void write(npz_writer& to, const optimizer& of, std::uint64_t elements) const;

 private:
  struct array {
    std::string name;
    std::string type;
    std::uint64_t width = 0;
    std::string bytes;
  };
  array& named(const std::string& name, const char* type, std::uint64_t width);

  format weights_;
  std::vector<array> arrays_;
  std::vector<std::int64_t> steps_;
  std::vector<double> norms_;
};

}  // namespace ulp

#endif
