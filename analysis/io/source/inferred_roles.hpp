// What nobody said of the tensors of a run, told by their values: roles, and which gradients are sums of rounded parts.
#ifndef ULP_IO_SOURCE_INFERRED_ROLES_HPP
#define ULP_IO_SOURCE_INFERRED_ROLES_HPP

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ulp/io/source/source.hpp>

namespace ulp::io {

struct inferred_tensor {
  tensor_role role = tensor_role::unknown;
  std::string through;
  bool is_sum = false;
};

struct inferred_roles {
  std::map<std::string, inferred_tensor, std::less<>> tensors;  // by name, those of which something was inferred
  std::string note;                                             // that says so, with the option that would; or empty

  [[nodiscard]] bool empty() const noexcept { return tensors.empty(); }
};

// Reads the first steps of a source, which is labelled with what is known, up to as many as tell. Nothing where all is
// known, or where no tensor went through a 16-bit format.
[[nodiscard]] inferred_roles infer_roles(source& from);

// "--role REGEX=low" of names of one role among all; digits between dots stand for any.
[[nodiscard]] std::string role_option(const std::vector<std::string>& names, const std::vector<std::string>& others,
                                      std::string_view role);

}  // namespace ulp::io

#endif
