// Pins block tables of recordings: what is written is read, merged and checked, and whatever is damaged is refused in one line.
#include <ulp/io/encoding/block_content.hpp>
#include <ulp/io/recording/block_tables.hpp>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/merge/merge.hpp>
#include <ulp/io/recording/check.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include "encoding/numbers.hpp"
#include "support/catch.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "support/files.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

std::vector<float> made_values(float of) {
  std::vector<float> x;
  for (int i = 0; i < 300; ++i) x.push_back(of * std::ldexp(static_cast<float>(i % 7 - 3), -(i % 31)));
  x[200] = std::numeric_limits<float>::infinity();
  x[100] = std::numeric_limits<float>::quiet_NaN();
  x[299] = std::ldexp(1.0F, -140);
  return x;
}

std::vector<block_table> made_tables(float of) {
  const std::vector<float> x = made_values(of);
  return {count_blocks(x, {10, 30}, {1, 32}), count_blocks(x, {10, 30}, {4, 8}),
          count_blocks(std::span(x).first(30), {1, 30}, {1, 1})};
}

step made_step(std::uint32_t rank, float of) {
  step row;
  row.key.step = 7;
  row.ranks = {rank};
  row.tensors = {{.tensor = 0, .type = dtype::float32, .table = count_cells(made_values(of))},
                 {.tensor = 1, .type = dtype::float32}};
  row.tensors[0].blocks = std::make_shared<const std::vector<block_table>>(made_tables(of));
  return row;
}
const std::vector<tensor_info> fc_and_bias{{.name = "fc", .kind = tensor_kind::weight_grad}, {.name = "bias"}};

std::vector<block_table> parsed_blocks(const std::string& content) {
  return parse_block_content(content, "f", "step 7");
}

}  // namespace

TEST_CASE("block tables are read as they were written") {
  const std::vector<block_table> tables = made_tables(1);
  for (const block_table& t : tables) CHECK(t.is_consistent());
  CHECK(parsed_blocks(block_content(tables)) == tables);
  CHECK(parsed_blocks(block_content({})).empty());
  CHECK(parsed_blocks(block_content(std::vector{block_table{}})) == std::vector{block_table{}});
}

TEST_CASE("a recording keeps them with their tensor, for who asks for them") {
  const temporary_dir folder;
  const std::string path = (folder / "run.ulp").string();
  { recording_writer(path, recording_writer::mode::create).write(made_step(0, 1), fc_and_bias); }
  CHECK(check_recording(path, {}).problems.empty());
  CHECK(has_block_tables(path));
  step now;
  REQUIRE(open_recording(path)->next(now));
  CHECK(now.tensors[0].blocks == nullptr);
  REQUIRE(open_with_blocks(path)->next(now));
  REQUIRE(now.tensors[0].blocks != nullptr);
  CHECK(*now.tensors[0].blocks == made_tables(1));
  CHECK(now.tensors[1].blocks == nullptr);
}

TEST_CASE("merging ranks merges them") {
  const temporary_dir folder;
  std::vector<std::string> paths;
  for (const std::uint32_t rank : {0U, 1U}) {
    paths.push_back((folder / ("rank" + std::to_string(rank) + ".ulp")).string());
    recording_writer writer(paths.back(), recording_writer::mode::create,
                            {.run_id = "r", .rank = rank, .world = 2, .reduction = "local"});
    writer.write(made_step(rank, rank == 0 ? 1 : 3), fc_and_bias);
  }
  step now;
  REQUIRE(open_merged(paths)->next(now));
  std::vector<block_table> both = made_tables(1);
  const std::vector<block_table> others = made_tables(3);
  for (std::size_t i = 0; i < both.size(); ++i) both[i].merge(others[i]);
  REQUIRE(now.tensors[0].blocks != nullptr);
  CHECK(*now.tensors[0].blocks == both);
}

TEST_CASE("every damaged content of block tables is refused or tables that add up") {
  const std::string good = block_content(made_tables(1));
  for (std::size_t size = 0; size < good.size(); ++size)
    CHECK_THROWS_AS(parsed_blocks(good.substr(0, size)), input_error);
  for (std::size_t at = 0; at < good.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      try {
        for (const block_table& t : parsed_blocks(bad)) CHECK(t.is_consistent());
      } catch (const input_error&) {
      }
    }
  // Not compressed, so that what is damaged gets as far as the tables.
  std::string bytes;
  io::append_varint(bytes, 1);
  for (const std::uint64_t n : {1, 32, 4, 0, 0, 0}) io::append_varint(bytes, n);
  for (int i = 0; i < 12; ++i) io::append_varint(bytes, 0);
  io::append_varint(bytes, 1);
  io::append_varint(bytes, std::uint64_t{1} << 40);
  CHECK_THROWS_WITH(parsed_blocks(io::compress(bytes)), "f: step 7: its block tables: a cell that there is not");
  std::vector<block_table> wrong = made_tables(1);
  wrong[0].numel += 1;
  CHECK_THROWS_WITH(parsed_blocks(block_content(wrong)),
                    "f: step 7: its block tables: counts that do not fit each other");
  CHECK_THROWS_WITH(parsed_blocks(block_content(std::vector{made_tables(1)[0], made_tables(2)[0]})),
                    "f: step 7: its block tables: two tables of the same blocks");
}
