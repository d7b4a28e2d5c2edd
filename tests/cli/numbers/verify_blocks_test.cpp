// Pins ulp vectors --block, ulp verify --block and ulp diff as they are typed, and the table of dialects in docs/blocks.md.
#include <array>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <ulp/io/arrays/npz.hpp>
#include <vector>

#include "io/builders.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/npz.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

program_result in(const temporary_dir& dir, const std::string& commands) {
  return run_shell("cd " + dir.path().string() + " && " + commands);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<std::string> cells_of(const std::string& line, char between) {
  std::vector<std::string> cells;
  std::stringstream in(line);
  for (std::string cell; std::getline(in, cell, between);) {
    const auto first = cell.find_first_not_of(' ');
    cells.push_back(first == std::string::npos ? "" : cell.substr(first, cell.find_last_not_of(' ') - first + 1));
  }
  return cells;
}

}  // namespace

TEST_CASE("results for vectors of blocks are named after the dialect that they follow") {
  const temporary_dir dir;
  REQUIRE(in(dir,
             "ulp vectors --block mxfp8 -o v.npz && ulp convert v.npz a.npz --to mxfp8 && "
             "ulp convert v.npz r.npz --to torchao_mxe4m3_rceil")
              .exit_code == 0);
  const auto right = in(dir, "ulp verify --block mxfp8 v.npz --results a.npz");
  CHECK(right.exit_code == 0);
  CHECK(has(right.out, "of mxfp8, here torchao_mxe4m3_floor, all agree\n"));
  const auto other = in(dir, "ulp verify --block mxfp8 v.npz --results r.npz --show 3");
  CAPTURE(other.out);
  CHECK(other.exit_code == 1);
  CHECK(has(other.out, "\n  higher scale "));
  CHECK(has(other.out, " blocks are those of torchao_mxe4m3_rceil.\n"));
  CHECK(has(other.out, "), expected "));
  const auto counts = nlohmann::json::parse(in(dir, "ulp verify --block mxfp8 v.npz --results r.npz --json").out).at(0);
  CHECK(counts.at("given_by") == "torchao_mxe4m3_rceil");
  CHECK(counts.at("differ") > 0);
}

TEST_CASE("results that no dialect gives are told with the nearest") {
  const temporary_dir dir;
  REQUIRE(in(dir, "ulp vectors --block nvfp4 -o v.npz && ulp convert v.npz k.npz --to nvfp4").exit_code == 0);
  auto file = read_npz(dir / "k.npz");
  // The seventh element of the last row: four blocks of 16.
  char& code = file.at("codes").bytes.at(282 * 64 + 6);
  code = static_cast<char>(code ^ 8);
  ulp::npz_writer out((dir / "k.npz").string());
  for (const std::string name : {"scale", "codes"}) {
    const npz_array& array = file.at(name);
    out.add(name, array.type, {array.shape.begin(), array.shape.end()}, array.bytes);
  }
  out.finish();
  const auto made = in(dir, "ulp verify --block nvfp4 v.npz --results k.npz");
  CAPTURE(made.out);
  CHECK(made.exit_code == 1);
  CHECK(has(made.out, ", 1 differs\n"));
  CHECK(has(made.out, "\nNo row that is known gives all of them; te_nvfp4_1x16 gives the most, "));
  CHECK(has(made.out, "\nblock 1128, row 282, columns 0 to 15: amax "));
  CHECK(has(made.out, "  1 of 16 elements differ: the first, [282, 6] = "));
}

