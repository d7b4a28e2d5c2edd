// Pins promise 7 on the command line: rejected input leaves no file, existing files are not overwritten, appending.
#include "support/catch.hpp"

#include <filesystem>

#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

const std::string dump = "examples/digits.step00100.safetensors";

std::size_t files_in(const temporary_dir& dir) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(dir.path()), {}));
}

}  // namespace

TEST_CASE("what was recorded is said, with its steps") {
  const temporary_dir dir;
  const std::string run = (dir / "r.ulp").string();
  const auto result = run_ulp("record " + dump + " -o " + run);
  CHECK(result.exit_code == 0);
  CHECK(result.out == run + ": 1 step (step 100), 13 tensor rows, from safetensors dump\n");
  CHECK(files_in(dir) == 1);
  const auto again = run_ulp("record " + dump + " -o " + run);
  CHECK(again.exit_code == 2);
  CHECK(again.err ==
        "ulp: " + run +
            ": already exists: give another name, replace it with --overwrite, or add to it with --append\n");
  CHECK(run_ulp("record " + dump + " --append -o " + run).err ==
        "ulp: " + run + ": step 100: is in the recording already\n");
  CHECK(run_ulp("record tests/data/octaves/digits.ulp --append --steps 101 -o " + run).exit_code == 0);
  CHECK(run_ulp("info " + run).out.find("2: 100 to 101") != std::string::npos);
}

TEST_CASE("bad input names file, place and reason, and leaves nothing behind") {
  const temporary_dir dir;
  const std::string out = " -o " + (dir / "r.ulp").string();
  const std::string good = read_file(source_dir() / dump);
  write_file(dir / "cut.safetensors", good.substr(0, good.size() - 1));
  std::string lying = good;
  lying[0] = static_cast<char>(lying[0] + 1);
  write_file(dir / "lying.safetensors", lying);
  write_file(dir / "log.csv", "step,found_inf\n0,0\n1,maybe\n");
  write_file(dir / "late.csv", "step,maxabs\n0,0.5\n1,1\n2,x\n");
  for (const std::string name : {"cut.safetensors", "lying.safetensors", "log.csv", "late.csv"}) {
    const auto run = run_ulp("record " + (dir / name).string() + out);
    CAPTURE(name, run.err);
    CHECK(run.exit_code == 2);
    CHECK(run.err.starts_with("ulp: " + (dir / name).string() + ": "));
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    CHECK(files_in(dir) == 4);
  }
  // The second of two inputs is bad: nothing of the first is kept.
  CHECK(run_ulp("record " + dump + " " + (dir / "cut.safetensors").string() + out).exit_code == 2);
  CHECK(run_ulp("record " + dump + " --steps 5" + out).exit_code == 2);
  CHECK(run_ulp("record " + dump + " --scalars " + (dir / "log.csv").string() + out).exit_code == 2);
  CHECK(files_in(dir) == 4);
}

TEST_CASE("a CSV that is rejected half way leaves no trajectory") {
  const temporary_dir dir;
  write_file(dir / "late.csv", "step,maxabs\n0,0.5\n1,1\n2,x\n");
  const auto run = run_ulp("replay " + (dir / "late.csv").string() + " --scaler torch --format fp16 --csv " +
                           (dir / "t.csv").string());
  CHECK(run.exit_code == 2);
  CHECK(run.err.find("line 4") != std::string::npos);
  CHECK(files_in(dir) == 1);
}

TEST_CASE("edges that meet when they are multiplied by the factor are one") {
  const temporary_dir dir;
  const std::string run = (dir / "r.ulp").string();
  CHECK(run_ulp("record " + dump + " --edge 1.1,1.1000000000000003,1.1000000000000001 --factor 3e-310 -o " + run)
            .exit_code == 0);
  CHECK(run_ulp("outcomes " + run + " --format fp16").exit_code == 0);
}

