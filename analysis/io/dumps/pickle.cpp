// Opcodes: Lib/pickletools.py of CPython, protocol 2; of plain pickles those to protocol 5 that pickle.dumps writes. What torch.save writes of tensors: torch/_tensor.py (_reduce_ex_internal),
// torch/nn/parameter.py (Parameter.__reduce_ex__), torch/serialization.py (persistent_id), torch/_utils.py (_rebuild_*).
// A storage in a plain pickle: torch/storage.py (TypedStorage.__reduce__), torch/serialization.py (_legacy_save).
#include "pickle.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "bytes/within.hpp"

namespace ulp::io {
namespace {

// A tensor in a dict takes about 25.
constexpr std::size_t most_values = std::size_t{1} << 22;
constexpr std::size_t most_pickle_levels = 100;
constexpr std::size_t longest_name = 1024;
constexpr std::size_t longest_key = 64;  // of a storage: they are numbered
// Of all tensors together, also of those that are found several times: sizes and strides, bytes of names.
constexpr std::size_t most_sizes = std::size_t{1} << 21;
constexpr std::size_t most_name_bytes = std::size_t{1} << 25;
constexpr std::size_t most_pickled_dimensions = 64;

// Types of PyTorch's whose values are not read.
constexpr std::array passed_by{
    torch_type{"float8_e8m0fnu", 1},
    torch_type{"float4_e2m1fn_x2", 1},
    torch_type{"int64", 8, "LongStorage"},
    torch_type{"int32", 4, "IntStorage"},
    torch_type{"int16", 2, "ShortStorage"},
    torch_type{"int8", 1, "CharStorage"},
    torch_type{"uint64", 8},
    torch_type{"uint32", 4},
    torch_type{"uint16", 2},
    torch_type{"uint8", 1, "ByteStorage"},
    torch_type{"bool", 1, "BoolStorage"},
    torch_type{"complex32", 4},
    torch_type{"complex64", 8, "ComplexFloatStorage"},
    torch_type{"complex128", 16, "ComplexDoubleStorage"},
};
constexpr auto pickle_types = [] {
  std::array<torch_type, element_types.size() - 1 + passed_by.size()> all{};
  const auto of = [](const element_type& t) { return torch_type{t.name, t.bytes, t.torch_storage, t.type}; };
  std::ranges::copy(passed_by, std::transform(element_types.begin() + 1, element_types.end(), all.begin(), of));
  return all;
}();

const torch_type* torch_type_called(std::string_view name) {
  const auto found = std::ranges::find(pickle_types, name, &torch_type::name);
  return found == pickle_types.end() ? nullptr : &*found;
}

enum class kind : std::uint8_t {
  nothing,  // not even None
  none,
  boolean,
  integer,
  other_number,  // a float, or an integer beyond 64 bits
  text,
  bytes,
  sequence,  // a list or a tuple
  dictionary,
  tensor,
  storage,
  type,             // a torch_type, by its index
  typed_storage,    // a class of storages of that type
  untyped_storage,  // the class of storages of bytes
  // Callables.
  ordered_dict,
  counter,  // a dict of counts
  set,
  size,
  rebuild_tensor,
  rebuild_typed_tensor,
  rebuild_parameter,
  rebuild_with_state,  // a parameter with attributes
  rebuild_from_type,   // a tensor with attributes
  tensor_class,
  load_storage,  // of a plain pickle
  encode,        // protocol 2 has bytes as a text of characters below 256
  bytes_io_class,
  decoded,   // what encode makes
  bytes_io,  // by its index
  // A name that is not known, and what it makes: by the index of the name.
  other_object,
};

struct value {
  kind what = kind::nothing;
  std::int64_t number = 0;  // or an index
};

struct storage {
  std::string_view key;
  const torch_type* type;  // nullptr: bytes
  std::uint64_t numel;
  std::uint64_t inside = 0;  // of a plain pickle: where its values begin
};

std::optional<value> global_called(std::string_view module, std::string_view name) {
  if (module == "collections" && name == "OrderedDict") return value{kind::ordered_dict};
  if (module == "collections" && name == "Counter") return value{kind::counter};
  // Protocol 2 calls them by their names of Python 2.
  if (module == "__builtin__" && (name == "set" || name == "frozenset")) return value{kind::set};
  if (module == "torch._utils") {
    if (name == "_rebuild_tensor_v2") return value{kind::rebuild_tensor};
    if (name == "_rebuild_tensor_v3") return value{kind::rebuild_typed_tensor};
    if (name == "_rebuild_parameter") return value{kind::rebuild_parameter};
    if (name == "_rebuild_parameter_with_state") return value{kind::rebuild_with_state};
  }
  if (module == "torch._tensor" && name == "_rebuild_from_type_v2") return value{kind::rebuild_from_type};
  if (module == "torch.nn.parameter" && (name == "Parameter" || name == "Buffer")) return value{kind::tensor_class};
  if (module == "torch.storage" && name == "UntypedStorage") return value{kind::untyped_storage};
  if (module != "torch") return std::nullopt;
  if (name == "Size") return value{kind::size};
  if (name == "Tensor") return value{kind::tensor_class};
  if (name == "UntypedStorage") return value{kind::untyped_storage};
  const auto index_of = [](const torch_type* type) { return static_cast<std::int64_t>(type - pickle_types.data()); };
  const auto of_storage =
      name.empty() ? pickle_types.end() : std::ranges::find(pickle_types, name, &torch_type::storage);
  if (of_storage != pickle_types.end()) return value{kind::typed_storage, index_of(&*of_storage)};
  if (const torch_type* const type = torch_type_called(name)) return value{kind::type, index_of(type)};
  return std::nullopt;
}

class machine {
 public:
  machine(byte_span bytes, const std::string& file, const std::string& what, const read_limits& limits,
          std::vector<pickled_object>* objects, bool plain = false)
      : bytes_(bytes),
        file_(file),
        what_(what),
        limits_(limits),
        in_(file, what, 0, bytes),
        objects_(objects),
        plain_(plain) {}

