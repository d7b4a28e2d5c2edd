// PyTorch files: one that PyTorch 1.13 wrote, newer forms byte by byte, and everything that is refused.
#include <cmath>
#include <limits>

#include <ulp/io/inputs/open.hpp>
#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/cells/cell_table.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

// Opcodes of pickle protocol 2.
const std::string start = "\x80\x02";
std::string text(const std::string& s) { return "X" + little(s.size(), 4) + s; }
std::string number(std::uint64_t n) { return n < 256 ? "K" + little(n, 1) : "\x8A\x08" + little(n, 8); }
std::string name(const std::string& module, const std::string& what) { return "c" + module + "\n" + what + "\n"; }
std::string tuple(const std::string& items) { return "(" + items + "t"; }
std::string counts(const std::vector<std::uint64_t>& all) {
  std::string items;
  for (const std::uint64_t n : all) items += number(n);
  return tuple(items);
}
const std::string no_hooks = name("collections", "OrderedDict") + ")R";

std::string storage(const std::string& type, const std::string& key, std::uint64_t numel) {
  return tuple(text("storage") + (type == "UntypedStorage" ? name("torch.storage", type) : name("torch", type)) +
               text(key) + text("cpu") + number(numel)) +
         "Q";
}
std::string tensor(const std::string& from, std::uint64_t offset, const std::vector<std::uint64_t>& shape,
                   const std::vector<std::uint64_t>& strides) {
  return name("torch._utils", "_rebuild_tensor_v2") +
         tuple(from + number(offset) + counts(shape) + counts(strides) + "\x89" + no_hooks) + "R";
}
std::string one_tensor(const std::string& t) { return start + "}" + text("a") + t + "s."; }

std::string file_of(const std::string& pickle, const std::string& values, const std::string& folder = "archive/") {
  return zip({{.name = folder + "data.pkl", .contents = pickle},
              {.name = folder + "data/0", .contents = values},
              {.name = folder + "version", .contents = "3\n"}});
}

const std::vector<float> four{1.0F, -2.5F, 3.0F, 0.0F};
const std::string four_floats = storage("FloatStorage", "0", 4);

cell_table cells(const std::vector<float>& values) { return count_cells(values); }

}  // namespace

TEST_CASE("pt: what PyTorch 1.13 saves") {
  // An OrderedDict of views, types, parameters, nested containers, a module's and an optimizer's state_dict.
  const contents read = read_all(*open_source({(source_dir() / "tests/data/torch_1.13.pt").string()}));
  CHECK(read.description == "pt dump");
  REQUIRE(read.steps.size() == 1);
  std::vector<float> base;
  for (int i = 0; i < 24; ++i) base.push_back(static_cast<float>(i) - 5.5F);
  for (const std::string tensor : {"contiguous", "transposed", "flipped"}) CHECK(read.table(tensor) == cells(base));
  CHECK(read.tensor("transposed").shape == std::vector<std::uint64_t>{6, 4});
  CHECK(read.table("column") == cells({-3.5F, 2.5F, 8.5F, 14.5F}));
  CHECK(read.table("block") == cells({1.5F, 3.5F, 7.5F, 9.5F}));
  CHECK(read.table("tail") == cells({12.5F, 13.5F, 14.5F, 15.5F, 16.5F, 17.5F}));
  CHECK(read.table("expanded") == cells(std::vector<float>(7, 0.375F)));
  for (const std::string tensor : {"scalar", "again"}) CHECK(read.table(tensor) == cells({2.5F}));
  CHECK(read.tensor("scalar").shape.empty());
  CHECK(read.table("empty").numel == 0);
  CHECK(read.tensor("empty").shape == std::vector<std::uint64_t>{0, 3});
  CHECK(read.table("double") == count_cells(std::vector<double>{0.1, -1e-310}));
  CHECK(read.table("half") == cells({1.0F, -0x1p-24F, HUGE_VALF}));
  CHECK(read.table("bfloat16") == cells({3.0F, 0x1p-133F, NAN}));
  CHECK(read.tensor("bfloat16").through == "bfloat16");
  CHECK(read.table("parameter") == cells({7.0F, 0.0F}));
  CHECK(read.table("nested.list.0") == cells({1.0F}));
  CHECK(read.table("nested.list.1.0") == cells({2.0F}));
  CHECK(read.table("nested.list.1.1.x") == cells({3.0F}));
  CHECK(read.table("nested.3") == cells({4.0F}));
  CHECK(read.table("model.0.weight") == cells({0.0F, 0.25F, 0.5F, 0.75F}));
  CHECK(read.table("optimizer.state.0.step") == cells({1.0F}));
  CHECK(read.tensors.size() == 36);
  REQUIRE(read.notes.size() == 1);
  CHECK(read.notes[0].ends_with(": not read: 'long' (int64), 'bool' (bool), 'model.1.num_batches_tracked' (int64)"));
}

