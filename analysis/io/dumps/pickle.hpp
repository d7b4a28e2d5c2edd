// The pickles that torch.save writes, as plain data. Nothing is executed: opcodes and names are those of tensors in dicts,
// lists and tuples, "calling" a name builds a description here, and every other opcode or name is refused.
#ifndef ULP_IO_DUMPS_PICKLE_HPP
#define ULP_IO_DUMPS_PICKLE_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/io/bytes/limits.hpp>
#include <ulp/model/cells/step.hpp>

#include "bytes/cursor.hpp"

namespace ulp::io {

// A type of PyTorch's.
struct torch_type {
  std::string_view name;        // "float16"
  std::uint64_t size = 0;       // bytes of one value
  std::string_view storage{};   // the class of its storages, "HalfStorage"; empty where it has none of its own
  dtype type = dtype::unknown;  // unknown: not read
};

// A view of a storage, in values of its type. The numbers are as the pickle gives them: nothing is checked but that they
// are not below zero.
struct pickled_tensor {
  std::string name;  // keys and indices on the way to it, joined by "."; empty where the pickle is one tensor
  const torch_type* type = nullptr;
  std::string storage;  // the key of its storage
  std::uint64_t storage_bytes = 0;
  std::uint64_t offset = 0;
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> strides;  // as many
  std::uint64_t inside = 0;            // of read_plain_pickle: where the values of its storage begin among the bytes
};

// An object of another class, of which nothing is made.
struct pickled_object {
  std::string name;     // as that of a tensor
  std::string made_by;  // "transformer_engine.pytorch.tensor.float8_tensor._make_float8_tensor_in_reduce_ex"
  std::vector<std::uint8_t> bytes = {};  // that an io.BytesIO holds
};

// The tensors of a pickle, in its order. Throws input_error, which names the opcode or the name that is refused; where
// `objects` is given, other names and what they make are passed over, with all that is in it, and are found there. Memory
// is a small multiple of the pickle's size, whatever it says.
[[nodiscard]] std::vector<pickled_tensor> read_pickle(byte_span bytes, const std::string& file, const std::string& what,
                                                      const read_limits& limits = {},
                                                      std::vector<pickled_object>* objects = nullptr);

// The same of what pickle.dumps makes of them, without torch.save: newer protocols, and the values of storages, which have
// no key, within. Other objects are passed over.
[[nodiscard]] std::vector<pickled_tensor> read_plain_pickle(byte_span bytes, const std::string& file,
                                                            const std::string& what, const read_limits& limits = {});

}  // namespace ulp::io

#endif
