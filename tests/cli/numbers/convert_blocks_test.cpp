// Pins ulp convert to blocks as it is typed: what it prints, the arrays it writes in every layout, what it refuses and leaves.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/builders.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/npz.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

using codes = std::vector<std::uint8_t>;

// Two rows of 34 numbers of E2M1, times 1 and 8, so that a block's scale is amax's over 4: of the first row 1 and 1/2, of the second 8
// and 4; the numbers of the last two columns make a block.
std::vector<float> two_rows() {
  constexpr std::array<float, 8> numbers{0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  std::vector<float> x;
  for (const float by : {1.0F, 8.0F}) {
    for (std::size_t i = 0; i < 32; ++i) x.push_back(by * (i % 16 < 8 ? numbers[i % 8] : -numbers[i % 8]));
    x.push_back(by * 2);
    x.push_back(by * -3);
  }
  return x;
}
const std::string matrix = npy(npy_dict("<f4", "(2, 34)"), raw(two_rows()));
std::string transposed() {
  const std::vector<float> x = two_rows();
  std::vector<float> t(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) t[i % 34 * 2 + i / 34] = x[i];
  return npy(npy_dict("<f4", "(34, 2)"), raw(t));
}
// Of E2M1, sign and magnitude; of the two blocks at the end 4 and -6.
codes codes_of_row() {
  codes of;
  for (std::uint8_t i = 0; i < 32; ++i) of.push_back(i % 16);
  of.push_back(6);
  of.push_back(8 | 7);
  return of;
}
codes codes_of_matrix() {
  codes all = codes_of_row();
  const codes row = codes_of_row();
  all.insert(all.end(), row.begin(), row.end());
  return all;
}
const codes scales_of_matrix{127, 126, 130, 129};

program_result in(const temporary_dir& dir, const std::string& arguments) {
  return run_shell("cd " + dir.path().string() + " && ulp convert " + arguments);
}

}  // namespace

TEST_CASE("blocks of a matrix: what is printed and written") {
  const temporary_dir dir;
  write_file(dir / "w.npy", matrix);
  const auto made = in(dir, "w.npy o.npz --to mxfp4");
  CAPTURE(made.err);
  CHECK(made.exit_code == 0);
  CHECK(made.err.empty());
  CHECK(made.out ==
        "input        w.npy\n"
        "output       o.npz\n"
        "format       mxfp4, here torchao_mxe2m1_floor: torchao, MX\n"
        "blocks       float4_e2m1 elements, nearest-even; a scale in float8_e8m0 for 1 x 32\n"
        "\n"
        "tensor  from  elements  scales  zero  underflow  overflow  infinite  NaN  SQNR dB\n"
        "w       <f4         68       4     8          0         0         0    0    exact\n");
  const auto file = read_npz(dir / "o.npz");
  CHECK(file.at("scale").shape == std::vector<std::size_t>{2, 2});
  CHECK(file.at("scale").as<std::uint8_t>() == scales_of_matrix);
  CHECK(file.at("codes").shape == std::vector<std::size_t>{2, 34});
  CHECK(file.at("codes").as<std::uint8_t>() == codes_of_matrix());
  CHECK(file.at("dequantized").as<float>() == two_rows());
}

TEST_CASE("numbers that are finite no more are counted, and leave no ratio of signal to noise") {
  const temporary_dir dir;
  std::vector<float> x(64, 1.25F);
  x[5] = INFINITY;
  write_file(dir / "w.npy", npy(npy_dict("<f4", "(64,)"), raw(x)));
  for (const std::string format : {"nvfp4", "fp8_1x128", "mxfp8", "mxfp4"}) {
    CAPTURE(format);
    const auto made = in(dir, "w.npy o.npz --json --to " + format);
    REQUIRE(made.exit_code == 0);
    const auto row = nlohmann::json::parse(made.out).at("tensors").at(0);
    const auto numbers = read_npz(dir / "o.npz").at("dequantized").as<float>();
    std::uint64_t infinite = 0;
    std::uint64_t nan = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      infinite += i != 5 && std::isinf(numbers[i]) ? 1 : 0;
      nan += std::isnan(numbers[i]) ? 1 : 0;
    }
    CHECK(infinite + nan > 1);
    CHECK(row.at("infinite") == infinite);
    CHECK(row.at("nan") == nan);
    CHECK(row.at("sqnr_db").is_null());
  }
}

TEST_CASE("what a file of blocks does not hold is named") {
  const temporary_dir dir;
  write_file(dir / "all.npz", zip({{"w.npy", matrix},
                                   {"b.npy", npy(npy_dict("<f4", "(2,)"), raw(std::vector<float>{1, 2}))},
                                   {"ids.npy", npy(npy_dict("<i4", "(1,)"), raw(std::vector<std::int32_t>{3}))}}));
  CHECK(in(dir, "all.npz o.npz --to mxfp4").err ==
        "ulp: note: all.npz: left out, since a file of blocks holds nothing else: 'ids' (<i4)\n");
  CHECK(in(dir, "all.npz p.npz --to mxfp4 --tensor ^w").err ==
        "ulp: note: all.npz: left out, since a file of blocks holds nothing else: 'b' (<f4), 'ids' (<i4)\n");
}