TEST_CASE("blocks of a shape of one's own, everywhere a row is named") {
  const temporary_dir dir;
  const auto done =
      in(dir,
         "ulp vectors --block mxfp8,block=4x8 -o v.npz && ulp convert v.npz k.npz --to mxfp8,block=4x8 && "
         "ulp verify --block mxfp8,block=4x8 v.npz --results k.npz");
  CAPTURE(done.out, done.err);
  REQUIRE(done.exit_code == 0);
  const auto made = read_npz(dir / "k.npz");
  CHECK(made.at("scale").shape.at(0) * 4 == made.at("codes").shape.at(0));
  // Another dialect's blocks are named after it, in that shape.
  REQUIRE(in(dir, "ulp convert v.npz t.npz --to torchao_mxe4m3_rceil,block=4x8").exit_code == 0);
  const auto other = in(dir, "ulp verify --block mxfp8,block=4x8 v.npz --results t.npz");
  CAPTURE(other.out);
  CHECK(other.exit_code == 1);
  CHECK(has(other.out, "torchao_mxe4m3_rceil,block=4x8"));
  // And back.
  const auto back = in(dir, "ulp convert k.npz back.npy --from mxfp8,block=4x8");
  CAPTURE(back.err);
  CHECK(back.exit_code == 0);
  const auto told = in(dir, "ulp diff v.npz --to mxfp8,block=64 --dialects torchao,te,microxcaling_fp8_e4m3_floor");
  CAPTURE(told.out, told.err);
  CHECK(told.exit_code == 0);
  CHECK(has(told.out, "te_mxfp8_e4m3_cppref,block=1x64"));
  CHECK(has(told.out, "microxcaling_fp8_e4m3_floor,block=1x64"));
  CHECK(has(in(dir, "ulp formats mxfp8,block=64").out, "1x64"));
  CHECK(has(in(dir, "ulp convert v.npz k.npz --to mxfp8,block=0").err,
            "'mxfp8,block=0': behind a format of blocks is block=COLUMNS or block=ROWSxCOLUMNS"));
  CHECK(has(in(dir, "ulp vectors --block fp8_tensor,block=4 -o w.npz").err, "has one scale for a tensor"));
}

TEST_CASE("what is no check of blocks is refused in a line") {
  const temporary_dir dir;
  REQUIRE(in(dir,
             "ulp vectors --block mxfp4 -o v.npz && ulp convert v.npz k.npz --to mxfp4 && "
             "ulp convert v.npz other.npz --to nvfp4")
              .exit_code == 0);
  write_file(dir / "w.npy", npy(npy_dict("<f4", "(2,)"), raw(std::vector<float>{1, 2})));
  const std::vector<std::array<std::string, 2>> refused{
      {"verify --block mxfp4 k.npz", "k.npz: has no array `x` of numbers: ulp vectors --block writes such a file"},
      {"verify --block mxfp4 v.npz", "v.npz: has no array 'codes': add what your kernel makes of x, in the shape ("},
      {"verify --block mxfp4 v.npz --results other.npz", "other.npz: array 'scale': has "},
      {"verify --block mxfp9 v.npz", "--block: 'mxfp9' is no format of blocks; `ulp formats --blocks` lists them"},
      {"verify --op add --format fp16 --results k.npz", "--results: is for --block"},
      {"verify --format fp16", "--op is required"},
      {"verify --block mxfp4 v.npz --results k.npz --rounding rz", "--rounding: is not for --block"},
      {"verify --block mxfp4 v.npz --results k.npz --op add", "--op: is not for --block"},
      {"verify --block mxfp4 v.npz --results k.npz --coverage", "--coverage: is not for --block"},
      {"verify --block mxfp4 v.npz --results k.npz --ignore-flags", "--ignore-flags: is not for --block"},
      {"vectors --block mxfp4 -o other.npz --format fp16", "--format: is not for --block"},
      {"vectors --block mxfp4", "--block: name the .npz to write with -o"},
      {"vectors --block mxfp4 -o v.npy", "-o v.npy: blocks are several arrays: name a .npz"},
      {"diff w.npy --to mxfp8 --dialects torchao", "--dialects: name another to compare torchao_mxe4m3_floor with"},
      {"diff w.npy --to mxfp8 --dialects torchao,nobody", "--dialects: 'nobody' is no dialect of mxfp8: torchao, "},
      {"diff w.npy --to fp16 --dialects all", "--to: 'fp16' is no format of blocks"},
      {"diff w.npy --to mxfp8 --dialects torchao,fp8_1x128",
       "have other blocks: they cannot be compared block by block"}};
  for (const auto& [arguments, message] : refused) {
    const auto made = in(dir, "ulp " + arguments);
    CAPTURE(arguments, made.err);
    CHECK(made.exit_code == 2);
    CHECK(made.out.empty());
    CHECK(has(made.err, message));
  }
}

