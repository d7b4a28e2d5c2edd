// Pins how names of tensors become modules, and how they are shortened.
#include <ulp/report/pictures/layer_names.hpp>

#include "support/catch.hpp"

#include <set>
#include <string>
#include <vector>

using namespace ulp;

namespace {

const std::vector<std::string> names{"embedding.weight",    "layers.0.qkv.weight", "layers.0.qkv.bias", "conv",
                                     "layers.1.qkv.weight", "conv.weight",         "head/out/weight"};

std::vector<std::uint32_t> all_of(const std::vector<std::string>& of) {
  std::vector<std::uint32_t> all(of.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

std::vector<std::string> lines(const std::vector<module_row>& rows) {
  std::vector<std::string> all;
  for (const module_row& r : rows)
    all.push_back(std::string(2 * r.depth, ' ') + r.label +
                  (r.is_module ? " (" + std::to_string(r.tensors.size()) + ")" : ""));
  return all;
}

}  // namespace

TEST_CASE("names are split at points and slashes") {
  CHECK(parts_of("a.b/c") == std::vector<std::string_view>{"a.", "b/", "c"});
  CHECK(parts_of("weight") == std::vector<std::string_view>{"weight"});
  CHECK(parts_of("a.") == std::vector<std::string_view>{"a."});
  CHECK(parts_of("").empty());
}

TEST_CASE("modules hold what is below them, and one that holds one thing alone is a row with it") {
  const auto open = module_rows(names, all_of(names), [](const module_row&) { return true; });
  CHECK(lines(open) == std::vector<std::string>{"embedding.weight", "layers (3)", "  0.qkv (2)", "    weight",
                                                "    bias", "  1.qkv.weight", "conv (2)", "  conv", "  weight",
                                                "head/out/weight"});
  CHECK(open[1].path == "layers");
  CHECK(open[2].path == "layers.0.qkv");
  CHECK(open[5].path == "layers.1.qkv.weight");
  CHECK(open[1].tensors == std::vector<std::uint32_t>{1, 2, 4});
  const auto closed = module_rows(names, all_of(names), [](const module_row&) { return false; });
  CHECK(lines(closed) == std::vector<std::string>{"embedding.weight", "layers (3)", "conv (2)", "head/out/weight"});
  CHECK(lines(module_rows(names, {1, 2}, [](const module_row& r) { return r.path != "layers.0.qkv"; })) ==
        std::vector<std::string>{"layers.0.qkv (2)"});
}

TEST_CASE("shortened names stay apart") {
  const std::vector<std::string> all{"model.decoder.layers.0.attention.weight",
                                     "model.decoder.layers.1.attention.weight",
                                     "model.decoder.layers.0.attention.bias"};
  const auto fits = [](std::size_t most) { return [most](const std::string& text) { return text.size() <= most; }; };
  CHECK(shortened(all[0], all, fits(100)) == all[0]);
  CHECK(shortened(all[0], all, fits(30)) == "…layers.0.attention.weight");
  for (const std::size_t width : {24U, 28U, 33U}) {
    std::set<std::string> distinct;
    for (const std::string& name : all) {
      const std::string text = shortened(name, all, fits(width));
      CAPTURE(text);
      CHECK_FALSE(text.empty());
      CHECK(text.size() <= width);
      distinct.insert(text);
    }
    CHECK(distinct.size() == all.size());
  }
  // With initials, where leaving out one place is not enough.
  CHECK(shortened(all[0], all, fits(11)) == "m.d.l.0.a.w");
  CHECK(shortened(all[0], all, fits(5)).empty());
}