  std::vector<pickled_tensor> run() {
    collect(next(), 0);
    return std::move(found_);
  }

  // Of a file of torch.save from before version 1.6 that has nothing but a storage.
  storage run_storage() {
    for (int i = 0; i < 3; ++i) next();  // a magic number, the version, sizes of types
    const value saved = next();
    if (saved.what != kind::storage) fail("has something other than a storage where it has a storage's values");
    next();  // its key
    storage made = storages_[static_cast<std::size_t>(saved.number)];
    const auto size = made.type == nullptr ? std::nullopt : checked_mul(made.numel, made.type->size);
    if (!size) fail("has a storage without a type, or of more bytes than 64 bits can count");
    if (in_.little_endian<std::uint64_t>() != made.numel) in_.fail("has another number of values than its storage");
    made.inside = in_.offset();
    in_.skip(*size);
    return made;
  }

 private:
  using items = std::vector<value>;

  value next() {
    do at_ = in_.offset();
    while (step());
    memo_.clear();
    return pop();
  }

  // Of the opcode.
  [[noreturn]] void fail(const std::string& reason) const { cursor(file_, what_, at_, {}).fail(reason); }

  void push(value v) {
    if (++pushed_ > most_values) fail("makes more than the 4 million objects that are read");
    stack_.push_back(v);
  }
  value pop() {
    const std::size_t least = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= least) fail("needs an object that is not there");
    const value top = stack_.back();
    stack_.pop_back();
    return top;
  }
  items pop(std::size_t count) {
    const std::size_t least = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() - least < count) fail("needs an object that is not there");
    items popped(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return popped;
  }
  items pop_to_mark() {
    if (marks_.empty()) fail("needs a mark that is not there");
    items popped = pop(stack_.size() - marks_.back());
    marks_.pop_back();
    return popped;
  }
  items& contents(value container) { return containers_[static_cast<std::size_t>(container.number)]; }
  value make(kind what, items of = {}) {
    containers_.push_back(std::move(of));
    return {what, static_cast<std::int64_t>(containers_.size() - 1)};
  }

