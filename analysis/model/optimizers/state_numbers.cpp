// States as numbers, however they are kept.
#include <algorithm>
#include <string>

#include <ulp/formats/convert.hpp>
#include <ulp/model/optimizers/optimizer.hpp>

namespace ulp {
namespace {

const optimizer_state* find(const std::vector<optimizer_state>& all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const optimizer_state& s) { return s.name == name; });
  return found == all.end() ? nullptr : &*found;
}

// Codes of a map of 16 are two in a byte, the first in the high half.
void read_blocks(const optimizer_state& codes, std::span<const float> absmax, std::span<float> into) {
  const auto bytes = std::get<std::span<const std::uint8_t>>(codes.values);
  const std::span<const float> map = codes.codec->map();
  for (std::size_t i = 0; i < into.size(); ++i) {
    const std::uint8_t pair = map.size() == 16 ? bytes[i / 2] : bytes[i];
    const std::size_t code = map.size() != 16 ? pair : i % 2 == 0 ? pair >> 4U : pair & 15U;
    into[i] = map[code] * absmax[i / codes.block_size];
  }
}

struct reader {
  const optimizer_state& state;
  std::span<float> into;

  bool operator()(std::span<const float> values) const { return copy(values); }
  bool operator()(std::span<const double> values) const { return copy(values); }
  template <class Code>
  bool operator()(std::span<const Code> codes) const {
    if (!state.codes_of || codes.size() != into.size()) return false;
    decode_array(*state.codes_of, codes, into, 1);
    return true;
  }

 private:
  template <class T>
  [[nodiscard]] bool copy(std::span<const T> values) const {
    if (values.size() != into.size()) return false;
    std::transform(values.begin(), values.end(), into.begin(), [](T x) { return static_cast<float>(x); });
    return true;
  }
};

}  // namespace

bool read_state(const optimizer& of, std::string_view name, std::span<float> into) {
  if (into.size() != of.size()) return false;
  const std::vector<optimizer_state> all = of.state();
  if (const optimizer_state* const plain = find(all, name)) return std::visit(reader{*plain, into}, plain->values);
  const optimizer_state* const codes = find(all, std::string{name} + "_codes");
  const optimizer_state* const absmax = find(all, std::string{name} + "_absmax");
  if (codes == nullptr || absmax == nullptr || codes->codec == nullptr) return false;
  read_blocks(*codes, std::get<std::span<const float>>(absmax->values), into);
  return true;
}

}  // namespace ulp
