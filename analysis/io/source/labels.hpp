// A source as the user describes it.
#ifndef ULP_IO_SOURCE_LABELS_HPP
#define ULP_IO_SOURCE_LABELS_HPP

#include <memory>

#include <ulp/io/source/source.hpp>

#include "inferred_roles.hpp"
#include "scalar_table.hpp"

namespace ulp::io {

// With what the user's options say: kinds and roles by name, factor, scalars of the steps; and what they leave open as the
// values tell.
[[nodiscard]] std::unique_ptr<source> with_labels(std::unique_ptr<source> inner, const source_options& options,
                                                  scalar_table scalars, inferred_roles inferred);

}  // namespace ulp::io

#endif
