// Losses of evaluations in lines that are no records of steps.
#ifndef ULP_IO_TRAINING_LOG_EVALUATION_LOSS_HPP
#define ULP_IO_TRAINING_LOG_EVALUATION_LOSS_HPP

#include <cstdint>
#include <string>
#include <string_view>

namespace ulp::io {

// The name of a loss of an evaluation that the line prints as NaN or infinite: "eval_loss" of "{'eval_loss': nan}", "Validation loss"
// of "Validation loss: inf". Empty where there is none.
[[nodiscard]] std::string_view nonfinite_evaluation(std::string_view line);

// Those of a log.
class nonfinite_evaluations {
 public:
  void line(std::string_view text, std::uint64_t number);
  // What is said of them; empty where there are none.
  [[nodiscard]] std::string text() const;

 private:
  std::uint64_t lines_ = 0;
  std::uint64_t first_ = 0;
  std::string name_;
};

}  // namespace ulp::io

#endif