  std::string_view text_of(value v) const {
    const auto packed = static_cast<std::uint64_t>(v.number);
    return {reinterpret_cast<const char*>(bytes_.data()) + (packed >> 32), packed & 0xFFFFFFFF};
  }
  value take_text(std::size_t length, kind what = kind::text) {
    const std::uint64_t offset = in_.offset();
    in_.skip(length);
    return {what, static_cast<std::int64_t>(offset << 32 | length)};
  }
  std::string take_line() {
    constexpr std::size_t longest = 200;
    std::string line;
    for (char c = 0; (c = in_.text(1)[0]) != '\n'; line += c)
      if (line.size() == longest) fail("has a name of more than 200 characters");
    return line;
  }
  // Two's complement, low byte first.
  value take_integer(std::size_t size) {
    const byte_span digits = in_.take(size);
    if (size > 8) return {kind::other_number};
    std::uint64_t number = size > 0 && digits.back() >= 0x80 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = size; i-- > 0;) number = number << 8 | digits[i];
    return {kind::integer, static_cast<std::int64_t>(number)};
  }

  void remember(std::uint32_t slot) {
    const value top = pop();
    stack_.push_back(top);
    if (slot >= most_values) fail("remembers more than the 4 million objects that are read");
    if (slot >= memo_.size()) memo_.resize(slot + std::size_t{1});
    memo_[slot] = top;
  }
  void recall(std::uint32_t slot) {
    if (slot >= memo_.size() || memo_[slot].what == kind::nothing)
      fail("recalls object " + std::to_string(slot) + ", which was not remembered");
    push(memo_[slot]);
  }

  void append(const items& added) {
    const value list = pop();
    if (list.what != kind::sequence && list.what != kind::other_object) fail("appends to something that is not a list");
    if (list.what == kind::sequence) contents(list).insert(contents(list).end(), added.begin(), added.end());
    stack_.push_back(list);
  }
  void set(const items& added) {
    const value dictionary = pop();
    if (dictionary.what != kind::dictionary && dictionary.what != kind::other_object)
      fail("sets items of something that is not a dict");
    if (added.size() % 2 != 0) fail("sets a key without a value");
    if (dictionary.what == kind::dictionary)
      contents(dictionary).insert(contents(dictionary).end(), added.begin(), added.end());
    stack_.push_back(dictionary);
  }

  // False after the last one.
  bool step() {
    constexpr std::uint8_t proto = 0x80;
    const auto opcode = in_.little_endian<std::uint8_t>();
    switch (opcode) {
      case proto:
        if (const auto version = in_.little_endian<std::uint8_t>(); version != 2 && !(plain_ && version <= 5))
          fail("asks for pickle protocol " + std::to_string(version) + "; torch.save writes 2 by default");
        break;
      case '.': return false;
      case 'N': push({kind::none}); break;
      case 0x88: push({kind::boolean, 1}); break;
      case 0x89: push({kind::boolean, 0}); break;
      case 'J': push(take_integer(4)); break;
      case 'K': push({kind::integer, in_.little_endian<std::uint8_t>()}); break;
      case 'M': push({kind::integer, in_.little_endian<std::uint16_t>()}); break;
      case 0x8A: push(take_integer(in_.little_endian<std::uint8_t>())); break;
      case 'G':
        in_.skip(8);
        push({kind::other_number});
        break;
      case 'X': push(take_text(in_.little_endian<std::uint32_t>())); break;
      case '}': push(make(kind::dictionary)); break;
      case ']':
      case ')': push(make(kind::sequence)); break;
      case '(':
        if (marks_.size() == most_values) fail("is an extra mark");
        marks_.push_back(stack_.size());
        break;
      case 't': push(make(kind::sequence, pop_to_mark())); break;
      case 0x85: push(make(kind::sequence, pop(1))); break;
      case 0x86: push(make(kind::sequence, pop(2))); break;
      case 0x87: push(make(kind::sequence, pop(3))); break;
      case 'a': append(pop(1)); break;
      case 'e': append(pop_to_mark()); break;
      case 's': set(pop(2)); break;
      case 'u': set(pop_to_mark()); break;
      case 'q': remember(in_.little_endian<std::uint8_t>()); break;
      case 'r': remember(in_.little_endian<std::uint32_t>()); break;
      case 'h': recall(in_.little_endian<std::uint8_t>()); break;
      case 'j': recall(in_.little_endian<std::uint32_t>()); break;
      case 'c': global(); break;
      case 'Q': push(persistent(pop())); break;
      case 'R': reduce(); break;
      case 'b': build(); break;
      case 0x81:  // makes an object of a class
        if (objects_ != nullptr) {
          reduce();
          break;
        }
        [[fallthrough]];
      default: {
        if (plain_ && step_of_plain(opcode)) break;
        constexpr std::string_view hex = "0123456789ABCDEF";
        fail(std::string("the opcode 0x") + hex[opcode >> 4] + hex[opcode & 15] +
             " does not belong to saved tensors in dicts, lists and tuples; only such files are read");
      }
    }
    return true;
  }

