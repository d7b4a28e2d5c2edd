// The updates that weights lose which are kept in 16 bits, where advice is asked for.
#ifndef ULP_ASK_RUNS_KEPT_WEIGHTS_HPP
#define ULP_ASK_RUNS_KEPT_WEIGHTS_HPP

#include <optional>
#include <string>

#include <ulp/ask/precision/weights_answer.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/io/config/config_import.hpp>

namespace ulp {

// Whose configuration is written, and what it says already.
struct own_configuration {
  std::string framework = "pytorch_gradscaler";  // or a scaler
  std::string format;                            // a name of the catalogue; empty where it does not say
  bool is_static = false;                        // its scale is constant
  double static_scale = not_known;               // that one
  bool is_scaled = true;                         // the loss is
  bool is_float8 = false;                        // tensors are, and cast to 8-bit floats
  std::optional<std::string> weights_kept_in;    // as imported_config has it
  bool weights_stochastic = false;
  std::string words = {};  // as imported_config has it
};
[[nodiscard]] own_configuration own_configuration_of(const imported_config& said);

struct kept_weights {
  counted_weights counted;  // in one case
  std::string framework;    // whose configuration keeps them so; empty: their own type
};

// Where the run holds weights with updates and either the configuration keeps weights in 16 bits without a master copy, or
// the weights are recorded in a 16-bit type and the configuration does not say that there is another copy. nullopt where
// nobody asks or nothing is known. Reads the inputs once more. Throws input_error.
[[nodiscard]] std::optional<kept_weights> kept_weights_of(const run_text& run, const own_configuration& said);

}  // namespace ulp

#endif