TEST_CASE("a number alone comes back as one from two codes in a byte") {
  const temporary_dir dir;
  write_file(dir / "z.npy", npy(npy_dict("<f4", "()"), raw(std::vector<float>{1.5F})));
  REQUIRE(in(dir, "z.npy o.npz --to mxfp4 --packed").exit_code == 0);
  REQUIRE(in(dir, "o.npz back.npz --from mxfp4 --packed").exit_code == 0);
  const auto back = read_npz(dir / "back.npz").at("dequantized");
  CHECK(back.shape.empty());
  CHECK(back.as<float>() == std::vector<float>{1.5F});
}

TEST_CASE("blocks along the first axis are those of the transpose") {
  const temporary_dir dir;
  write_file(dir / "t.npy", transposed());
  REQUIRE(in(dir, "t.npy o.npz --to mxfp4 --axis 0").exit_code == 0);
  const auto file = read_npz(dir / "o.npz");
  CHECK(file.at("scale").shape == std::vector<std::size_t>{2, 2});
  CHECK(file.at("scale").as<std::uint8_t>() == codes{127, 130, 126, 129});
  CHECK(file.at("codes").shape == std::vector<std::size_t>{34, 2});
  const codes along = codes_of_matrix();
  const codes across = file.at("codes").as<std::uint8_t>();
  for (std::size_t i = 0; i < along.size(); ++i) REQUIRE(across[i % 34 * 2 + i / 34] == along[i]);
}

TEST_CASE("two codes in a byte, and scales in tiles") {
  const temporary_dir dir;
  write_file(dir / "w.npy", matrix);
  REQUIRE(in(dir, "w.npy o.npz --to mxfp4 --packed --swizzled").exit_code == 0);
  const auto file = read_npz(dir / "o.npz");
  CHECK(file.at("codes").shape == std::vector<std::size_t>{2, 17});
  const codes packed = file.at("codes").as<std::uint8_t>();
  const codes each = codes_of_matrix();
  for (std::size_t i = 0; i < packed.size(); ++i) REQUIRE(packed[i] == (each[2 * i] | each[2 * i + 1] << 4));
  // A tile of 128 rows and 4 columns: the four of row r are from (r mod 32) * 16 + (r div 32) * 4 on.
  const codes tile = file.at("scale").as<std::uint8_t>();
  REQUIRE(tile.size() == 512);
  CHECK(codes(tile.begin(), tile.begin() + 20) ==
        codes{127, 126, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 130, 129, 0, 0});
}

TEST_CASE("scales in tiles, where there is one block along an axis that is not the last") {
  const temporary_dir dir;
  // A row of 5 elements for each of 70 columns; the exponent of a column is that of its number.
  std::vector<float> x(5 * 70);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::ldexp(1.0F, static_cast<int>(i % 70));
  write_file(dir / "w.npy", npy(npy_dict("<f4", "(5, 70)"), raw(x)));
  REQUIRE(in(dir, "w.npy o.npz --to mxfp8 --axis 0 --swizzled").exit_code == 0);
  const codes tile = read_npz(dir / "o.npz").at("scale").as<std::uint8_t>();
  REQUIRE(tile.size() == 512);
  for (std::size_t r = 0; r < 128; ++r) REQUIRE(tile[r % 32 * 16 + r / 32 * 4] == (r < 70 ? 127 + r - 8 : 0));
}

TEST_CASE("a scalar is one element, and no elements are none") {
  const temporary_dir dir;
  write_file(dir / "s.npy", npy(npy_dict("<f4", "()"), raw(std::vector<float>{3})));
  REQUIRE(in(dir, "s.npy o.npz --to mxfp4").exit_code == 0);
  for (const char* const name : {"codes", "scale", "dequantized"})
    CHECK(read_npz(dir / "o.npz").at(name).shape == std::vector<std::size_t>{});
  for (const char* const shape : {"(0,)", "(0, 32)", "(32, 0)", "(2, 0, 3)"})
    for (const char* const row : {"mxfp4", "nvfp4", "fp8_tensor", "fp8_row", "te_nvfp4_rowscaled"}) {
      CAPTURE(shape, row);
      write_file(dir / "x.npz",
                 zip({{.name = "x.npy", .contents = npy(npy_dict("<f4", shape), raw(std::vector<float>{}))}}));
      REQUIRE(in(dir, std::string{"x.npz o.npz --to "} + row).exit_code == 0);
      const auto file = read_npz(dir / "o.npz");
      CHECK(file.at("scale").bytes.empty());
      CHECK(std::ranges::count(file.at("scale").shape, 0U) > 0);
      // Checksums are checked where a file is read.
      const auto read =
          run_shell("cd " + dir.path().string() + " && ulp verify --block " + row + " x.npz --results o.npz");
      CAPTURE(read.err);
      CHECK(read.exit_code == 0);
    }
}