  // Opcodes after protocol 2; false for another.
  bool step_of_plain(std::uint8_t opcode) {
    switch (opcode) {
      case 0x95: in_.skip(8); return true;  // how long a frame is
      case 0x8C: push(take_text(in_.little_endian<std::uint8_t>())); return true;
      case 'C': push(take_text(in_.little_endian<std::uint8_t>(), kind::bytes)); return true;
      case 'B': push(take_text(in_.little_endian<std::uint32_t>(), kind::bytes)); return true;
      case 0x94: remember(static_cast<std::uint32_t>(memo_.size())); return true;
      case 0x8F: push(make(kind::sequence)); return true;
      case 0x90: append(pop_to_mark()); return true;
      case 0x91: push(make(kind::sequence, pop_to_mark())); return true;
      case 0x93: {
        const value name = pop();
        const value module = pop();
        if (name.what != kind::text || module.what != kind::text) fail("has a name that is no text");
        named(std::string(text_of(module)), std::string(text_of(name)));
        return true;
      }
      default: return false;
    }
  }

  void global() {
    const std::string module = take_line();
    named(module, take_line());
  }
  void named(const std::string& module, const std::string& name) {
    if (plain_ && module == "torch.storage" && name == "_load_from_bytes") return push({kind::load_storage});
    if (objects_ != nullptr && module == "_codecs" && name == "encode") return push({kind::encode});
    if (objects_ != nullptr && module == "_io" && name == "BytesIO") return push({kind::bytes_io_class});
    const auto known = global_called(module, name);
    if (!known && objects_ != nullptr) return push(other_object(module + "." + name));
    if (!known)
      fail("names " + in_quotes(module + "." + name) +
           "; only tensors in dicts, lists and tuples are read: save those alone");
    push(*known);
  }

  value other_object(std::string name) {
    others_.push_back(std::move(name));
    return {kind::other_object, static_cast<std::int64_t>(others_.size() - 1)};
  }

  // ('storage', class, key, location, numel), and once a view, which was always None.
  value persistent(value id) {
    const items parts = id.what == kind::sequence ? contents(id) : items{};
    const bool right = (parts.size() == 5 || (parts.size() == 6 && parts[5].what == kind::none)) &&
                       parts[0].what == kind::text && text_of(parts[0]) == "storage" &&
                       (parts[1].what == kind::typed_storage || parts[1].what == kind::untyped_storage) &&
                       parts[2].what == kind::text && text_of(parts[2]).size() <= longest_key &&
                       parts[3].what == kind::text && parts[4].what == kind::integer && parts[4].number >= 0;
    if (!right) fail("refers to something that is not a storage");
    const bool typed = parts[1].what == kind::typed_storage;
    storages_.push_back({.key = text_of(parts[2]),
                         .type = typed ? &pickle_types[static_cast<std::size_t>(parts[1].number)] : nullptr,
                         .numel = static_cast<std::uint64_t>(parts[4].number)});
    return {kind::storage, static_cast<std::int64_t>(storages_.size() - 1)};
  }

