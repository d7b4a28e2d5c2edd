#include "array_view.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "dlpack.hpp"

namespace ulp::python {
namespace {

namespace py = pybind11;

std::vector<std::ptrdiff_t> c_strides(const std::vector<std::ptrdiff_t>& shape) {
  std::vector<std::ptrdiff_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * std::max<std::ptrdiff_t>(shape[d], 1);
  return strides;
}

array_view view_of_capsule(py::capsule capsule) {
  // Not consumed: the capsule gives its tensor back when it goes.
  const auto* const given = static_cast<const dl_tensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (given == nullptr) throw py::error_already_set();
  const dl_tensor& tensor = *given;
  if (tensor.device_type != dl_cpu)
    throw std::invalid_argument("the array is not in the processor's memory: copy it there first (x.cpu())");
  if (tensor.type_lanes != 1 || tensor.type_bits % 8 != 0 || tensor.type_bits > 64)
    throw std::invalid_argument("elements of " + std::to_string(tensor.type_bits * tensor.type_lanes) +
                                " bits cannot be read");
  array_view view{.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset,
                  .shape = {tensor.shape, tensor.shape + tensor.ndim},
                  .bytes = tensor.type_bits / 8u,
                  .writable = true,
                  .owner = std::make_shared<py::capsule>(capsule)};
  view.strides = tensor.strides == nullptr ? c_strides(view.shape)
                                           : std::vector<std::ptrdiff_t>{tensor.strides, tensor.strides + tensor.ndim};
  for (std::ptrdiff_t& stride : view.strides) stride *= static_cast<std::ptrdiff_t>(view.bytes);
  return view;
}

array_view view_of_buffer(const py::buffer& array) {
  auto info = std::make_shared<py::buffer_info>(array.request());
  const char order = info->format.empty() ? '@' : info->format.front();
  const bool little = std::endian::native == std::endian::little;
  array_view view{.data = static_cast<std::byte*>(info->ptr),
                  .shape = {info->shape.begin(), info->shape.end()},
                  .strides = {info->strides.begin(), info->strides.end()},
                  .bytes = static_cast<std::size_t>(info->itemsize),
                  .writable = !info->readonly};
  view.swapped = view.bytes > 1 && (little ? order == '>' || order == '!' : order == '<');
  view.owner = std::move(info);
  return view;
}

// Calls visit(place, stride, count) for the elements begin..begin+count in order, those of a row at a time.
template <class Visit>
void for_rows(const array_view& view, std::size_t begin, std::size_t count, Visit visit) {
  const std::size_t last = view.shape.size() - 1;
  std::vector<std::ptrdiff_t> at(view.shape.size());
  std::byte* place = view.data;
  for (std::size_t d = last + 1, rest = begin; d-- > 0;) {
    const auto size = static_cast<std::size_t>(view.shape[d]);
    at[d] = static_cast<std::ptrdiff_t>(rest % size);
    place += at[d] * view.strides[d];
    rest /= size;
  }
  while (count > 0) {
    const std::size_t row = std::min(count, static_cast<std::size_t>(view.shape[last] - at[last]));
    visit(place, view.strides[last], row);
    count -= row;
    if (count == 0) return;
    place -= at[last] * view.strides[last];
    at[last] = 0;
    for (std::size_t d = last; d-- > 0;) {
      place += view.strides[d];
      if (++at[d] < view.shape[d]) break;
      place -= at[d] * view.strides[d];
      at[d] = 0;
    }
  }
}

template <class Word>
Word with_bytes_swapped(Word x) noexcept {
  if constexpr (sizeof(Word) == 2) return __builtin_bswap16(x);
  if constexpr (sizeof(Word) == 4) return __builtin_bswap32(x);
  if constexpr (sizeof(Word) == 8) return __builtin_bswap64(x);
  return x;
}

// Calls work(Word{}) with the unsigned integer of an element's size.
template <class Work>
void with_word(std::size_t bytes, Work work) {
  switch (bytes) {
    case 1: return work(std::uint8_t{});
    case 2: return work(std::uint16_t{});
    case 4: return work(std::uint32_t{});
    default: return work(std::uint64_t{});
  }
}

}  // namespace

std::size_t array_view::size() const noexcept {
  std::size_t n = 1;
  for (const std::ptrdiff_t d : shape) n *= static_cast<std::size_t>(d);
  return n;
}

std::pair<const std::byte*, const std::byte*> array_view::extent() const noexcept {
  if (size() == 0) return {data, data};
  const std::byte* low = data;
  const std::byte* high = data + bytes;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::ptrdiff_t reach = (shape[d] - 1) * strides[d];
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}

bool array_view::is_span() const noexcept {
  if (swapped || reinterpret_cast<std::uintptr_t>(data) % bytes != 0) return false;
  auto expected = static_cast<std::ptrdiff_t>(bytes);
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1 && strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

array_view view_of(const py::object& array) {
  if (PyObject_CheckBuffer(array.ptr()) != 0) return view_of_buffer(py::reinterpret_borrow<py::buffer>(array));
  return view_of_capsule(array.attr("__dlpack__")());
}

bool same_elements(const array_view& a, const array_view& b) noexcept {
  return a.data == b.data && a.bytes == b.bytes && a.shape == b.shape && a.strides == b.strides;
}

bool may_overlap(const array_view& a, const array_view& b) noexcept {
  const auto [a_low, a_high] = a.extent();
  const auto [b_low, b_high] = b.extent();
  return a_low < b_high && b_low < a_high;
}

bool may_overlap_itself(const array_view& a) {
  if (a.size() == 0) return false;
  std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>> steps;  // and how many
  for (std::size_t d = 0; d < a.shape.size(); ++d)
    if (a.shape[d] > 1) steps.emplace_back(std::abs(a.strides[d]), a.shape[d]);
  std::ranges::sort(steps);
  auto reach = static_cast<std::ptrdiff_t>(a.bytes);
  for (const auto& [stride, size] : steps) {
    if (stride < reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

array_view broadcast(array_view view, const std::vector<std::ptrdiff_t>& shape) {
  const std::size_t missing = shape.size() - view.shape.size();
  std::vector<std::ptrdiff_t> strides(shape.size(), 0);
  for (std::size_t d = 0; d < view.shape.size(); ++d)
    if (view.shape[d] == shape[missing + d]) strides[missing + d] = view.strides[d];
  view.shape = shape;
  view.strides = std::move(strides);
  return view;
}

void flatten(std::span<array_view* const> views, bool in_any_order) {
  const array_view first = *views.front();
  std::vector<std::size_t> order;  // of the dimensions that matter
  for (std::size_t d = 0; d < first.shape.size(); ++d)
    if (first.shape[d] != 1) order.push_back(d);
  if (in_any_order)
    std::ranges::stable_sort(order,
                             [&](auto a, auto b) { return std::abs(first.strides[a]) > std::abs(first.strides[b]); });
  for (array_view* view : views) {
    array_view flat = *view;
    flat.shape.clear();
    flat.strides.clear();
    for (const std::size_t d : order) {
      const bool backwards = in_any_order && first.strides[d] < 0;
      if (backwards && first.shape[d] > 0) flat.data += (first.shape[d] - 1) * view->strides[d];
      flat.shape.push_back(view->shape[d]);
      flat.strides.push_back(backwards ? -view->strides[d] : view->strides[d]);
    }
    *view = std::move(flat);
  }
  // Two dimensions are one where a step of the outer is a row of the inner, in every view.
  for (std::size_t d = views.front()->shape.size(); d-- > 1;) {
    const bool joined = std::ranges::all_of(
        views, [d](const array_view* v) { return v->strides[d - 1] == v->strides[d] * v->shape[d]; });
    if (!joined) continue;
    for (array_view* view : views) {
      const auto at = static_cast<std::ptrdiff_t>(d);
      view->shape[d - 1] *= view->shape[d];
      view->strides[d - 1] = view->strides[d];
      view->shape.erase(view->shape.begin() + at);
      view->strides.erase(view->strides.begin() + at);
    }
  }
  for (array_view* view : views) {
    if (!view->shape.empty()) continue;
    view->shape = {1};
    view->strides = {static_cast<std::ptrdiff_t>(view->bytes)};
  }
}

void gather(const array_view& from, std::size_t begin, std::size_t count, void* to) {
  with_word(from.bytes, [&]<class Word>(Word) {
    auto* out = static_cast<Word*>(to);
    for_rows(from, begin, count, [&](const std::byte* place, std::ptrdiff_t stride, std::size_t n) {
      if (stride == sizeof(Word)) {
        std::memcpy(out, place, n * sizeof(Word));
      } else {
        for (std::size_t i = 0; i < n; ++i, place += stride) std::memcpy(out + i, place, sizeof(Word));
      }
      if (from.swapped) std::transform(out, out + n, out, with_bytes_swapped<Word>);
      out += n;
    });
  });
}

void scatter(const array_view& to, std::size_t begin, std::size_t count, const void* from) {
  with_word(to.bytes, [&]<class Word>(Word) {
    const auto* in = static_cast<const Word*>(from);
    for_rows(to, begin, count, [&](std::byte* place, std::ptrdiff_t stride, std::size_t n) {
      if (stride == sizeof(Word) && !to.swapped) {
        std::memcpy(place, in, n * sizeof(Word));
      } else {
        for (std::size_t i = 0; i < n; ++i, place += stride) {
          const Word x = to.swapped ? with_bytes_swapped(in[i]) : in[i];
          std::memcpy(place, &x, sizeof x);
        }
      }
      in += n;
    });
  });
}

}  // namespace ulp::python