TEST_CASE("pt: a file that is one tensor is named as the file, lists count from 0") {
  const playground place;
  const std::string one = tensor(four_floats, 0, {4}, {1});
  CHECK(place.open("grad.pt", file_of(start + one + ".", raw(four))).table("grad") == cells(four));
  const contents list = place.open("a.pt", file_of(start + "](" + one + one + "e.", raw(four), "x/"));
  REQUIRE(list.tensors.size() == 2);
  CHECK(list.table("0") == cells(four));
  CHECK(list.table("1") == cells(four));
  // Without a folder, as some tools repack it.
  CHECK(place.open("a.pt", file_of(one_tensor(one), raw(four), "")).table("a") == cells(four));
}

TEST_CASE("pt: the forms of newer versions") {
  const playground place;
  const auto typed = [&](const std::string& type, std::uint64_t bytes) {
    return one_tensor(name("torch._utils", "_rebuild_tensor_v3") +
                      tuple(storage("UntypedStorage", "0", bytes) + number(0) + counts({2, 2}) + counts({2, 1}) +
                            "\x89" + no_hooks + name("torch", type) + "N") +
                      "R");
  };
  const contents eight = place.open("a.pt", file_of(typed("float8_e4m3fn", 4), "\x38\x7E\x01\xB8"));
  CHECK(eight.table("a") == cells({1.0F, 448.0F, 0x1p-9F, -1.0F}));
  CHECK(eight.steps[0].tensors[0].codes.size() == 4);
  CHECK(eight.steps[0].tensors[0].type == dtype::float8_e4m3fn);
  CHECK(place.open("a.pt", file_of(typed("float32", 16), raw(four))).table("a") == cells(four));

  const auto ordered = [&](const std::string& order, const std::string& values) {
    return zip({{.name = "a/data.pkl", .contents = one_tensor(tensor(four_floats, 0, {4}, {1}))},
                {.name = "a/.format_version", .contents = "1"},
                {.name = "a/.storage_alignment", .contents = "64"},
                {.name = "a/byteorder", .contents = order},
                {.name = "a/data/0", .contents = values},
                {.name = "a/.data/serialization_id", .contents = "123"}});
  };
  CHECK(place.open("a.pt", ordered("little", raw(four))).table("a") == cells(four));
  CHECK(place.open("a.pt", ordered("big", swapped(raw(four), 4))).table("a") == cells(four));
  CHECK(place.error("a.pt", ordered("odd", raw(four))) ==
        "a.pt: member 'a/byteorder': is 'odd', neither 'little' nor 'big'");
  CHECK(place.error("a.pt", ordered("neither", raw(four))) ==
        "a.pt: member 'a/byteorder': is neither 'little' nor 'big'");
}

