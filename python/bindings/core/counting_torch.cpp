// What the recorder sees of torch's tensors and modules in each step, without torch: through what Python sees of them.
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "counting.hpp"
#include "dlpack.hpp"

namespace py = pybind11;

namespace ulp::python {
namespace {

py::object read(py::handle of, const py::str& attribute) {
  PyObject* const result = PyObject_GetAttr(of.ptr(), attribute.ptr());
  if (result == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

py::object called(py::handle of, const py::str& method) {
  PyObject* const result = PyObject_CallMethodNoArgs(of.ptr(), method.ptr());
  if (result == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

// Whether the elements of an array fill its memory, in whatever order.
bool is_dense(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // and how many
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return true;
    if (shape[d] > 1) steps.emplace_back(strides[d], shape[d]);
  }
  std::ranges::sort(steps);
  std::int64_t next = 1;
  for (const auto& [stride, n] : steps) {
    if (stride != next) return false;
    next *= n;
  }
  return true;
}

// As a recording numbers it; 0 for others, and of other devices than the host and CUDA's.
int number_of(const dl_tensor& of) {
  if (of.type_lanes != 1 || (of.device_type != dl_cpu && of.device_type != dl_cuda)) return 0;
  struct known {
    int code, bits;
    dtype type;
  };
  // DLDataTypeCode: kDLFloat, kDLBfloat, and one for each type of 8 bits.
  static constexpr known types[] = {{2, 64, dtype::float64},         {2, 32, dtype::float32},
                                    {2, 16, dtype::float16},         {4, 16, dtype::bfloat16},
                                    {10, 8, dtype::float8_e4m3fn},   {12, 8, dtype::float8_e5m2},
                                    {11, 8, dtype::float8_e4m3fnuz}, {13, 8, dtype::float8_e5m2fnuz}};
  for (const known& k : types)
    if (k.code == of.type_code && k.bits == of.type_bits) return static_cast<int>(k.type);
  return 0;
}

// torch's, from 2.10 on; null where it has none of a version that is known here.
const dl_exchange* exchange_of(const py::object& tensor) {
  const py::object capsule = py::getattr(tensor, "__dlpack_c_exchange_api__", py::none());
  if (!PyCapsule_IsValid(capsule.ptr(), dl_exchange_name)) return nullptr;
  const auto* at = static_cast<const dl_exchange_header*>(PyCapsule_GetPointer(capsule.ptr(), dl_exchange_name));
  while (at != nullptr && at->major > 1) at = at->previous;
  if (at == nullptr || at->major != 1 || at->minor < 3) return nullptr;
  const auto* const exchange = reinterpret_cast<const dl_exchange*>(at);
  return exchange->view == nullptr ? nullptr : exchange;
}

// The gradients of parameters, and where the values of each are.
struct gradients {
  std::vector<py::object> tensors;  // kept while they are counted; None where a parameter has none
  std::string
      types;  // by parameter: 0 where it has none, 255 where its values are elsewhere or do not fill their memory
  std::vector<std::uint64_t> sizes;
  std::vector<value_array> arrays;  // of the others
  int device = -1;                  // where their values are: the number of CUDA's, -1 for the host

  [[nodiscard]] bool are_plain() const { return types.find('\xff') == std::string::npos; }
  // Device, types and numbers of values: what is alike in most steps.
  [[nodiscard]] py::bytes kinds() const {
    std::string both = types;  // by parameter, first
    both.append(reinterpret_cast<const char*>(sizes.data()), sizes.size() * sizeof(sizes[0]));
    both += std::to_string(device);
    return {both};
  }
  // (address, number of values, type) of each; None in place of others.
  [[nodiscard]] py::list places() const {
    py::list all(types.size());
    auto array = arrays.begin();
    for (std::size_t i = 0; i < types.size(); ++i) {
      const auto number = static_cast<std::uint8_t>(types[i]);
      if (number == 0 || number == 255) {
        all[i] = py::none();
      } else {
        all[i] = py::make_tuple(reinterpret_cast<std::uintptr_t>(array->values), array->size, number);
        ++array;
      }
    }
    return all;
  }
};

class torch_gradients {
 public:
  torch_gradients(py::object tensor, py::object strided, const py::dict& types, bool on_devices)
      : exchange_(exchange_of(tensor)),
        tensor_(std::move(tensor)),
        strided_(std::move(strided)),
        on_devices_(on_devices) {
    for (const auto& [type, number] : types)
      types_.emplace_back(py::reinterpret_borrow<py::object>(type), number.cast<int>());
  }

  // named: pairs of name and parameter.
  [[nodiscard]] gradients operator()(const py::list& named) const {
    gradients all;
    const std::size_t n = named.size();
    all.tensors.reserve(n);
    all.types.reserve(n);
    all.sizes.reserve(n);
    all.arrays.reserve(n);
    for (const py::handle pair : named) {
      py::object gradient = read(py::reinterpret_borrow<py::tuple>(pair)[1], grad_);
      value_array place{.values = nullptr, .size = 0, .type = dtype::unknown};
      const int number = gradient.is_none() ? 0 : see(gradient, place, all);
      all.types.push_back(static_cast<char>(number));
      all.sizes.push_back(place.size);
      if (number != 0 && number != 255) all.arrays.push_back(place);
      all.tensors.push_back(std::move(gradient));
    }
    return all;
  }

 private:
  // The number of its type; 255 where it is no tensor itself, is elsewhere than the first, or where its values do not fill their
  // memory.
  [[nodiscard]] int see(py::handle tensor, value_array& place, gradients& all) const {
    if (!py::type::handle_of(tensor).is(tensor_)) return 255;
    dl_tensor seen{};
    if (exchange_ != nullptr && exchange_->view(tensor.ptr(), &seen) != 0) {
      PyErr_Clear();
      seen = {};
    }
    int number = number_of(seen);
    if (number == 0) number = see_by_name(tensor, seen);
    const std::span shape(seen.shape, number == 0 ? 0 : static_cast<std::size_t>(seen.ndim));
    if (number == 0 || (seen.strides != nullptr && !is_dense(shape, {seen.strides, shape.size()})) ||
        called(tensor, is_neg_).ptr() == Py_True)
      return 255;
    const int device = seen.device_type == dl_cpu ? -1 : seen.device_id;
    if (all.arrays.empty()) all.device = device;
    std::size_t size = 1;
    for (const std::int64_t n : shape) size *= static_cast<std::size_t>(n);
    if (device != all.device || (device >= 0 && (!on_devices_ || size > std::size_t{1} << 31)))
      return 255;  // kernels count in 32 bits
    place = {.values = static_cast<const std::byte*>(seen.data) + seen.byte_offset,
             .size = size,
             .type = static_cast<dtype>(number)};
    return number;
  }

  // The same by what Python sees.
  [[nodiscard]] int see_by_name(py::handle tensor, dl_tensor& seen) const {
    const py::object type = read(tensor, dtype_);
    const auto known = std::ranges::find_if(types_, [&](const auto& of) { return of.first.is(type); });
    const auto is_true = [](const py::object& answer) { return answer.ptr() == Py_True; };
    if (known == types_.end() || !read(tensor, layout_).is(strided_)) return 0;
    const bool on_host = is_true(read(tensor, is_cpu_));
    if (!on_host && !is_true(read(tensor, is_cuda_))) return 0;
    thread_local std::vector<std::int64_t> shape, strides;
    const auto copied = [](const py::object& numbers, std::vector<std::int64_t>& to) {
      to.clear();
      for (const py::handle n : py::reinterpret_borrow<py::tuple>(numbers)) to.push_back(n.cast<std::int64_t>());
    };
    if (is_true(called(tensor, is_contiguous_))) {
      shape = {called(tensor, numel_).cast<std::int64_t>()};
      strides = {1};
    } else {
      copied(read(tensor, shape_), shape);
      copied(called(tensor, stride_), strides);
    }
    seen = {.data = reinterpret_cast<void*>(called(tensor, data_ptr_).cast<std::uintptr_t>()),
            .device_type = on_host ? dl_cpu : dl_cuda,
            .device_id = on_host ? 0 : called(tensor, get_device_).cast<int>(),
            .ndim = static_cast<std::int32_t>(shape.size()),
            .shape = shape.data(),
            .strides = strides.data()};
    return known->second;
  }

  const dl_exchange* exchange_;
  py::object tensor_;
  py::object strided_;
  bool on_devices_;
  std::vector<std::pair<py::object, int>> types_;
  py::str grad_{"grad"};
  py::str dtype_{"dtype"};
  py::str is_cpu_{"is_cpu"};
  py::str is_cuda_{"is_cuda"};
  py::str get_device_{"get_device"};
  py::str layout_{"layout"};
  py::str is_neg_{"is_neg"};
  py::str data_ptr_{"data_ptr"};
  py::str is_contiguous_{"is_contiguous"};
  py::str numel_{"numel"};
  py::str shape_{"shape"};
  py::str stride_{"stride"};
};

// Tells whether a module still has the parameters and modules that it had, under the same names. Who asks keeps its parameters, so
// that no new one has the address of one that is gone; here that would be a cycle that Python does not see.
class module_structure {
 public:
  // Since it was last asked; at first it has.
  bool has_changed(const py::object& model) {
    std::vector<member> now;
    now.reserve(seen_.size());
    std::unordered_set<PyObject*> modules;
    std::vector<py::object> waiting{model};
    while (!waiting.empty()) {
      const py::object module = std::move(waiting.back());
      waiting.pop_back();
      if (module.is_none() || !modules.insert(module.ptr()).second) continue;
      now.push_back({.name = {}, .of = module.ptr()});
      add(now, read(module, parameters_));
      const std::size_t first = now.size();
      add(now, read(module, modules_));
      for (std::size_t i = now.size(); i > first; --i)
        waiting.push_back(py::reinterpret_borrow<py::object>(now[i - 1].of));
    }
    const bool same =
        std::ranges::equal(now, seen_, [](const auto& a, const auto& b) { return a.of == b.of && a.name.is(b.name); });
    if (!same) seen_ = std::move(now);
    return !same;
  }

 private:
  struct member {
    py::object name;
    PyObject* of;
  };
  static void add(std::vector<member>& to, const py::object& members) {
    if (!PyDict_Check(members.ptr())) throw py::type_error("a module's parameters and modules are no dictionary");
    PyObject* name = nullptr;
    PyObject* of = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(members.ptr(), &at, &name, &of) != 0;)
      to.push_back({.name = py::reinterpret_borrow<py::object>(name), .of = of});
  }

  std::vector<member> seen_;
  py::str parameters_{"_parameters"};
  py::str modules_{"_modules"};
};

}  // namespace

void bind_torch(py::module_& counting) {
  py::class_<gradients>(counting, "Taken", "The gradients of parameters, and where their values are.")
      .def("__len__", [](const gradients& of) { return of.types.size(); })
      .def_property_readonly("are_plain", &gradients::are_plain,
                             "Whether the values of all that are there fill their memory, in whatever order.")
      .def_property_readonly("kinds", &gradients::kinds, "Types and numbers of values, to be compared.")
      .def_property_readonly("tensors", [](const gradients& of) { return of.tensors; })
      .def_readonly("device", &gradients::device, "The number of CUDA's device that holds their values; -1: the host.")
      .def_property_readonly(
          "addresses",
          [](const gradients& of) {
            std::string all;
            for (const value_array& array : of.arrays) {
              const auto address = reinterpret_cast<std::uint64_t>(array.values);
              all.append(reinterpret_cast<const char*>(&address), sizeof address);
            }
            return py::bytearray(all);
          },
          "Of the values of those that are plain, 64 bits each.")
      .def(
          "record_stream",
          [](const gradients& of, const py::object& stream) {
            const py::str name("record_stream");
            for (const py::object& tensor : of.tensors) {
              if (tensor.is_none()) continue;
              PyObject* const result = PyObject_CallMethodOneArg(tensor.ptr(), name.ptr(), stream.ptr());
              if (result == nullptr) throw py::error_already_set();
              Py_DECREF(result);
            }
          },
          py::arg("stream"), "Tells torch's allocator that the stream uses their memory.")
      .def("places", &gradients::places,
           "(address, number of values, type) of each, for count; None where there is no gradient, or values are "
           "elsewhere or do not fill their memory.")
      .def(
          "count",
          [](const gradients& of, bool with_sums, int threads) { return counted(of.arrays, with_sums, threads); },
          py::arg("with_sums"), py::arg("threads") = 1, "The tables of those that are plain.");
  py::class_<torch_gradients>(counting, "Gradients", "Takes the gradients of torch's parameters.")
      .def(
          py::init<py::object, py::object, const py::dict&, bool>(), py::arg("tensor"), py::arg("strided"),
          py::arg("types"), py::arg("on_devices") = false,
          "torch.Tensor, torch.strided, the numbers that a recording has for torch's types, and whether CUDA's devices count.")
      .def("__call__", &torch_gradients::operator(), py::arg("named"), "Taken of pairs of name and parameter.");
  py::class_<module_structure>(counting, "Structure", "Tells whether a module has other parameters than before.")
      .def(py::init<>())
      .def("has_changed", &module_structure::has_changed, py::arg("model"));
}

}  // namespace ulp::python
