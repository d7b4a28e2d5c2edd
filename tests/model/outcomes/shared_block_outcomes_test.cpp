// Pins block tables of real gradients: counts from them are those of every element, and how many bytes they take.
#include <ulp/io/encoding/block_content.hpp>
#include <ulp/model/outcomes/block_outcomes.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "quantized_blocks.hpp"
#include "support/catch.hpp"
#include "support/raw.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

struct tensor_values {
  std::string name;
  matrix_extent of;
  std::vector<float> x;
};

std::map<std::string, std::vector<std::size_t>> shapes_in(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  const auto header_size = number_at<std::uint64_t>(bytes);
  std::map<std::string, std::vector<std::size_t>> shapes;
  const auto header = nlohmann::json::parse(bytes.substr(8, header_size));
  for (const auto& [name, info] : header.items())
    if (name != "__metadata__") shapes[name] = info.at("shape").get<std::vector<std::size_t>>();
  return shapes;
}

std::vector<tensor_values> real_tensors() {
  std::vector<tensor_values> all;
  const auto shared = shared_dir();
  if (shared.empty()) return all;
  for (const std::string folder : {"chartf_good", "chartf_fp16hot", "cnn_digits", "lstm"})
    for (const auto& entry : std::filesystem::directory_iterator(shared / "data" / folder)) {
      if (entry.path().extension() != ".safetensors") continue;
      const auto shapes = shapes_in(entry.path());
      for (const auto& [name, values] : read_raw(entry.path())) {
        tensor_values& made = all.emplace_back(tensor_values{entry.path().filename().string() + " " + name, {}, {}});
        for (const double x : values) made.x.push_back(static_cast<float>(x));
        const auto& shape = shapes.at(name);
        const std::size_t columns = shape.empty() ? made.x.size() : shape.back();
        made.of = {columns == 0 ? 0 : made.x.size() / columns, columns};
      }
    }
  return all;
}

constexpr std::array roundings{direction::nearest_even,    direction::nearest_away,    direction::toward_zero,
                               direction::toward_positive, direction::toward_negative, direction::to_odd};

}  // namespace

TEST_CASE("block tables of real gradients tell what becomes of every element") {
  const std::array rules{amax_rule::floor, amax_rule::ceil, amax_rule::even, amax_rule::round_up};
  const std::vector<tensor_values> tensors = real_tensors();
  struct asked {
    const block_format& row;
    rounding how;
    block_outcome_counter outcomes;
  };
  std::vector<asked> all;
  for (const block_format& row : block_formats())
    if (row.scale == scale_type::e8m0 && std::ranges::find(rules, row.rule) != rules.end())
      for (const direction way : roundings) {
        const rounding how{.direction = way};
        all.push_back({row, how, block_outcome_counter(row, how)});
      }
  std::uint64_t cases = 0;
  std::uint64_t exact = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    for (const block_extent block : {block_extent{1, 32}, block_extent{32, 1}}) {
      const tensor_values& t = tensors[i];
      const block_table table = count_blocks(t.x, t.of, block);
      // Every fourth tensor in all roundings, all in one.
      const bool in_all = block.rows == 1 && i % 4 == 0;
      for (const asked& a : all) {
        if (!in_all && a.how.direction != direction::nearest_even) continue;
        block_format row = a.row;
        row.block = block;
        const block_outcomes told = a.outcomes(table);
        const block_outcomes found = quantized_blocks(row, a.how)(t.x, t.of);
        ++cases;
        exact += told.exact() ? 1 : 0;
        if (told.exact() && !(told == found)) FAIL_CHECK(row.name << " of " << t.name << " is counted otherwise");
        if (told.underflow.low > found.underflow.low || told.underflow.high < found.underflow.low ||
            told.overflow.low > found.overflow.low || told.overflow.high < found.overflow.low)
          FAIL_CHECK(row.name << " of " << t.name << " is outside the range");
      }
    }
  WARN(exact << " of " << cases << " counts of " << tensors.size() << " real tensors are exact");
  CHECK(exact * 100 >= cases * 95);
}

TEST_CASE("block tables of real gradients take less than 4 KB each") {
  std::vector<std::size_t> sizes;
  for (const tensor_values& t : real_tensors())
    for (const block_extent block : {block_extent{1, 32}, block_extent{32, 1}})
      if (t.of.rows > 1 || block.rows == 1)
        sizes.push_back(block_content(std::vector{count_blocks(t.x, t.of, block)}).size());
  if (sizes.empty()) return;
  std::ranges::sort(sizes);
  WARN("bytes of " << sizes.size() << " tables: median " << sizes[sizes.size() / 2] << ", largest " << sizes.back());
  CHECK(sizes[sizes.size() / 2] <= 4096);
}