TEST_CASE("pt: tensors with attributes, sets and counters") {
  const playground place;
  const std::string rebuild = name("torch._utils", "_rebuild_tensor_v2");
  const std::string arguments = tuple(four_floats + number(0) + counts({4}) + counts({1}) + "\x89" + no_hooks);
  const std::string attributes = "}" + text("shared") + "\x88s";
  const auto opened = [&](const std::string& made) {
    return place.open("a.pt", file_of(one_tensor(made), raw(four))).table("a");
  };
  for (const std::string& of : {name("torch", "Tensor"), name("torch.nn.parameter", "Parameter")})
    CHECK(opened(name("torch._tensor", "_rebuild_from_type_v2") + tuple(rebuild + of + arguments + attributes) + "R") ==
          cells(four));
  CHECK(opened(name("torch._utils", "_rebuild_parameter_with_state") +
               tuple(rebuild + arguments + "R\x88" + no_hooks + attributes) + "R") == cells(four));
  const std::string in_list = "](" + rebuild + arguments + "Re";
  CHECK(
      place.open("a.pt", file_of(one_tensor(name("__builtin__", "set") + in_list + "\x85R"), raw(four))).table("a.0") ==
      cells(four));
  CHECK(place
            .open("a.pt", file_of(one_tensor(name("collections", "Counter") + attributes + "\x85R"), raw(four)),
                  empty_allowed())
            .tensors.empty());
}

