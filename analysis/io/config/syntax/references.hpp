// References of OmegaConf between the values of a file: omry/omegaconf omegaconf/base.py, docs/source/grammar.rst.
#ifndef ULP_IO_CONFIG_SYNTAX_REFERENCES_HPP
#define ULP_IO_CONFIG_SYNTAX_REFERENCES_HPP

#include <string>

#include "tree.hpp"

namespace ulp::io {

// Puts what "${a.b}", "${.sibling}" and "${..a}" refer to in their place, alone or within a text. What this file does not hold, and
// what a resolver would compute ("${oc.env:HOME}"), stays as it is. Throws input_error for references in a circle.
void resolve_references(const std::string& file, config_node& root);

}  // namespace ulp::io

#endif
