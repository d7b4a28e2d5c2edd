// Names of tensors as people read them: as the modules that they are of, and shortened where they are alike.
#ifndef ULP_REPORT_PICTURES_LAYER_NAMES_HPP
#define ULP_REPORT_PICTURES_LAYER_NAMES_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ulp {

// "layers.", "0/", "weight": up to each '.' or '/', which belong to the part before them.
[[nodiscard]] std::vector<std::string_view> parts_of(std::string_view name);

struct module_row {
  std::string path;   // of a module "layers.0", of a tensor its name
  std::string label;  // what the row above it does not say: "0", "attention.qkv"
  std::size_t depth = 0;
  bool is_module = false;
  std::vector<std::uint32_t> tensors;  // all below a module; the one that the row is
};

// A tree in the order in which the tensors come; a module that holds one thing alone is a row with it. `is_open` is asked of
// each module that is shown whether its rows are, too.
[[nodiscard]] std::vector<module_row> module_rows(const std::vector<std::string>& names,
                                                  const std::vector<std::uint32_t>& shown,
                                                  const std::function<bool(const module_row&)>& is_open);

// The name itself where it fits; else with "…" for those successive parts without which it fits and is still told from all
// others, as few letters as possible; else with initials for its first parts, "m.l.0.sa.weight", as few as possible. Empty
// where that is not enough.
[[nodiscard]] std::string shortened(const std::string& name, const std::vector<std::string>& all,
                                    const std::function<bool(const std::string&)>& fits);

}  // namespace ulp

#endif
