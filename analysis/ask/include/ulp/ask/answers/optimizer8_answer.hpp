// What `ulp precision optimizer8` says: what states of 8, 4 and 16 bits, and weights without a master copy, do to weights.
#ifndef ULP_ASK_ANSWERS_OPTIMIZER8_ANSWER_HPP
#define ULP_ASK_ANSWERS_OPTIMIZER8_ANSWER_HPP

#include <cstdint>
#include <string>
#include <vector>

#include <ulp/ask/answers/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/model/optimizers/optimizer_drift.hpp>
#include <ulp/report/tables/table.hpp>

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
  bool by_tensor = false;
  bool quantizers = false;  // of the first recipe, too
  std::uint64_t seed = 0;   // of stochastic rounding
};

struct optimizer8_answer {
  std::vector<std::string> conclusions;  // sentences
  table rows;                            // one a recipe, or recipe and tensor
  table quantizers;  // where asked for: the float32 moments of the end in the codes of each blockwise quantizer
  std::uint64_t steps = 0;
  std::uint64_t elements = 0;
};

// Throws input_error, std::invalid_argument.
[[nodiscard]] optimizer8_answer optimizer8_over(const optimizer8_question& asked, listener& to);

}  // namespace ulp

#endif