TEST_CASE("pt: what expand() repeats is read once") {
  const playground place;
  const auto opened = [&](const std::vector<std::uint64_t>& shape, const std::vector<std::uint64_t>& strides) {
    return place.open("a.pt", file_of(one_tensor(tensor(four_floats, 0, shape, strides)), raw(four))).table("a");
  };
  const auto times = [](std::size_t n) {
    std::vector<float> values;
    for (std::size_t i = 0; i < n; ++i) values.insert(values.end(), four.begin(), four.end());
    return cells(values);
  };
  CHECK(opened({4, 100'003}, {1, 0}) == times(100'003));
  CHECK(opened({3, 4, 1, 7}, {0, 1, 0, 0}) == times(21));
  CHECK(opened({1, 2, 2, 2}, {99, 2, 0, 1}) == times(2));
  // As many as fit the bound for all tensors of a file.
  const cell_table many = opened({4, std::uint64_t{1} << 26}, {1, 0});
  CHECK(many.numel == std::uint64_t{1} << 28);
  CHECK(many.zeros == std::uint64_t{1} << 26);
  const std::string halves = storage("HalfStorage", "0", 2);
  const contents codes =
      place.open("a.pt", file_of(one_tensor(tensor(halves, 0, {2, 5}, {1, 0})), std::string("\x00\x3C\x00\xC0", 4)));
  CHECK(codes.table("a") == cells({1, 1, 1, 1, 1, -2, -2, -2, -2, -2}));
  CHECK(codes.steps[0].tensors[0].codes ==
        std::vector<code_count>{{.code = 0x3C00, .count = 5}, {.code = 0xC000, .count = 5}});
}

TEST_CASE("pt: any view that stays inside its storage") {
  const playground place;
  std::vector<float> many;
  for (int i = 0; i < 300'000; ++i) many.push_back(static_cast<float>(i % 977) - 300.25F);
  const std::string from = storage("FloatStorage", "0", many.size());
  const auto table_of = [&](std::uint64_t offset, const std::vector<std::uint64_t>& shape,
                            const std::vector<std::uint64_t>& strides) {
    return place.open("a.pt", file_of(one_tensor(tensor(from, offset, shape, strides)), raw(many))).table("a");
  };
  const auto expected = [&](std::uint64_t offset, const std::vector<std::uint64_t>& shape,
                            const std::vector<std::uint64_t>& strides) {
    std::vector<float> values;
    std::vector<std::uint64_t> at(shape.size());
    for (bool more = true; more;) {
      std::uint64_t place_of = offset;
      for (std::size_t i = 0; i < at.size(); ++i) place_of += at[i] * strides[i];
      values.push_back(many[place_of]);
      more = false;
      for (std::size_t i = at.size(); i-- > 0 && !more;) {
        more = ++at[i] < shape[i];
        if (!more) at[i] = 0;
      }
    }
    return cells(values);
  };
  const std::vector<std::tuple<std::uint64_t, std::vector<std::uint64_t>, std::vector<std::uint64_t>>> views{
      {0, {300'000}, {1}},
      {0, {300, 1000}, {1000, 1}},
      {0, {1000, 300}, {1, 1000}},
      {7, {299'993}, {1}},
      {5, {299, 3}, {1000, 300}},
      {0, {3, 100'000}, {100'000, 1}},
      {0, {2, 100'000}, {150'000, 1}},
      {9, {4, 1, 5}, {3, 99, 0}},
      {0, {3, 3, 3}, {1, 1, 1}},
      {299'999, {}, {}},
      {1, {150'000}, {2}},
      {0, {2, 100'000}, {1, 3}}};
  for (const auto& [offset, shape, strides] : views) {
    CAPTURE(offset, shape, strides);
    CHECK(table_of(offset, shape, strides) == expected(offset, shape, strides));
  }
}

TEST_CASE("pt: a storage is read once as a whole and found damaged, also by its parts") {
  const playground place;
  const auto damaged = [&](const std::vector<std::uint64_t>& shape) {
    return place.error("a.pt", zip({{.name = "a/data.pkl", .contents = one_tensor(tensor(four_floats, 0, shape, {1}))},
                                    {.name = "a/data/0", .contents = raw(four), .crc_error = 1}}));
  };
  CHECK(damaged({4}) == "a.pt: member 'a/data/0': its CRC-32 does not match its contents; the file is damaged");
  CHECK(damaged({2}) == damaged({4}));
  const std::string whole = one_tensor(tensor(four_floats, 0, {4}, {1}));
  CHECK(place
            .open("a.pt", zip({{.name = "a/data.pkl", .contents = whole, .deflated = true},
                               {.name = "a/data/0", .contents = raw(four), .deflated = true}}))
            .table("a") == cells(four));
  CHECK(place.error("a.pt", zip({{.name = "a/data.pkl", .contents = one_tensor(tensor(four_floats, 1, {2}, {1}))},
                                 {.name = "a/data/0", .contents = raw(four), .deflated = true}})) ==
        "a.pt: tensor 'a': is part of a compressed storage, which is not read; torch.save does not compress");
}

TEST_CASE("pt: views that leave their storage, or are far too many, are refused") {
  const playground place;
  const auto error_of = [&](const std::string& from, std::uint64_t offset, const std::vector<std::uint64_t>& shape,
                            const std::vector<std::uint64_t>& strides) {
    return place.error("a.pt", file_of(one_tensor(tensor(from, offset, shape, strides)), raw(four)));
  };
  const std::uint64_t top = (std::uint64_t{1} << 63) - 1;
  const std::string past = "a.pt: tensor 'a': its values reach past the end of its storage of 4";
  CHECK(error_of(four_floats, 1, {4}, {1}) == past);
  CHECK(error_of(four_floats, 0, {2}, {4}) == past);
  CHECK(error_of(four_floats, top, {1}, {1}) == past);
  CHECK(error_of(four_floats, 0, {3}, {top}) == past);
  CHECK(error_of(four_floats, 0, {3, 3}, {top, top}) == past);
  CHECK(error_of(four_floats, 0, {top, top}, {0, 0}) ==
        "a.pt: tensor 'a': its shape holds more values than 64 bits can count");
  CHECK(error_of(four_floats, 0, {std::uint64_t{1} << 40}, {0}) ==
        "a.pt: tensor 'a': the tensors repeat the values of the file more than 8 times; save them with clone() if that "
        "is intended");
  // Values that overlap are read again and again, so fewer of them are.
  CHECK(error_of(four_floats, 0, std::vector<std::uint64_t>(3, 2), {1, 1, 1}).empty());
  std::vector<float> more(64, 1.0F);
  CHECK(place
            .error("a.pt",
                   file_of(one_tensor(tensor(storage("FloatStorage", "0", 64), 0, std::vector<std::uint64_t>(24, 2),
                                             std::vector<std::uint64_t>(24, 1))),
                           raw(more)))
            .ends_with("save them with clone() if that is intended"));
  CHECK(error_of(storage("FloatStorage", "7", 4), 0, {4}, {1}) ==
        "a.pt: tensor 'a': its storage '7' is not in the file");
  CHECK(error_of(storage("FloatStorage", "0", 5), 0, {4}, {1}) ==
        "a.pt: tensor 'a': its storage is given as 20 bytes, but the file has 16 of it");
  CHECK(error_of(storage("FloatStorage", "0", top), 0, {4}, {1})
            .ends_with("has a storage of more bytes than 64 bits can count"));
  CHECK(error_of(four_floats, 9, {0, top}, {top, 1}).empty());  // no value at all
}

TEST_CASE("pt: each opcode and name that is no tensor's is refused by its place and name") {
  const playground place;
  const auto error_of = [&](const std::string& opcodes) {
    const std::string error = place.error("a.pt", file_of(start + opcodes, raw(four)));
    const std::string member = "member 'archive/data.pkl': ";
    const std::size_t at = error.find(member);
    return at == std::string::npos ? error : error.substr(at + member.size());
  };
  const std::string only = "; only tensors in dicts, lists and tuples are read: save those alone";
  CHECK(error_of(name("posix", "system") + text("echo") + "\x85R.") == "names 'posix.system'" + only);
  CHECK(error_of(name("torch", "load") + ".") == "names 'torch.load'" + only);
  CHECK(error_of(name("builtins", "eval") + ".") == "names 'builtins.eval'" + only);
  CHECK(error_of(name("torch._utils", "_rebuild_qtensor") + ".") == "names 'torch._utils._rebuild_qtensor'" + only);
  CHECK(error_of(name(std::string(201, 'x'), "y") + ".") == "has a name of more than 200 characters");
  const std::string none_of_those =
      " does not belong to saved tensors in dicts, lists and tuples; only such files are read";
  for (const char opcode : std::string("\x81\x93\x82ioPISBC\x8C\x95\x30\x32\xFF")) {
    INFO(static_cast<int>(opcode));
    const std::string error = error_of(std::string(1, opcode) + "....");
    CHECK(error.starts_with("the opcode 0x"));
    CHECK(error.ends_with(none_of_those));
  }
  CHECK(error_of("\x80\x04.") == "asks for pickle protocol 4; torch.save writes 2 by default");
  CHECK(error_of("h\x05.") == "recalls object 5, which was not remembered");
  CHECK(error_of("Nq\x05h\x04.") == "recalls object 4, which was not remembered");
  CHECK(error_of("Nr" + little(0xFFFFFFFF, 4) + ".") == "remembers more than the 4 million objects that are read");
  for (const std::string lacking :
       {".", "t", "e", "u", "s", "a", "Na", "R", "NR", "Q", "b", "\x86", "N\x86", "(.", "N(."}) {
    INFO(lacking);
    const std::string error = error_of(lacking);
    CHECK((error == "needs an object that is not there" || error == "needs a mark that is not there"));
  }
  CHECK(error_of("NNa.") == "appends to something that is not a list");
  CHECK(error_of("NNNs.") == "sets items of something that is not a dict");
  CHECK(error_of("}(Nu.") == "sets a key without a value");
  CHECK(error_of("NNb.") == "sets attributes of something that is not a dict");
  CHECK(error_of("N)R.") == "calls an unknown function");
  CHECK(error_of(name("collections", "OrderedDict") + "NR.") == "calls a function with arguments that are not a tuple");
  CHECK(error_of(name("collections", "OrderedDict") + "N\x85R.") == "makes an OrderedDict from something");
  CHECK(error_of(name("torch", "Size") + ")R.") == "makes a torch.Size from something that is not a tuple");
  CHECK(error_of(name("__builtin__", "set") + ")R.") == "makes a set from something that is not a list");
  CHECK(error_of(name("collections", "Counter") + "N\x85R.") == "makes a Counter from something that is not a dict");
  const std::string no_class = "makes a tensor with attributes from something other than a tensor and its class";
  CHECK(error_of(name("torch._tensor", "_rebuild_from_type_v2") + "(NNNNtR.") == no_class);
  CHECK(error_of(name("torch._tensor", "_rebuild_from_type_v2") +
                 tuple(name("torch", "Size") + name("torch", "Tensor") + ")" + "}") + "R.") == no_class);
  // No function of these makes itself.
  CHECK(error_of(name("torch._tensor", "_rebuild_from_type_v2") + "q" + little(0, 1) +
                 tuple("h" + little(0, 1) + name("torch", "Tensor") + ")" + "}") + "R.") == no_class);
  CHECK(error_of(name("torch._utils", "_rebuild_parameter") + ")R.") ==
        "makes a Parameter from something that is not a tensor");
  const std::string rebuild = name("torch._utils", "_rebuild_tensor_v2");
  CHECK(error_of(rebuild + ")R.") ==
        "makes a tensor from something other than a storage, an offset, a size and a stride");
  const auto made_of = [&](const std::string& offset, const std::string& shape, const std::string& stride,
                           const std::string& rest = "\x89N") {
    return error_of(rebuild + tuple(four_floats + offset + shape + stride + rest) + "R.");
  };
  const std::string no_count = "has an offset, a size or a stride that is not a number from 0 to 2^63 - 1";
  CHECK(made_of("J\xFF\xFF\xFF\xFF", counts({1}), counts({1})) == no_count);
  CHECK(made_of("\x8A\x09" + std::string(9, '\x01'), counts({1}), counts({1})) == no_count);
  CHECK(made_of("K" + little(0, 1), tuple("N"), counts({1})) == no_count);
  CHECK(made_of("K" + little(0, 1), "N", counts({1})) == "has a size or a stride that is not a tuple");
  CHECK(made_of("K" + little(0, 1), counts({1}), counts({1, 1})) ==
        "makes a tensor with more sizes than strides, or fewer");
  CHECK(made_of("K" + little(0, 1), counts(std::vector<std::uint64_t>(65, 1)), counts({1})) ==
        "makes a tensor of more than 64 dimensions");
  CHECK(made_of("K" + little(0, 1), counts({1}), counts({1}), "\x89N}") ==
        "makes a tensor with a pending conjugation or negation; save it with resolve_neg()");
  CHECK(error_of(tensor(storage("UntypedStorage", "0", 4), 0, {4}, {1}) + ".") ==
        "makes a tensor of an untyped storage without a type");
  CHECK(error_of("NQ.") == "refers to something that is not a storage");
  CHECK(error_of(storage("FloatStorage", std::string(65, '0'), 4) + ".") ==
        "refers to something that is not a storage");
  CHECK(error_of(tuple(text("module") + "NNNN") + "Q.") == "refers to something that is not a storage");
  CHECK(error_of("}N" + tensor(four_floats, 0, {4}, {1}) + "s.") ==
        "has a dict whose key is neither text nor an integer");
  CHECK(error_of("]q" + little(0, 1) + "h" + little(0, 1) + "a.") == "is nested deeper than 100 levels");  // in itself
  CHECK(error_of("}" + text(std::string(1025, 'x')) + tensor(four_floats, 0, {4}, {1}) + "s.") ==
        "has a tensor whose name is longer than 1024 bytes");
}

TEST_CASE("pt: bombs end soon") {
  const playground place;
  source_options options;
  options.limits.header_share = read_limits::none;
  const auto error_of = [&](const std::string& opcodes) {
    return place.error("a.pt", file_of(start + opcodes, ""), options);
  };
  CHECK(error_of(std::string(100'000, '(') + ".").ends_with("needs an object that is not there"));
  CHECK(
      error_of(std::string((1 << 22) + 1, 'N') + ".").ends_with("makes more than the 4 million objects that are read"));
  // 30 lists, each twice in the next: a billion of the first.
  std::string twice = "]q" + little(0, 1);
  for (int i = 0; i < 30; ++i)
    twice += "](h" + little(static_cast<unsigned>(i), 1) + "h" + little(static_cast<unsigned>(i), 1) + "eq" +
             little(static_cast<unsigned>(i) + 1, 1);
  CHECK(error_of(twice + ".").ends_with("has more than 4 million objects in it"));
  // A list of many numbers, many times.
  const auto recall = [](unsigned slot) { return "h" + little(slot, 1); };
  std::string often = "](" + std::string(100'000, 'N') + "eq" + little(0, 1) + "](";
  for (int i = 0; i < 100'000; ++i) often += recall(0);
  CHECK(error_of(often + "e.").ends_with("has more than 4 million objects in it"));
  // A tensor of 64 dimensions, made many times, and one found many times below a long name.
  const std::vector<std::uint64_t> sizes(64, 1);
  std::string wide = name("torch._utils", "_rebuild_tensor_v2") + "q" + little(0, 1) +
                     tuple(four_floats + number(0) + counts(sizes) + counts(sizes) + "\x89" + no_hooks) + "q" +
                     little(1, 1) + "R](";
  std::string found = "}" + text(std::string(900, 'x')) + "](" + tensor(four_floats, 0, {4}, {1}) + "q" + little(0, 1);
  for (int i = 0; i < 100'000; ++i) {
    wide += recall(0) + recall(1) + "R";
    found += recall(0);
  }
  CHECK(error_of(wide + "e.").ends_with("makes tensors of more than the 2 million dimensions that are read"));
  CHECK(error_of(found + "es.")
            .ends_with("has tensors with more dimensions, or longer names, than are read in one file"));
}

TEST_CASE("pt: two tensors of one name, and files without any") {
  const playground place;
  const std::string t = tensor(four_floats, 0, {4}, {1});
  CHECK(place.error("a.pt", file_of(start + "}(" + text("a.b") + t + text("a") + "}" + text("b") + t + "su.",
                                    raw(four))) == "a.pt: tensor 'a.b': there are two tensors of this name");
  const contents empty = place.open("a.pt", file_of(start + "}.", raw(four)), empty_allowed());
  CHECK(empty.notes == std::vector<std::string>{place.path("a.pt") + ": holds no readable tensor; its step is empty"});
  CHECK(place.error("a.pt", zip({{.name = "x/y/data.pkl", .contents = "x"}}), empty_allowed())
            .empty());  // no .pt: an archive of other things
}

TEST_CASE("pt: a flipped bit loses no tensor") {
  const playground place;
  const std::string good = file_of(one_tensor(tensor(four_floats, 0, {4}, {1})), raw(four));
  const contents before = place.open("a.pt", good);
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string file = good;
    file[bit / 8] = static_cast<char>(file[bit / 8] ^ (1 << bit % 8));
    if (!place.error("a.pt", file, empty_allowed()).empty()) continue;
    const contents after = place.open({"a.pt"}, empty_allowed());
    INFO("bit " << bit);
    CHECK(after.tensors == before.tensors);
    CHECK(after.table("a") == before.table("a"));
  }
}

TEST_CASE("pt: storages that are not read have their CRC checked") {
  const playground place;
  const std::string pickle = one_tensor(tensor(four_floats, 0, {4}, {1}));
  const auto with = [&](const zip_entry& other) {
    return zip({{.name = "a/data.pkl", .contents = pickle}, {.name = "a/data/0", .contents = raw(four)}, other});
  };
  CHECK(place.error("a.pt", with({.name = "a/data/1", .contents = "ints"})) == "");
  CHECK(place.error("a.pt", with({.name = "a/data/1", .contents = "ints", .crc_error = 1})) ==
        "a.pt: member 'a/data/1': its CRC-32 does not match its contents; the file is damaged");
}
