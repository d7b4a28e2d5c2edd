// The conditions of a row: words about the keys of a configuration.
#ifndef ULP_IO_CONFIG_CONDITIONS_HPP
#define ULP_IO_CONFIG_CONDITIONS_HPP

#include <string_view>

#include "config/programs/row.hpp"
#include "config/syntax/tree.hpp"

namespace ulp::io {

struct condition {
  bool negated = false;
  std::string_view key;
  std::string_view values;  // empty: that it is given
};
[[nodiscard]] condition parsed(std::string_view word);

// Whether they hold in a tree; `defaults` stand for keys that are not given.
[[nodiscard]] bool hold(conditions all, const config_node& root, std::string_view defaults = {});
// The entry at a path of keys; nullptr where there is none or it is null.
[[nodiscard]] const config_entry* entry_at(const config_node& root, std::string_view path);

}  // namespace ulp::io

#endif
