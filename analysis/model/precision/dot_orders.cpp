// The orders in which dot products are added, one row each.
#include <string>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/tensor_cores.hpp>
#include <ulp/model/precision/dot_error.hpp>

namespace ulp {
namespace {

void add_defined(std::vector<dot_order>& to, const format& operands, const std::string& low, std::uint32_t chunk) {
  const auto add = [&](std::string name, accumulation how) {
    to.push_back({.name = std::move(name), .how = how, .then = {}, .source = {}, .note = {}});
  };
  const auto with = [](auto set) {
    accumulation how;
    set(how);
    return how;
  };
  add("float32, fused products", {});
  add("float32", with([](accumulation& h) { h.products = float32; }));
  add("float32, pairwise", with([](accumulation& h) {
        h.products = float32;
        h.order = {sum_order::pairwise};
      }));
  add("float32, 8 lanes", with([](accumulation& h) {
        h.products = float32;
        h.order = {sum_order::lanes, 8};
      }));
  if (operands == float32) return;
  add(low + ", fused products", with([&](accumulation& h) { h.accumulator = operands; }));
  add(low, with([&](accumulation& h) {
        h.products = operands;
        h.accumulator = operands;
      }));
  for (const bool outside : {true, false})
    add(low + ", chunks of " + std::to_string(chunk) + (outside ? ", float32 outside" : ""), with([&](accumulation& h) {
          h.accumulator = operands;
          if (outside) h.outer = float32;
          h.order = {sum_order::chunks, chunk};
        }));
}

// Compared bit by bit with what these made: tests/formats/dot_golden.cpp.
void add_libraries(std::vector<dot_order>& to, const format& operands) {
  accumulation how;
  if (operands == float16) {
    how.products = float32;
    to.push_back({"numpy.dot, CPU", dot_basis::measured, how, float16, "numpy 2.2.4", {}});
  }
  if (operands == float16 || operands == bfloat16) {
    how.products = operands;
    to.push_back({"torch.dot, CPU", dot_basis::measured, how, operands, "PyTorch 2.6.0; products are rounded too", {}});
  }
}

dot_order order_of(const tensor_core& unit, const accumulation& how, const std::string& levels) {
  return {name_of(unit) + levels, dot_basis::measured,      how,
          std::nullopt,           std::string(unit.source), std::string(unit.note)};
}

void add_matrix_units(std::vector<dot_order>& to, const format& operands) {
  for (const tensor_core& unit : tensor_cores())
    if (unit.operands == operands && !unit.scales) to.push_back(order_of(unit, unit.how, ""));
}

// docs.cerebras.net, "Data formats": what each level accumulates in, in words. Orders and sizes are not published.
void add_cerebras(std::vector<dot_order>& to, const format& operands, const std::string& low, std::uint32_t chunk) {
  const std::string source = "docs.cerebras.net, Data formats";
  const std::string sequential = "assumed: exact products, one after the other";
  const std::string chunks = "assumed: sums of " + std::to_string(chunk) + " exact products in " + low +
                             ", these in float32; which sums are which is not published";
  accumulation mixed;
  mixed.accumulator = operands;
  mixed.outer = float32;
  mixed.order = {sum_order::chunks, chunk};
  const auto add = [&](const char* name, const accumulation& how, const std::string& said, const std::string& note) {
    to.push_back({name, dot_basis::assumed, how, std::nullopt, source + ": " + said, note});
  };
  add("precision_opt_level 0", {}, "float32 accumulations", sequential);
  add("precision_opt_level 1, attention", {}, "float32 reductions in attention", sequential);
  add("precision_opt_level 1, matmul", mixed, "float32 and 16-bit reductions in matrix multiplication", chunks);
  add("precision_opt_level 2", mixed, "float32 and 16-bit reductions in attention and matrix multiplication",
      chunks + "; the 16-bit softmax is not a dot product");
}

}  // namespace

std::vector<dot_order> unit_orders(const format& operands, const unit_choice& choice) {
  const tensor_core& unit = unit_chosen(choice, operands);
  std::vector<dot_order> all{order_of(unit, unit.how, "")};
  if (const auto groups = choice.promote)
    all.push_back(
        order_of(unit, in_two_levels(unit, *groups),
                 *groups == 0 ? ", then c in float32" : ", " + std::to_string(*groups) + " groups, float32 outside"));
  return all;
}

std::vector<dot_order> scaled_unit_orders(const format& operands, const format& scale, std::uint32_t block) {
  std::vector<dot_order> all;
  for (const tensor_core& unit : tensor_cores())
    if (unit.operands == operands && unit.scales && unit.scales->format == scale && unit.scales->size == block)
      all.push_back(order_of(unit, unit.how, ""));
  return all;
}

std::vector<dot_order> dot_orders(const format& operands, const std::string& name, std::uint32_t chunk) {
  std::vector<dot_order> all;
  add_defined(all, operands, name, chunk);
  add_libraries(all, operands);
  add_matrix_units(all, operands);
  if (operands.width() == 16) add_cerebras(all, operands, name, chunk);
  return all;
}

}  // namespace ulp
