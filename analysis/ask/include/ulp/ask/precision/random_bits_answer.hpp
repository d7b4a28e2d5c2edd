// What `ulp precision random-bits` says: how many random bits the updates of a run need under stochastic rounding.
#ifndef ULP_ASK_PRECISION_RANDOM_BITS_ANSWER_HPP
#define ULP_ASK_PRECISION_RANDOM_BITS_ANSWER_HPP

#include <string>
#include <utility>
#include <vector>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/model/precision/random_bit_need.hpp>

namespace ulp {

struct random_bits_question {
  run_text run;  // dumps with weights and updates, as update_pairs.hpp reads them
  std::vector<std::string> formats{"bfloat16"};
  std::string learning_rate;   // of dumps with gradients; empty: as logged
  std::string share = "0.01";  // of the mass of updates that may be lost
};

struct tensor_need {
  std::string format;
  std::string tensor;
  random_bit_need need;
};

struct random_bits_answer {
  // Of each format in which some update counts, over all tensors and steps. Of others a note says why none does.
  std::vector<std::pair<std::string, random_bit_need>> all;
  std::vector<tensor_need> of_tensors;  // over all steps
  double share = 0;
};

// Throws input_error, std::invalid_argument.
[[nodiscard]] random_bits_answer random_bits_over(const random_bits_question& asked, listener& to);

}  // namespace ulp

#endif