TEST_CASE("one scale for the tensor does not depend on the axis; what rounding is not said stays the row's") {
  const temporary_dir dir;
  write_file(dir / "t.npy", transposed());
  const auto dequantized = [&](const std::string& how) {
    CAPTURE(how);
    REQUIRE(in(dir, "t.npy o.npz --to " + how).exit_code == 0);
    return read_npz(dir / "o.npz").at("dequantized").as<float>();
  };
  CHECK(dequantized("fp8_tensor") == dequantized("fp8_tensor --axis 0"));
  write_file(dir / "t.npy", npy(npy_dict("<f4", "(3,)"), raw(std::vector<float>{17, -17, 448})));
  CHECK(dequantized("gfloat_mxe4m3_away --ftz result") == std::vector<float>{18, -18, 448});
  CHECK(dequantized("gfloat_mxe4m3_away --ftz result --rounding nearest-even") == std::vector<float>{16, -16, 448});
}

TEST_CASE("several arrays go by their names, what is no array of numbers is left out") {
  const temporary_dir dir;
  write_file(dir / "m.npz",
             zip({{.name = "a.npy", .contents = matrix},
                  {.name = "b.npy", .contents = npy(npy_dict("<f8", "(1,)"), raw(std::vector<double>{6}))},
                  {.name = "i.npy", .contents = npy(npy_dict("<i2", "(1,)"), "12")}}));
  const auto made = in(dir, "m.npz o.npz --to mxfp4 --json");
  REQUIRE(made.exit_code == 0);
  const auto all = nlohmann::json::parse(made.out);
  CHECK(all.at("summary").at("dialect") == "torchao_mxe2m1_floor");
  CHECK(all.at("summary").at("numel") == 69);
  CHECK(all.at("tensors").size() == 2);
  const auto file = read_npz(dir / "o.npz");
  CHECK(file.size() == 6);
  CHECK(file.at("b.codes").as<std::uint8_t>() == codes{7});
}

TEST_CASE("what cannot become blocks is refused in a line, and nothing is left") {
  const temporary_dir dir;
  write_file(dir / "w.npy", matrix);
  write_file(dir / "odd.npy", npy(npy_dict("<f4", "(2, 1)"), raw(std::vector<float>{1, 2})));
  write_file(dir / "f.npy", npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 34), }", raw(two_rows())));
  const std::vector<std::array<std::string, 2>> refused{
      {"w.npy o.npy --to mxfp4", "o.npy: scales and codes of mxfp4 are several arrays: name a .npz"},
      {"w.npy o.npz --to mxfp4 --axis 2", "w.npy: array 'w': has 2 dimensions: there is no axis 2"},
      {"w.npy o.npz --to mxfp4 --axis x", "--axis: 'x' is no integer"},
      {"w.npy o.npz --to fp16 --axis 0", "--axis: fp16 is no format of blocks"},
      {"w.npy o.npz --to mxfp4 --values", "--values: mxfp4 is a format of blocks, for which there is no such option"},
      {"w.npy o.npz --to fp8_128x128 --axis 0", "blocks of several rows, which run along the last axis"},
      {"w.npy o.npz --to fp8_1x128 --swizzled", "--swizzled: scales of fp8_1x128 are not codes of rows of blocks"},
      {"odd.npy o.npz --to mxfp4 --packed", "so that a byte would hold codes of two rows: leave out --packed"},
      {"f.npy o.npz --to mxfp4", "is stored by columns (Fortran order): save numpy.ascontiguousarray of it"},
      {"none.npy o.npz --to mxfp4", "none.npy"},
      {"w.npy o.npz --to mxfp9", "unknown format 'mxfp9'"}};
  for (const auto& [arguments, message] : refused) {
    const auto made = in(dir, arguments);
    CAPTURE(arguments, made.err);
    CHECK(made.exit_code == 2);
    CHECK(made.out.empty());
    CHECK(made.err.find(message) != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(dir / "o.npz"));
  }
}

TEST_CASE("the formats of blocks are listed, and told one by one") {
  const auto list = run_ulp("formats --blocks --json");
  REQUIRE(list.exit_code == 0);
  const auto rows = nlohmann::json::parse(list.out);
  CHECK(rows.size() > 90);
  CHECK(rows.at(0).at("names") == "mxfp8, mxfp8_e4m3");
  CHECK(run_ulp("formats mxfp4").out ==
        "mxfp4 = torchao_mxe2m1_floor\n"
        "  whose             torchao, MX\n"
        "  elements          float4_e2m1, 4 bits, largest 6; nearest-even, saturating\n"
        "  block             1 x 32\n"
        "  scale             float8_e8m0\n"
        "  rule              2^(floor(log2 amax) - E), E the exponent of the largest element (FLOOR)\n"
        "  source            pytorch/ao prototype/mx_formats/mx_tensor.py to_mx\n");
}
