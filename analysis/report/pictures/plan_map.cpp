#include <ulp/report/pictures/plan_map.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ulp/report/tables/plan_table.hpp>
#include <utility>

namespace ulp {
namespace {

constexpr std::array kinds{tensor_kind::weight,      tensor_kind::activation, tensor_kind::activation_grad,
                           tensor_kind::weight_grad, tensor_kind::update,     tensor_kind::unknown};

std::string_view plural_of(tensor_kind kind) {
  switch (kind) {
    case tensor_kind::weight: return "weights";
    case tensor_kind::activation: return "activations";
    case tensor_kind::activation_grad: return "gradients of activations";
    case tensor_kind::weight_grad: return "gradients of weights";
    case tensor_kind::update: return "updates";
    case tensor_kind::unknown: break;
  }
  return "tensors of unknown kind";
}

std::string_view name_of(plan_group g) {
  switch (g) {
    case plan_group::wide: return "32 bits";
    case plan_group::half: return "16 bits";
    case plan_group::narrow: return "8 bits, a scale for the tensor";
    case plan_group::blocks: return "8 bits, a scale for blocks or rows";
    case plan_group::narrow_blocks: return "fewer bits, a scale for blocks";
  }
  return "";
}

std::vector<plan_cell::piece> pieces_of(double from, double to, std::size_t lines) {
  std::vector<plan_cell::piece> pieces;
  for (auto line = static_cast<std::size_t>(from); line < lines && static_cast<double>(line) < to; ++line) {
    const auto start = static_cast<double>(line);
    const plan_cell::piece p{line, std::max(from - start, 0.0), std::min(to - start, 1.0)};
    // Sums of lengths end beside the end of a line.
    if (p.to - p.from > 1e-9) pieces.push_back(p);
  }
  return pieces;
}

plan_band band_of(const plan_answer& plan, tensor_kind kind, double least) {
  std::vector<const planned_tensor*> tensors;
  std::uint64_t numel = 0;
  std::uint64_t bits = 0;
  for (const planned_tensor& t : plan.tensors) {
    if (plan.info[t.tensor].kind != kind) continue;
    tensors.push_back(&t);
    numel += t.numel;
    bits += t.of[t.chosen].bits;
  }
  plan_band band;
  if (tensors.empty()) return band;
  band.title = fmt::format("{}: {}, {} in {:.3g} bits each", plural_of(kind), count_text(tensors.size(), "tensor"),
                           count_text(numel, "element"),
                           static_cast<double>(bits) / static_cast<double>(std::max<std::uint64_t>(1, numel)));
  // The least lengths take half of the room at most.
  const double held = least * static_cast<double>(tensors.size());
  band.lines = static_cast<std::size_t>(std::max(1.0, std::ceil(2 * held)));
  const double shared = static_cast<double>(band.lines) - held;
  double at = 0;
  for (const planned_tensor* const t : tensors) {
    const double part = numel > 0 ? static_cast<double>(t->numel) / static_cast<double>(numel) : 0;
    const double end = at + least + shared * part;
    const plan_treatment& chosen = plan.treatment(t->chosen);
    band.cells.push_back({.tensor = t->tensor,
                          .name = plan.info[t->tensor].name,
                          .treatment = std::string{chosen.name},
                          .group = group_of(chosen),
                          .why = why_chosen(plan, *t),
                          .pieces = pieces_of(at, end, band.lines)});
    at = end;
  }
  return band;
}

}  // namespace

plan_group group_of(const plan_treatment& t) {
  if (t.is_half()) return plan_group::half;
  if (!t.is_narrow()) return plan_group::wide;
  if (t.scale != plan_scale::block) return plan_group::narrow;
  return t.elements().width() < 8 ? plan_group::narrow_blocks : plan_group::blocks;
}

std::string_view colour_of(plan_group g) {
  switch (g) {
    case plan_group::wide: return "#e07b39";
    case plan_group::half: return "#f2c14e";
    case plan_group::narrow: return "#7cc4ee";
    case plan_group::blocks: return "#4db894";
    case plan_group::narrow_blocks: return "#d3a3d9";
  }
  return "";
}

plan_map plan_map_of(const plan_answer& plan, double least) {
  plan_map map;
  for (const tensor_kind kind : kinds)
    if (plan_band band = band_of(plan, kind, least); !band.cells.empty()) map.bands.push_back(std::move(band));
  for (const plan_group g :
       {plan_group::wide, plan_group::half, plan_group::narrow, plan_group::blocks, plan_group::narrow_blocks}) {
    std::string names;
    for (std::size_t i = 0; i < plan.treatments.size(); ++i) {
      const auto of_it = std::ranges::count(plan.tensors, i, &planned_tensor::chosen);
      if (group_of(plan.treatment(i)) != g || of_it == 0) continue;
      names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", plan.treatment(i).name, of_it);
    }
    if (!names.empty()) map.legend.push_back({g, fmt::format("{}: {}", name_of(g), names)});
  }
  return map;
}

}  // namespace ulp
