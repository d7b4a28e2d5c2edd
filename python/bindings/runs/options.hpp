// The options of the command line as keywords: --clip-norm X is clip_norm=X.
#ifndef ULP_PYTHON_RUNS_OPTIONS_HPP
#define ULP_PYTHON_RUNS_OPTIONS_HPP

#include <pybind11/pybind11.h>

#include <string>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/ask/questions/scenario_text.hpp>
#include <ulp/ask/questions/text_option.hpp>
#include <vector>

namespace ulp::python {

// Keywords, of which each is taken once; what is left at the end was not known. Throws TypeError and ValueError as Python
// functions do, the latter with the sentence of the command line.
class keywords {
 public:
  // None counts as not given.
  keywords(std::string function, const pybind11::dict& given);

  // Those that are given of these. A flag takes bool; a text str or a number; a list one of these or several, or a dict as
  // "key=value", where several values are joined by commas.
  void take(const std::vector<text_option>& options);
  void take(const char* name, text_option::place to);

  // What is left as "key=value", where these are its names, in place of `set`.
  void take_parameters(const std::vector<std::string>& names, std::vector<std::string>& to);

  // Throws TypeError where something is left.
  void refuse_others() const;

 private:
  std::string function_;
  pybind11::dict given_;
  std::vector<std::string> known_;
};

// `inputs` as bytes of their paths.
[[nodiscard]] run_text run_of(const pybind11::list& inputs, keywords& from);

// "A,B" is several, as on the command line.
[[nodiscard]] std::vector<std::string> split_at_commas(const std::vector<std::string>& texts);

// Throws std::invalid_argument that names the option where one of the values is none of these.
void check_each(const char* option, const std::vector<std::string>& values, const std::vector<std::string>& of);

// The names of the parameters that these policies have, and `window`; an empty name has none. Throws std::invalid_argument
// where there is no such policy.
[[nodiscard]] std::vector<std::string> parameters_of(const std::vector<std::string>& policies);

}  // namespace ulp::python

#endif
