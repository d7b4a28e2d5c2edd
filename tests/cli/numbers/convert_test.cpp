// ulp convert as it is typed: what it prints, refuses and leaves.
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

namespace fs = std::filesystem;

const std::vector<float> values{0, 1, 0.1F, 1e-9F, 70000};
const std::string five = npy(npy_dict("<f4", "(5,)"), raw(values));

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(folder)) names.push_back(file.path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::size_t lines_in(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

}  // namespace

TEST_CASE("convert says what it wrote, and counts") {
  const temporary_dir dir;
  write_file(dir / "w.npy", five);
  const auto made = run_shell("cd " + dir.path().string() + " && ulp convert w.npy --to fp16 -o o.npy");
  CAPTURE(made.err);
  CHECK(made.exit_code == 0);
  CHECK(made.err.empty());
  CHECK(made.out ==
        "input        w.npy\n"
        "output       o.npy\n"
        "format       fp16 in <f2\n"
        "rounding     nearest-even\n"
        "\n"
        "tensor  from  to   elements  zero  underflow  subnormal  inexact  overflow  NaN\n"
        "w       <f4   <f2         5     1          1          0        3         1    0\n");
  CHECK(read_file(dir / "o.npy").size() == 128 + 10);
  CHECK(names_in(dir.path()) == std::vector<std::string>{"o.npy", "w.npy"});
  const auto drawn = run_shell("cd " + dir.path().string() +
                               " && ulp convert w.npy --to cb16 --rounding sr --seed 3 --scale 2^10 -o o.npy");
  CHECK(drawn.out.find("format       cb16 codes in <u2 (16 bits)\n"
                       "rounding     stochastic:A,bits=32, seed 3\n"
                       "scale        2^10\n") != std::string::npos);
}

TEST_CASE("JSON of a conversion has its totals and a row for each tensor") {
  const temporary_dir dir;
  write_file(dir / "m.npz", zip({{.name = "a.npy", .contents = five},
                                 {.name = "b.npy", .contents = five},
                                 {.name = "i.npy", .contents = npy(npy_dict("<i2", "(1,)"), "12")}}));
  const auto made = run_ulp("convert " + (dir / "m.npz").string() + " --to e4m3fn -o " + (dir / "o.npz").string() +
                            " --rounding sr --seed 9 --saturate --json");
  CAPTURE(made.err);
  REQUIRE(made.exit_code == 0);
  const auto all = nlohmann::json::parse(made.out);
  CHECK(all.at("schema") == "ulp.convert/1");
  CHECK(all.at("summary").at("numel") == 10);
  CHECK(all.at("summary").at("overflow") == 2);
  CHECK(all.at("summary").at("seed") == 9);
  CHECK(all.at("summary").at("copied") == 1);
  CHECK(all.at("notes").at(0).get<std::string>().find("copied as they are: 'i' (<i2)") != std::string::npos);
  REQUIRE(all.at("tensors").size() == 3);
  CHECK(all.at("tensors")[0].at("numel") == 5);
  CHECK(all.at("tensors")[2].at("what") == "copied");
  CHECK(all.at("tensors")[2].at("zero").is_null());
}

TEST_CASE("there and back, by way of every kind of file") {
  const temporary_dir dir;
  write_file(dir / "w.npy", five);
  const std::string in = "cd " + dir.path().string() + " && ulp convert --quiet ";
  const auto run = [&](const std::string& arguments) {
    const auto result = run_shell(in + arguments + " >/dev/null");
    CAPTURE(arguments, result.err);
    CHECK(result.exit_code == 0);
  };
  run("w.npy --to cb16 -o a.safetensors");
  run("a.safetensors --from cb16 --to cb16 -o b.npz");
  run("b.npz --from cb16 --to cb16 -o c.raw");
  run("c.raw --dtype u16 --from cb16 --to cb16 --values -o d.npy");
  run("w.npy --to cb16 --values -o e.npy");
  CHECK(read_file(dir / "d.npy") == read_file(dir / "e.npy"));
  run("w.npy --to fp32 -o f.npy");
  CHECK(read_file(dir / "f.npy").substr(128) == five.substr(128));
  run("w.npy --to fp16 -o - | cat > g.npy; ulp convert w.npy --to fp16 -o h.npy");
  CHECK(read_file(dir / "g.npy") == read_file(dir / "h.npy"));
}

TEST_CASE("what convert does not do is one line, and leaves no file") {
  const temporary_dir dir;
  write_file(dir / "w.npy", five);
  write_file(dir / "w.bin", std::string(8, '\0'));
  write_file(dir / "m.npz", zip({{.name = "a.npy", .contents = five}}));
  fs::create_symlink(dir / "w.npy", dir / "link.npy");
  const auto before = names_in(dir.path());
  const auto refused = [&](const std::string& arguments, const std::string& reason) {
    CAPTURE(arguments);
    const auto result = run_shell("cd " + dir.path().string() + " && ulp convert " + arguments);
    CAPTURE(result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    CHECK(lines_in(result.err) == 1);
    CHECK(result.err.find(reason) != std::string::npos);
    CHECK(names_in(dir.path()) == before);
    CHECK(read_file(dir / "w.npy") == five);
  };
  refused("w.npy --to fp16 -o w.npy", "w.npy is an input and would be overwritten");
  refused("w.npy --to fp16 -o link.npy", "link.npy is an input and would be overwritten");
  refused("w.npy --to fp17 -o o.npy", "unknown format 'fp17'");
  refused("w.npy --to fp17", "unknown format 'fp17'");
  refused("w.npy o.JSON --to fp16", "a text file is not written");
  refused("w.npy o.csv --to fp16", "o.csv: a text file is not written: name it .npy");
  refused("w.npy --to fp64 -o o.npy", "codes of float64 have 64 bits");
  refused("w.npy --to e8m0 -o o.npy", "has no sign and no zero");
  refused("w.npy --to fp16 --scale 0 -o o.npy", "--scale");
  refused("w.npy --to fp16 --rounding up -o o.npy", "--rounding");
  refused("w.npy --to fp16 --tensor '(' -o o.npy", "--tensor");
  refused("w.npy --to fp16 --tensor x -o o.npy", "--tensor selects nothing that can be converted");
  refused("w.npy --to fp16 -o folder/o.npy", "folder/o.npy: cannot be written: there is no folder 'folder' in ");
  refused("w.npy --to fp16", "name it after INPUT, or with -o");
  refused("w.npy --to fp16 -o ''", "the file name is empty");
  refused("w.npy --to fp4 --values --packed -o o.npy", "--values excludes --packed");
  refused("w.npy --to fp16 --dtype f32 -o o.npy", "remove --dtype");
  refused("w.bin --to fp16 -o o.npy", "--dtype");
  refused("w.bin --to fp16 --dtype f16 -o o.npy", "--dtype");
  refused("none.npy --to fp16 -o o.npy", "none.npy: No such file or directory");
  refused("- --to fp16 -o o.npy", "standard input cannot be converted");
  refused("w.npy --to fp16 -o - --json", "both write to standard output");
  refused("m.npz --to fp16 -o -", "a .npz cannot be written to standard output or a pipe");
}

TEST_CASE("a NaN that the format does not have is told") {
  const temporary_dir dir;
  write_file(dir / "w.npy", npy(npy_dict("<f4", "(2,)"), raw(std::vector<float>{1, NAN})));
  const auto made = run_ulp("convert " + (dir / "w.npy").string() + " --to float4_e2m1 -o " + (dir / "o.npy").string());
  CHECK(made.exit_code == 0);
  CHECK(made.err == "ulp: warning: float4_e2m1 has no NaN: the one of the input became a number\n");
}

TEST_CASE("what was there stays until the new file is whole, and keeps its permissions") {
  const temporary_dir dir;
  write_file(dir / "w.npy", five);
  write_file(dir / "o.npy", "old");
  REQUIRE(chmod((dir / "o.npy").c_str(), 0600) == 0);
  const std::string arguments = "convert " + (dir / "w.npy").string() + " --to fp16 -o " + (dir / "o.npy").string();
  REQUIRE(run_ulp(arguments).exit_code == 0);
  CHECK(read_file(dir / "o.npy").size() == 138);
  struct stat state {};
  REQUIRE(stat((dir / "o.npy").c_str(), &state) == 0);
  CHECK((state.st_mode & 0777) == 0600);
}

TEST_CASE("signals leave no unfinished conversion") {
  const temporary_dir dir;
  write_file(dir / "w.npy", npy(npy_dict("<f4", "(2000000000,)"), ""));
  fs::resize_file(dir / "w.npy", fs::file_size(dir / "w.npy") + 8'000'000'000);
  write_file(dir / "o.npy", "old");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    CAPTURE(signal);
    // As a job of its own, since Ctrl-C is ignored in what a shell runs behind it.
    const auto run =
        run_shell("cd " + dir.path().string() + " && exec timeout --foreground -s " + std::to_string(signal) +
                  " 1 ulp convert w.npy --to e5m7 --rounding sr:bits=all --threads 1 -o o.npy");
    CHECK(run.exit_code != 0);
    CHECK(run.err.find("interrupted") != std::string::npos);
    CHECK(read_file(dir / "o.npy") == "old");
    CHECK(names_in(dir.path()) == std::vector<std::string>{"o.npy", "w.npy"});
  }
}

TEST_CASE("results do not depend on --threads, and do on the seed and the tensor's name") {
  const temporary_dir dir;
  std::vector<float> many(600'000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = 1 + static_cast<float>(i) * 1e-7F;
  write_file(dir / "w.npy", npy(npy_dict("<f4", "(600000,)"), raw(many)));
  fs::copy_file(dir / "w.npy", dir / "v.npy");
  const auto made = [&](const std::string& options) {
    const auto result =
        run_shell("cd " + dir.path().string() + " && ulp convert --to e4m3 --rounding sr:bits=8 -o o.npy " + options);
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    return read_file(dir / "o.npy");
  };
  const std::string one = made("w.npy --threads 1");
  CHECK(made("w.npy --threads 2") == one);
  CHECK(made("w.npy") == one);
  CHECK(made("w.npy --seed 1") != one);
  CHECK(made("v.npy") != one);
}
