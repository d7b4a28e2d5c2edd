// One run read by several processes: each counts a part, and sends it as bytes.
#ifndef ULP_IO_SOURCE_SHARE_HPP
#define ULP_IO_SOURCE_SHARE_HPP

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/io/source/source.hpp>
#include <ulp/model/cells/step.hpp>

namespace ulp {

// What sources implement whose values can be counted in parts; use the functions below.
class divisible {
 public:
  virtual ~divisible() = default;
  [[nodiscard]] virtual bool divides() const = 0;
  [[nodiscard]] virtual bool next_part(step& into, std::size_t index, std::size_t count) = 0;
};

// Whether parts take less time than the whole: dumps.
[[nodiscard]] bool divides(source& from);

// source::next with part `index` of `count` of the tensors, about equally many elements in each: the parts are disjoint,
// together they are the step, and they are the same in every process. index >= count: no tensors at all; then no value is
// read. Precondition: divides(from).
[[nodiscard]] bool next_part(source& from, step& into, std::size_t index, std::size_t count);

// Rows as bytes, for a process of the same program that has the same tensors.
[[nodiscard]] std::string rows_to_bytes(std::span<const tensor_row> rows);
// Appends them. `tensors` is how many there are. Throws input_error where the bytes are not such rows.
void append_rows(std::string_view bytes, std::size_t tensors, std::vector<tensor_row>& to);

}  // namespace ulp

#endif
