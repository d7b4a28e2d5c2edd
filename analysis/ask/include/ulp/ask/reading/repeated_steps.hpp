// Steps that count more than once where all attempts of a run that was resumed do.
#ifndef ULP_ASK_READING_REPEATED_STEPS_HPP
#define ULP_ASK_READING_REPEATED_STEPS_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/questions/run_text.hpp>
#include <ulp/model/cells/step.hpp>

namespace ulp {

// Tries of one update are no repetitions (see counted_attempts).
class repeated_steps {
 public:
  // Steps of ascending keys.
  void see(const step_key& key, const step_scalars& logged);

  // After the last step: what a user should know; empty where `run` takes one attempt of each step.
  [[nodiscard]] std::vector<std::string> lines(const run_text& run) const;

 private:
  std::optional<step_key> last_;
  double scale_ = not_known;
  bool was_skipped_ = false;
  bool is_repeated_ = false;
  std::uint64_t count_ = 0;
};

}  // namespace ulp

#endif
