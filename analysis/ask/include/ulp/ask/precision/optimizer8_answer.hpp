// What `ulp precision optimizer8` says: what states of 8, 4 and 16 bits, and weights without a master copy, do to weights.
#ifndef ULP_ASK_PRECISION_OPTIMIZER8_ANSWER_HPP
#define ULP_ASK_PRECISION_OPTIMIZER8_ANSWER_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/formats/blocks.hpp>
#include <ulp/model/optimizers/optimizer_drift.hpp>

namespace ulp {

// Recipes (see recipe_text.hpp) of all that is usually asked about, least loss first.
[[nodiscard]] std::vector<std::string> usual_recipes();

struct optimizer8_question {
  // Dumps, each of a step, or a folder of them; or one dump in which the first index of every array is the step.
  run_text run;
  std::string weights;             // a dump of the weights before the first step
  std::vector<std::string> parts;  // NAME=N: what the elements of the only tensor belong to, in order
  std::uint64_t elements = 0;      // the first of each tensor; 0: all
  std::vector<std::string> recipes = usual_recipes();
  std::vector<std::string> settings;  // NAME=VALUE, of every recipe that has it
  std::uint64_t mark = 0;  // second moments that fall are those lower at the end than after so many steps; 0: a quarter
  bool quantizers = false;  // of the first recipe, too
  std::uint64_t seed = 0;   // of stochastic rounding
};

// Elements that are not as under the first recipe whose states are codes, of the same maps and blocks.
struct code_differences {
  std::uint64_t m = 0;
  std::uint64_t v = 0;
  std::uint64_t weights = 0;
};

struct drift_row {
  std::string recipe;
  std::string tensor;  // empty: all
  weight_drift drift;
  std::string worst;  // of all: the tensor that most runs away, else that deviates most
  std::optional<code_differences> codes;
  // Of all: tensors, and those whose states the recipe keeps as the weights are, their size being no multiple of the block.
  std::uint64_t tensors = 0;
  std::uint64_t unquantized = 0;
  // The numbers that the run gives to drift.first_nonfinite_gradient, of all, and to drift.first_zeroed.
  std::int64_t nonfinite_step = 0;
  std::int64_t zeroed_step = 0;
  bool of_one_dump = false;  // of all: the run is one dump of all steps, of which no scalars are read
};

struct recipe_drift {
  optimizer_recipe recipe;
  drift_row all;
  std::vector<drift_row> tensors;
};

// bitsandbytes (its min_8bit_size) and torchao quantize the states of tensors that have at least so many elements.
inline constexpr std::uint64_t least_quantized = 4096;

// What of the run is quantized here, having fewer, and not by the libraries.
struct small_tensors {
  std::vector<std::string> names;
  std::vector<std::string> libraries;
};

struct quantizer_row {
  const block_row* quantizer;
  std::uint64_t elements = 0;
  std::uint64_t m_differ = 0;
  std::uint64_t v_differ = 0;
  std::uint64_t zeroed = 0;
};

struct optimizer8_answer {
  std::uint64_t steps = 0;
  std::uint64_t elements = 0;
  std::vector<recipe_drift> recipes;
  small_tensors small;
  std::vector<quantizer_row> quantizers;  // where asked for: the float32 moments of the end in the codes of each
};

// Throws input_error, std::invalid_argument.
[[nodiscard]] optimizer8_answer optimizer8_over(const optimizer8_question& asked, listener& to);

}  // namespace ulp

#endif
