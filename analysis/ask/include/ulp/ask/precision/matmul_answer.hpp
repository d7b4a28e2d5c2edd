// What `ulp matmul` asks: the product of two matrices as a matrix unit makes it, and what it loses.
#ifndef ULP_ASK_PRECISION_MATMUL_ANSWER_HPP
#define ULP_ASK_PRECISION_MATMUL_ANSWER_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/model/precision/matmul.hpp>

namespace ulp {

struct matmul_question {
  std::vector<std::string> inputs;  // dumps of A [M, K] and B [K, N], or one with both
  run_text run;                     // of which --limit and --raw-codes are taken
  std::string a;                    // the arrays; empty: the only one, or the two that there are
  std::string b;
  std::string format;      // of both operands; empty: that of A's elements
  std::string unit;        // an architecture or a processor
  std::string accumulate;  // the format of its accumulator; empty: its widest
  std::optional<std::uint32_t> promote;
  std::uint64_t split_k = 1;
  std::string output;  // a .npy for the product; empty: none
};

struct matmul_answer {
  std::string operands;  // "A of FILE with B of FILE"
  std::string format;    // of the operands, its name
  std::string unit;      // "hopper into float16"
  std::string source;    // who measured it
  std::string note;
  ulp::format result;
  std::uint64_t rows = 0;
  std::uint64_t depth = 0;
  std::uint64_t columns = 0;
  matmul_errors errors;
  std::uint64_t parts = 1;  // that K was cut into, at most as many as asked for: see matmul_order
  double seconds = 0;       // that the product took, without reading and without errors
};

// Writes the output, too. Throws input_error, std::invalid_argument.
[[nodiscard]] matmul_answer matmul_over(const matmul_question& asked, listener& to);

}  // namespace ulp

#endif
