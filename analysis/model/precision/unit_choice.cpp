#include <ulp/model/precision/unit_choice.hpp>

#include <stdexcept>
#include <string_view>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>

namespace ulp {

std::string name_of(const tensor_core& unit) {
  std::string name{unit.name};
  if (unit.how.accumulator == float16) name += " into float16";
  if (unit.scales) name += " scaled by " + std::string{unit.scales->name} + " of " + std::to_string(unit.scales->size);
  return name;
}

namespace {

// What the unit has; where there is none of that name, which names there are.
std::string known_beside(const std::string& name) {
  std::string rows;
  std::string names;
  std::string_view last;
  for (const tensor_core& r : tensor_cores()) {
    if (r.name != last) names += (names.empty() ? "" : ", ") + std::string{r.name};
    last = r.name;
    const tensor_core* const own = find_tensor_core(name, r.operands);
    if (own == nullptr || own->name != r.name) continue;
    rows += (rows.empty() ? "" : ", ") + std::string{r.operands_name} + name_of(r).substr(r.name.size());
  }
  return rows.empty() ? "there are " + names + ", and processors that have them" : "it takes " + rows;
}

}  // namespace

const tensor_core& unit_chosen(const unit_choice& choice, const format& operands) {
  const tensor_core* const row = choice.scale
                                     ? find_scaled_tensor_core(choice.unit, operands, *choice.scale, choice.block)
                                 : choice.accumulator ? find_tensor_core(choice.unit, operands, *choice.accumulator)
                                                      : find_tensor_core(choice.unit, operands);
  const bool is_asked = row != nullptr && (!choice.scale || !choice.accumulator || *choice.accumulator == float32);
  if (is_asked) return *row;
  std::string asked = "'" + choice.unit + "' with operands in " + to_string(operands);
  if (choice.accumulator) asked += " into " + to_string(*choice.accumulator);
  if (choice.scale) asked += " scaled by " + to_string(*choice.scale) + " of " + std::to_string(choice.block);
  throw std::invalid_argument("unit: none is " + asked + ": " + known_beside(choice.unit));
}

accumulation accumulation_of(const unit_choice& choice, const format& operands) {
  const tensor_core& unit = unit_chosen(choice, operands);
  return choice.promote ? in_two_levels(unit, *choice.promote) : unit.how;
}

}  // namespace ulp