  void reduce() {
    const value arguments = pop();
    const value callable = pop();
    push(call(callable, arguments));
  }
  value call(value callable, value arguments) {
    if (callable.what == kind::other_object) return callable;
    if (arguments.what != kind::sequence) fail("calls a function with arguments that are not a tuple");
    const items given = contents(arguments);
    const auto only = [&](kind what) { return given.size() == 1 && given[0].what == what; };
    switch (callable.what) {
      case kind::ordered_dict:
        if (!given.empty()) fail("makes an OrderedDict from something");
        return make(kind::dictionary);
      case kind::counter:
        if (!only(kind::dictionary)) fail("makes a Counter from something that is not a dict");
        return given[0];
      case kind::set:
        if (!only(kind::sequence)) fail("makes a set from something that is not a list");
        return given[0];
      case kind::size:
        if (!only(kind::sequence)) fail("makes a torch.Size from something that is not a tuple");
        return given[0];
      case kind::rebuild_parameter:
      case kind::rebuild_with_state: {
        const std::size_t count = callable.what == kind::rebuild_parameter ? 3 : 4;
        if (given.size() != count || given[0].what != kind::tensor)
          fail("makes a Parameter from something that is not a tensor");
        return given[0];
      }
      case kind::rebuild_tensor:
      case kind::rebuild_typed_tensor: return tensor(given, callable.what == kind::rebuild_typed_tensor);
      case kind::rebuild_from_type: return with_attributes(given);
      case kind::encode: return decoded(given);
      case kind::bytes_io_class:
        if (!given.empty()) fail("makes an io.BytesIO from something");
        bytes_ios_.emplace_back();
        return {kind::bytes_io, static_cast<std::int64_t>(bytes_ios_.size() - 1)};
      case kind::load_storage: {
        if (!only(kind::bytes)) fail("makes a storage from something that is not bytes");
        const std::string_view saved = text_of(given[0]);
        const auto offset = static_cast<std::uint64_t>(given[0].number) >> 32;
        storage made = machine(bytes_.subspan(offset, saved.size()), file_, what_, limits_, nullptr).run_storage();
        made.inside += offset;
        storages_.push_back(made);
        return {kind::storage, static_cast<std::int64_t>(storages_.size() - 1)};
      }
      default: fail("calls an unknown function");
    }
  }

