// What `ulp precision dot` asks: the errors of dot products in the orders of dot_error.hpp.
#ifndef ULP_ASK_PRECISION_DOT_ANSWER_HPP
#define ULP_ASK_PRECISION_DOT_ANSWER_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/model/precision/dot_error.hpp>

namespace ulp {

inline const std::vector<std::string> dot_distributions{"uniform", "symmetric", "normal", "around-one", "constant"};

struct dot_question {
  std::vector<std::string> inputs;  // one dump or two: of a, of b
  run_text run;                     // of which --limit and --raw-codes are taken
  std::string a;                    // the arrays; empty: the only one, or the two that there are
  std::string b;
  std::string generate;  // one of dot_distributions, instead of inputs
  std::vector<std::string> formats{"float16", "bfloat16"};
  std::uint64_t length = 0;  // of a dot product; 0: the last dimension of the arrays, 1024 where they are generated
  std::uint64_t rows = 64;   // dot products, at most
  std::uint64_t chunk = 64;
  std::string unit;                      // of these alone: as a matrix unit of that name adds
  std::string accumulate;                // the format of its accumulator; empty: its widest
  std::optional<std::uint32_t> promote;  // so many of its groups before their sum is added in float32
  std::uint64_t seed = 0;
};

struct dot_row {
  std::string operands;  // their format
  dot_order order;
  dot_errors errors;
};

struct dot_answer {
  std::uint64_t length = 0;
  std::uint64_t products = 0;
  std::string operands;  // "normal numbers of seed 0", "a of FILE with b of FILE"
  std::vector<dot_row> rows;
};

// Of what the options --unit, --accumulate and --promote say; empty text where one is not given.
[[nodiscard]] unit_choice unit_of(const std::string& unit, const std::string& accumulate,
                                  std::optional<std::uint32_t> promote);

// Throws input_error, std::invalid_argument.
[[nodiscard]] dot_answer dots_over(const dot_question& asked, listener& to);

}  // namespace ulp

#endif