TEST_CASE("results of another shape or with codes of too many bits are no results") {
  const temporary_dir dir;
  const std::vector<float> x(64, 1);
  const auto given = [&](const std::vector<std::uint64_t>& shape, unsigned code) {
    ulp::npz_writer out((dir / "k.npz").string());
    const std::string codes(64, static_cast<char>(code));
    const std::string scale(2, 125);
    out.add("x", "<f4", {2, 32}, {reinterpret_cast<const char*>(x.data()), 256});
    out.add("scale", "|u1", {2, 1}, scale);
    out.add("codes", "|u1", shape, codes);
    out.finish();
    return in(dir, "ulp verify --block mxfp4 k.npz");
  };
  CHECK(given({2, 32}, 6).exit_code == 0);
  CHECK(given({64}, 6).exit_code == 0);
  const auto turned = given({32, 2}, 6);
  CHECK(turned.exit_code == 2);
  CHECK(has(turned.err, "array 'codes': is of the shape (32, 2); of x torchao_mxe2m1_floor makes (2, 32)"));
  const auto wide = given({2, 32}, 0x66);
  CHECK(wide.exit_code == 2);
  CHECK(has(wide.err, "array 'codes': has 102 at element 0, more than the 4 bits of a code"));
}

TEST_CASE("where dialects part, and the smallest block that shows it") {
  const temporary_dir dir;
  // 449 is beyond 448 by FLOOR alone; the rest is the same.
  write_file(dir / "w.npy", npy(npy_dict("<f4", "(3,)"), raw(std::vector<float>{1, 449, 2})));
  const auto made = in(dir, "ulp diff w.npy --to mxfp8 --dialects torchao,torchao_rceil");
  CAPTURE(made.out, made.err);
  CHECK(made.exit_code == 0);
  CHECK(has(made.out,
            "torchao_mxe4m3_floor and torchao_mxe4m3_rceil: array w, the block at [0, 0]; of its 3 elements "
            "these are enough, others being 0\n"
            "  [1] = 0x1.c1p+8: 448 and 448\n"
            "  scale 127 and 128\n"));
}

TEST_CASE("the table of dialects in docs/blocks.md is what ulp diff says") {
  const std::string page = read_file(source_dir() / "docs/blocks.md");
  const std::size_t begin = page.find("| other blocks, % |");
  REQUIRE(begin != std::string::npos);
  std::stringstream lines(page.substr(begin));
  std::string line;
  std::getline(lines, line);
  std::vector<std::string> names = cells_of(line, '|');
  names.erase(names.begin(), names.begin() + 2);
  std::string dialects;
  for (const std::string& name : names) dialects += (dialects.empty() ? "" : ",") + name;
  const auto made = run_ulp("diff examples/digits.step00100.safetensors --to mxfp8 --csv - --dialects " + dialects);
  CAPTURE(made.err);
  REQUIRE(made.exit_code == 0);
  // Pairs come in the order of their names.
  std::stringstream rows(made.out);
  std::string row;
  std::getline(rows, row);
  REQUIRE(row.starts_with("first,second,blocks,other_scale,other_codes,"));
  std::map<std::array<std::string, 2>, std::string> shares;
  for (std::size_t a = 0; a < names.size(); ++a)
    for (std::size_t b = a + 1; b < names.size(); ++b) {
      REQUIRE(std::getline(rows, row));
      const auto fields = cells_of(row, ',');
      char share[16];
      std::snprintf(share, sizeof share, "%.2f", 100 * std::stod(fields.at(4)) / std::stod(fields.at(2)));
      shares[{names[a], names[b]}] = share;
    }
  std::getline(lines, line);
  std::size_t compared = 0;
  while (std::getline(lines, line) && line.starts_with("|")) {
    const auto cells = cells_of(line, '|');
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!shares.contains({cells.at(1), names[i]})) continue;
      CAPTURE(cells[1], names[i]);
      CHECK(shares.at({cells[1], names[i]}) == cells.at(i + 2));
      ++compared;
    }
  }
  CHECK(compared == shares.size());
}
