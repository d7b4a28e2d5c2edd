// What `ulp precision optimizer` asks: a run of gradients through an optimizer as a library steps it.
#ifndef ULP_ASK_PRECISION_OPTIMIZER_ANSWER_HPP
#define ULP_ASK_PRECISION_OPTIMIZER_ANSWER_HPP

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/io/arrays/npz.hpp>
#include <ulp/model/optimizers/optimizer.hpp>

namespace ulp {

struct optimizer_question {
  std::vector<std::string> inputs;  // one .npz with grads and w0, or dumps of steps, or their folder
  std::string dialect;
  std::string weights = "fp32";  // their format
  std::string rounding = "own";
  std::vector<std::string> set;  // NAME=VALUE
  std::string learning_rate;
  std::string steps;           // that are kept, from 1; empty: some, and the last
  std::uint64_t elements = 0;  // the first of each gradient; 0: all
  std::uint64_t seed = 0;
  std::string first_weights;  // a dump of them
  run_text run;               // of which --limit and --raw-codes are taken
};

// How far the weights are from the first ones after a step.
struct optimizer_moment {
  std::int64_t step = 0;
  double rms = 0;      // of w - w0, finite ones
  double largest = 0;  // |w - w0|
  std::uint64_t nonfinite = 0;
  std::uint64_t moved = 0;  // differ from w0
};

// States of the optimizer at some steps, as arrays of a .npz: the names, types and shapes of recorded runs of the libraries.
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

struct optimizer_answer {
  const optimizer_entry* entry = nullptr;
  optimizer stepped;  // after the last step
  std::uint64_t elements = 0;
  optimizer_arrays arrays;  // of the steps that are kept
  std::vector<optimizer_moment> moments;
};

// Throws std::invalid_argument where there is none.
[[nodiscard]] const optimizer_entry& dialect_named(const std::string& name);

// What is wrong with dialect and parameters. Throws std::invalid_argument.
void check_optimizer(const optimizer_question& asked);

// Throws input_error, std::invalid_argument.
[[nodiscard]] optimizer_answer optimize_over(const optimizer_question& asked, listener& to);

}  // namespace ulp

#endif