  // (text, 'latin1')
  value decoded(const items& given) {
    const bool right = given.size() == 2 && given[0].what == kind::text && given[1].what == kind::text &&
                       text_of(given[1]) == "latin1";
    if (!right) fail("encodes something other than a text as latin1");
    const std::string_view text = text_of(given[0]);
    decoded_bytes_ += text.size();
    if (decoded_bytes_ > bytes_.size()) fail("encodes one text several times");
    std::vector<std::uint8_t>& made = decoded_.emplace_back();
    made.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto first = static_cast<std::uint8_t>(text[i]);
      if (first < 0x80) {
        made.push_back(first);
        continue;
      }
      const auto second = i + 1 < text.size() ? static_cast<std::uint8_t>(text[++i]) : std::uint8_t{0};
      if ((first != 0xC2 && first != 0xC3) || (second & 0xC0) != 0x80) fail("encodes a text that is not latin1");
      made.push_back(static_cast<std::uint8_t>((first & 3) << 6 | (second & 0x3F)));
    }
    return {kind::decoded, static_cast<std::int64_t>(decoded_.size() - 1)};
  }

  // (function, class, its arguments, attributes)
  value with_attributes(const items& given) {
    if (given.size() == 4 && given[1].what == kind::other_object) return given[1];
    const bool right = given.size() == 4 && given[1].what == kind::tensor_class &&
                       (given[0].what == kind::rebuild_tensor || given[0].what == kind::rebuild_typed_tensor);
    if (!right) fail("makes a tensor with attributes from something other than a tensor and its class");
    return call(given[0], given[2]);
  }

  // (storage, offset, size, stride, requires_grad, hooks[, type][, metadata])
  value tensor(const items& given, bool typed) {
    const std::size_t least = typed ? 7 : 6;
    const bool right = (given.size() == least || given.size() == least + 1) && given[0].what == kind::storage &&
                       (!typed || given[6].what == kind::type);
    if (!right) fail("makes a tensor from something other than a storage, an offset, a size and a stride");
    if (given.size() > least && given.back().what != kind::none)
      fail("makes a tensor with a pending conjugation or negation; save it with resolve_neg()");
    const storage& from = storages_[static_cast<std::size_t>(given[0].number)];
    pickled_tensor made;
    made.type = typed ? &pickle_types[static_cast<std::size_t>(given[6].number)] : from.type;
    if (made.type == nullptr) fail("makes a tensor of an untyped storage without a type");
    made.storage = from.key;
    made.inside = from.inside;
    const auto bytes = checked_mul(from.numel, from.type == nullptr ? 1 : from.type->size);
    if (!bytes) fail("has a storage of more bytes than 64 bits can count");
    made.storage_bytes = *bytes;
    made.offset = count_of(given[1]);
    made.shape = counts_of(given[2]);
    made.strides = counts_of(given[3]);
    if (made.shape.size() != made.strides.size()) fail("makes a tensor with more sizes than strides, or fewer");
    check_count(tensors_.size() + 1, limits_, file_, what_, "tensors");
    sizes_ += made.shape.size();
    if (sizes_ > most_sizes) fail("makes tensors of more than the 2 million dimensions that are read");
    tensors_.push_back(std::move(made));
    return {kind::tensor, static_cast<std::int64_t>(tensors_.size() - 1)};
  }
  std::uint64_t count_of(value v) const {
    if (v.what != kind::integer || v.number < 0)
      fail("has an offset, a size or a stride that is not a number from 0 to 2^63 - 1");
    return static_cast<std::uint64_t>(v.number);
  }
  std::vector<std::uint64_t> counts_of(value v) {
    if (v.what != kind::sequence) fail("has a size or a stride that is not a tuple");
    const items& parts = contents(v);
    if (parts.size() > most_pickled_dimensions) fail("makes a tensor of more than 64 dimensions");
    std::vector<std::uint64_t> counts;
    for (const value part : parts) counts.push_back(count_of(part));
    return counts;
  }

  // Attributes of a dict: state_dict() keeps versions there. What an io.BytesIO holds, with its position.
  void build() {
    const value state = pop();
    const value object = pop();
    if (object.what == kind::bytes_io) {
      const items parts = state.what == kind::sequence ? contents(state) : items{};
      if (parts.empty() || parts[0].what != kind::decoded) fail("fills an io.BytesIO with something that is not bytes");
      bytes_ios_[static_cast<std::size_t>(object.number)] = static_cast<std::size_t>(parts[0].number);
      return stack_.push_back(object);
    }
    if (object.what != kind::dictionary && object.what != kind::other_object)
      fail("sets attributes of something that is not a dict");
    stack_.push_back(object);
  }

  // The tensors of a value; `name_` says on which way they were found.
  void collect(value v, std::size_t depth) {
    if (depth > most_pickle_levels) in_.fail("is nested deeper than 100 levels");
    if (v.what == kind::tensor) return found(tensors_[static_cast<std::size_t>(v.number)]);
    if (v.what == kind::other_object) return found(others_[static_cast<std::size_t>(v.number)]);
    if (v.what == kind::bytes_io) return found_bytes(bytes_ios_[static_cast<std::size_t>(v.number)]);
    const bool by_key = v.what == kind::dictionary;
    if (!by_key && v.what != kind::sequence) return;
    const items& parts = contents(v);
    visited_ += parts.size() + 1;
    if (visited_ > most_values) in_.fail("has more than 4 million objects in it");
    const std::size_t length = name_.size();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const value key = by_key ? parts[i++] : value{kind::integer, static_cast<std::int64_t>(i)};
      if (is_leaf(parts[i])) continue;
      if (depth > 0) name_ += '.';
      name_ += key_text(key);
      if (name_.size() > longest_name) in_.fail("has a tensor whose name is longer than 1024 bytes");
      collect(parts[i], depth + 1);
      name_.resize(length);
    }
  }
  void found(const pickled_tensor& tensor) {
    check_count(found_.size() + 1, limits_, file_, what_, "tensors");
    found_sizes_ += tensor.shape.size();
    name_bytes_ += name_.size();
    if (found_sizes_ > most_sizes || name_bytes_ > most_name_bytes)
      in_.fail("has tensors with more dimensions, or longer names, than are read in one file");
    found_.push_back(tensor);
    found_.back().name = name_;
  }
  void found(const std::string& made_by) {
    name_bytes_ += name_.size() + made_by.size();
    if (name_bytes_ > most_name_bytes) in_.fail("has objects with longer names than are read in one file");
    objects_->push_back({.name = name_, .made_by = made_by});
  }
  void found_bytes(const std::optional<std::size_t>& held) {
    found("_io.BytesIO");
    if (!held) return;
    found_bytes_ += decoded_[*held].size();
    if (found_bytes_ > bytes_.size()) in_.fail("has one io.BytesIO in several places");
    objects_->back().bytes = decoded_[*held];
  }
  static bool is_leaf(value v) {
    return v.what != kind::bytes_io && v.what != kind::tensor && v.what != kind::dictionary &&
           v.what != kind::sequence && v.what != kind::other_object;
  }
  std::string key_text(value key) const {
    if (key.what == kind::text) return std::string(text_of(key).substr(0, longest_name + 1));
    if (key.what == kind::integer) return std::to_string(key.number);
    if (objects_ != nullptr) return "?";
    in_.fail("has a dict whose key is neither text nor an integer");
  }

  byte_span bytes_;
  const std::string& file_;
  const std::string& what_;
  const read_limits& limits_;
  cursor in_;
  std::uint64_t at_ = 0;  // where the opcode stands
  std::size_t pushed_ = 0;
  std::vector<value> stack_;
  std::vector<std::size_t> marks_;  // heights of the stack
  std::vector<value> memo_;
  std::vector<items> containers_;  // of a dict keys and values in turn
  std::vector<storage> storages_;
  std::vector<pickled_tensor> tensors_;
  std::vector<std::string> others_;
  std::vector<std::vector<std::uint8_t>> decoded_;
  std::size_t decoded_bytes_ = 0;
  std::vector<std::optional<std::size_t>> bytes_ios_;  // of decoded_
  std::size_t found_bytes_ = 0;
  std::vector<pickled_object>* objects_;
  bool plain_;
  std::size_t sizes_ = 0;  // of tensors_
  std::string name_;
  std::size_t visited_ = 0;
  std::vector<pickled_tensor> found_;
  std::size_t found_sizes_ = 0;  // of found_
  std::size_t name_bytes_ = 0;
};

}  // namespace

std::vector<pickled_tensor> read_pickle(byte_span bytes, const std::string& file, const std::string& what,
                                        const read_limits& limits, std::vector<pickled_object>* objects) {
  return machine(bytes, file, what, limits, objects).run();
}

std::vector<pickled_tensor> read_plain_pickle(byte_span bytes, const std::string& file, const std::string& what,
                                              const read_limits& limits) {
  std::vector<pickled_object> passed_by;
  return machine(bytes, file, what, limits, &passed_by, /*plain=*/true).run();
}

}  // namespace ulp::io