TEST_CASE("--overwrite replaces a recording once the new one is whole, and nothing else") {
  const temporary_dir dir;
  const std::string run = (dir / "r.ulp").string();
  REQUIRE(run_ulp("record " + dump + " -o " + run).exit_code == 0);
  const std::string before = read_file(run);
  // What fails leaves the old one, and nothing beside it.
  write_file(dir / "cut.safetensors", read_file(source_dir() / dump).substr(0, 3000));
  CHECK(run_ulp("record " + (dir / "cut.safetensors").string() + " --overwrite -o " + run).exit_code == 2);
  write_file(dir / "late.csv", "step,maxabs\n0,0.5\n1,1\n2,x\n");
  CHECK(run_ulp("record " + (dir / "late.csv").string() + " --overwrite -o " + run).exit_code == 2);
  CHECK(run_ulp("record " + dump + " --steps 5 --overwrite -o " + run).exit_code == 2);
  CHECK(read_file(run) == before);
  CHECK(files_in(dir) == 3);

  REQUIRE(run_ulp("record tests/data/octaves/digits.ulp --steps 0:3 --overwrite -o " + run).exit_code == 0);
  CHECK(run_ulp("info " + run).out.find("3: 0 to 2") != std::string::npos);
  CHECK(files_in(dir) == 3);
  // It may be its own input, and there may be none.
  REQUIRE(run_ulp("record " + run + " --steps 0 --overwrite -o " + run).exit_code == 0);
  CHECK(run_ulp("check " + run).exit_code == 0);
  CHECK(run_ulp("record " + dump + " --overwrite -o " + (dir / "new.ulp").string()).exit_code == 0);
  CHECK(files_in(dir) == 4);

  write_file(dir / "notes.txt", "mine");
  const auto other = run_ulp("record " + dump + " --overwrite -o " + (dir / "notes.txt").string());
  CHECK(other.exit_code == 2);
  CHECK(other.err.find("is not a recording, and only recordings are replaced") != std::string::npos);
  CHECK(read_file(dir / "notes.txt") == "mine");
  CHECK(run_ulp("record " + dump + " --overwrite --append -o " + run).exit_code == 2);
}

TEST_CASE("folders of dumps say which ranks wrote them") {
  const temporary_dir dir;
  const std::string dumps = "tests/data/framework_dumps/";
  const std::string run = (dir / "r.ulp").string();
  const auto whole = run_ulp("record " + dumps + "tensor_dumps -o " + run);
  CHECK(whole.exit_code == 0);
  CHECK(whole.out == run + ": 1 step (step 100), 2 tensor rows, from TransformerEngine dump\n");
  CHECK(whole.err ==
        "ulp: note: " + dumps +
            "tensor_dumps/rank_0/iter_000100/proj_weight.pt and 3 more: not read: 'quantized' "
            "(transformer_engine.pytorch.tensor.float8_tensor._make_float8_tensor_in_reduce_ex)\n"
            "ulp: note: " +
            dumps +
            "tensor_dumps: holds the gradients of several ranks before they are reduced, counted together: "
            "norms are of all of them, not of their mean\n");
  const std::string digest = run_ulp("info " + run + " --digest").out;
  std::string parts;
  for (const std::string rank : {"0", "1"}) {
    const std::string part = (dir / ("rank" + rank + ".ulp")).string();
    const auto recorded = run_ulp("record " + dumps + "tensor_dumps/rank_" + rank + " --rank " + rank +
                                  " --world 2 --run-id a --layout shard --reduction local -o " + part);
    CHECK(recorded.exit_code == 0);
    parts += part + " ";
  }
  const std::string merged = (dir / "merged.ulp").string();
  CHECK(run_ulp("merge " + parts + "-o " + merged).exit_code == 0);
  CHECK(run_ulp("info " + merged + " --digest").out == digest);

  const std::string out = " -o " + (dir / "none.ulp").string();
  const std::string given = " --world 4 --run-id a --layout shard";
  const std::string refused = "ulp: --rank: the folders of the input say which ranks wrote it, ";
  const std::string what_to_do = "; remove the option, or name the folder of one rank\n";
  CHECK(run_ulp("record " + dumps + "tensor_dumps --rank 0" + given + out)
            .err.ends_with(refused + "several" + what_to_do));
  CHECK(run_ulp("record " + dumps + "tensor_dumps/rank_1 --rank 2" + given + out)
            .err.ends_with(refused + "rank 1" + what_to_do));
  CHECK(run_ulp("record " + dumps + "tensor_dumps --world 1" + out)
            .err.ends_with("ulp: --world: 1 is not above rank 1, which the folders of the input say\n"));
  CHECK_FALSE(std::filesystem::exists(dir / "none.ulp"));
}
