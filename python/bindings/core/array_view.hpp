// Arrays of other libraries where they lie: numpy's through the buffer protocol, torch's through DLPack.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace ulp::python {

// Element (i, j, ...) is at data + i * strides[0] + j * strides[1] + ... "In order" is always C order, the last index
// first, however the elements lie.
struct array_view {
  std::byte* data = nullptr;
  std::vector<std::ptrdiff_t> shape;
  std::vector<std::ptrdiff_t> strides;  // in bytes, also 0 and below
  std::size_t bytes = 0;                // of an element
  bool swapped = false;                 // the bytes of an element are in the order that is not this machine's
  bool writable = false;
  std::shared_ptr<void> owner;  // keeps the memory; the last one goes with the GIL held

  [[nodiscard]] std::size_t size() const noexcept;
  // The bytes from the lowest to behind the highest that belong to elements.
  [[nodiscard]] std::pair<const std::byte*, const std::byte*> extent() const noexcept;
  // Whether the elements lie one behind the other in order, as a span of them does.
  [[nodiscard]] bool is_span() const noexcept;
};

// An object with the buffer protocol, or else with __dlpack__. Throws std::invalid_argument for memory that is not the
// processor's, and what the object raises.
array_view view_of(const pybind11::object& array);

[[nodiscard]] bool same_elements(const array_view& a, const array_view& b) noexcept;
[[nodiscard]] bool may_overlap(const array_view& a, const array_view& b) noexcept;
// Whether two of its elements may be in one place.
[[nodiscard]] bool may_overlap_itself(const array_view& a);

// The view as one of a larger shape: dimensions of size 1, and missing ones in front, are repeated.
// Precondition: the shapes fit.
[[nodiscard]] array_view broadcast(array_view view, const std::vector<std::ptrdiff_t>& shape);

// Views of one shape with as few dimensions as they can all have, at least one. In any order: elements that belong
// together still do, but which are first is as the first view's memory has it.
void flatten(std::span<array_view* const> views, bool in_any_order);

// Copies elements begin, begin + 1, ... in order to or from one another's neighbours, in this machine's byte order.
void gather(const array_view& from, std::size_t begin, std::size_t count, void* to);
void scatter(const array_view& to, std::size_t begin, std::size_t count, const void* from);

}  // namespace ulp::python
