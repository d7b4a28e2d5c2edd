// Pins `ulp merge` and recording by rank: shards recorded by processes of their own and merged are what one process
// records of the whole; incomplete steps are told wherever they are counted; output is whole or absent.
#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

#include "support/dumps.hpp"
#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

// FOLDER/whole.ulp and FOLDER/part0.ulp, part1.ulp, part2.ulp of 4 steps.
void record_all(const temporary_dir& dir) {
  write_dumps(dir.path(), 4, 3);
  const std::string folder = dir.path().string();
  // As with any launcher: processes beside each other that know nothing of one another.
  const auto run =
      run_shell("cd " + folder +
                " && ulp record whole/* -o whole.ulp && seq 0 2 | xargs -P2 -I{} sh -c 'ulp record part{}/* "
                "--run-id r --rank {} --world 3 --layout shard -o part{}.ulp'");
  REQUIRE(run.exit_code == 0);
}

std::string digest(const std::string& file) { return run_ulp("info --digest " + file).out; }

}  // namespace

TEST_CASE("shards recorded under any launcher and merged are the whole") {
  const temporary_dir dir;
  record_all(dir);
  const std::string d = dir.path().string() + "/";
  const std::string truth = digest(d + "whole.ulp");
  CHECK(truth.size() > 32);
  const auto all = run_ulp("merge " + d + "part2.ulp " + d + "part0.ulp " + d + "part1.ulp -o " + d + "all.ulp");
  CHECK(all.out == d + "all.ulp: 4 steps (0 to 3), 16 tensor rows, ranks 0-2 of 3, from 3 recordings\n");
  CHECK(all.err.empty());
  CHECK(digest(d + "all.ulp") == truth);
  CHECK(run_ulp("info " + d + "all.ulp").out.find("ranks        every step is complete") != std::string::npos);
  // In two goes.
  CHECK(run_ulp("merge " + d + "part2.ulp " + d + "part0.ulp -o " + d + "some.ulp").exit_code == 0);
  CHECK(run_ulp("merge " + d + "some.ulp " + d + "part1.ulp -o " + d + "again.ulp").exit_code == 0);
  CHECK(digest(d + "again.ulp") == truth);
  const auto outcomes_of = [&](const char* name) {
    nlohmann::json rows = nlohmann::json::parse(run_ulp("outcomes " + d + name + " --format fp16 --json").out);
    for (nlohmann::json& row : rows) row.erase("notes");  // that they are reduced
    return rows;
  };
  const bool same = outcomes_of("all.ulp") == outcomes_of("whole.ulp");
  CHECK(same);
}

TEST_CASE("steps that lack ranks are told wherever they are counted") {
  const temporary_dir dir;
  record_all(dir);
  const std::string part = dir.path().string() + "/part1.ulp";
  const std::string warning = "ulp: warning: " + part +
                              ": every step lacks ranks, the first is step 0, which has rank 1 of 3: only the ranks "
                              "present are counted; ulp merge adds the recordings of other ranks\n";
  CHECK(run_ulp("outcomes " + part + " --format fp16").err.find(warning) != std::string::npos);
  CHECK(run_ulp("replay " + part + " --scaler pytorch --format fp16").err.find(warning) != std::string::npos);
  CHECK(run_ulp("info " + part).out.find("ranks        every step lacks ranks, the first is step 0") !=
        std::string::npos);
  const auto merged =
      run_ulp("merge " + part + " " + dir.path().string() + "/part2.ulp -o " + dir.path().string() + "/m.ulp");
  CHECK(merged.err ==
        "ulp: note: every step lacks ranks, the first is step 0, which has ranks 1,2 of 3: kept as they are, and "
        "marked\n");
}

TEST_CASE("a recording of format 1 is read as before, said to have no checksums, and copied into format 2") {
  const temporary_dir dir;
  const std::string old = "tests/data/format1/recorder.ulp";
  const std::string copy = (dir / "copy.ulp").string();
  // What the program of that time printed.
  const std::string digest = "d1314c301f870e43f25eb53bde06713ae1ebaa84577eca0f4eafbc5d4373b9ec\n";
  const std::string told = "recording format 1 has no checksums";
  CHECK(run_ulp("info --digest " + old).out == digest);
  CHECK(run_ulp("info " + old).err.find(told) != std::string::npos);
  const auto checked = run_ulp("check " + old);
  CHECK(checked.exit_code == 0);
  CHECK(checked.err.find(told) != std::string::npos);
  const auto appended = run_ulp("record examples/digits.step00100.safetensors --append -o " + old);
  CHECK(appended.exit_code == 2);
  CHECK(appended.err.find("`ulp merge OLD -o NEW`") != std::string::npos);
  REQUIRE(run_ulp("merge " + old + " -o " + copy).exit_code == 0);
  CHECK(run_ulp("info --digest " + copy).out == digest);
  const auto mended = run_ulp("check " + copy);
  CHECK(mended.exit_code == 0);
  CHECK(mended.err.empty());
  const std::string replay = " --scaler pytorch --set init_scale=1024 --format fp16 --csv -";
  CHECK(run_ulp("replay " + copy + replay).out == run_ulp("replay " + old + replay).out);
}

TEST_CASE("a merge that is refused leaves no file and one line") {
  const temporary_dir dir;
  record_all(dir);
  const std::string d = dir.path().string() + "/";
  const std::size_t files = files_in(dir.path());
  for (const std::string& wrong :
       {d + "part0.ulp " + d + "part0.ulp -o " + d + "x.ulp", d + "part0.ulp " + d + "whole.ulp -o " + d + "x.ulp",
        d + "part0.ulp " + d + "part1.ulp -o " + d + "whole.ulp",
        d + "part0.ulp " + d + "whole/step00000.safetensors -o " + d + "x.ulp"}) {
    const auto run = run_ulp("merge " + wrong);
    CAPTURE(wrong, run.err);
    CHECK(run.exit_code == 2);
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    CHECK(files_in(dir.path()) == files);
  }
}

TEST_CASE("which rank an input is must be said whole, and stays when more is appended") {
  const temporary_dir dir;
  write_dumps(dir.path(), 2, 2);
  const std::string d = dir.path().string() + "/";
  const auto refused = [&](const std::string& options) {
    const auto run = run_ulp("record " + d + "part1/* -o " + d + "x.ulp " + options);
    CHECK(run.exit_code == 2);
    return run.err;
  };
  CHECK(refused("--rank 2 --world 2 --run-id r --layout shard").starts_with("ulp: --rank: 2 is not below the 2 ranks"));
  CHECK(refused("--rank 1 --world 2").starts_with("ulp: --world: ulp merge combines the ranks of one run"));
  CHECK_FALSE(std::filesystem::exists(d + "x.ulp"));

  REQUIRE(run_ulp("record " + d + "part1/* --steps 0 --rank 1 --world 2 --run-id r --layout shard -o " + d + "b.ulp")
              .exit_code == 0);
  CHECK(run_ulp("record " + d + "part1/* --steps 1 --rank 0 --append -o " + d + "b.ulp").err ==
        "ulp: --rank: " + d + "b.ulp has 1; remove the option, or record into another file\n");
  REQUIRE(run_ulp("record " + d + "part1/* --steps 1 --append -o " + d + "b.ulp").exit_code == 0);
  REQUIRE(run_ulp("record " + d + "part0/* --rank 0 --world 2 --run-id r --layout shard -o " + d + "a.ulp").exit_code ==
          0);
  REQUIRE(run_ulp("merge " + d + "a.ulp " + d + "b.ulp -o " + d + "m.ulp").err.empty());
  REQUIRE(run_ulp("record " + d + "whole/* -o " + d + "whole.ulp").exit_code == 0);
  CHECK(digest(d + "m.ulp") == digest(d + "whole.ulp"));
}

TEST_CASE("a program without the means to speak with the others refuses to write one file several times") {
  const temporary_dir dir;
  write_dumps(dir.path(), 1, 1);
  const std::string d = dir.path().string() + "/";
  // Alone in a folder, as it is where MPI was not found.
  const std::string alone = "cp \"$(command -v ulp)\" " + d + "ulp && OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=";
  const std::string record = " " + d + "ulp record " + d + "whole/* -o " + d + "x.ulp";
  const auto first = run_shell(alone + "0" + record);
  CHECK(first.exit_code == 2);
  CHECK(first.err.starts_with("ulp: this is process 0 of 2, but ulp was built without MPI: "));
  const auto second = run_shell(alone + "1" + record);
  CHECK(second.exit_code == 2);
  CHECK(second.err.starts_with("ulp: this is process 1 of 2, but ulp was built without MPI: "));
  CHECK_FALSE(std::filesystem::exists(d + "x.ulp"));
  // A batch script of Slurm is one process, a step of it is several.
  CHECK(run_shell("cp \"$(command -v ulp)\" " + d + "ulp && SLURM_NTASKS=2 SLURM_PROCID=0" + record).exit_code == 0);
  CHECK(run_shell("SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0" + record).exit_code == 2);
}

TEST_CASE("a merge of ranks without sums or error ladders says that these are lost") {
  const temporary_dir dir;
  write_dumps(dir.path(), 2, 2);
  const std::string d = dir.path().string() + "/";
  const auto record = [&](const std::string& part, const std::string& more, const std::string& to) {
    return run_ulp("record " + d + "part" + part + "/* --run-id r --rank " + part + " --world 2 --layout shard " +
                   more + " -o " + d + to)
        .exit_code;
  };
  REQUIRE(record("0", "", "a.ulp") == 0);
  REQUIRE(record("1", "--no-sums", "b.ulp") == 0);
  const auto merged = run_ulp("merge " + d + "a.ulp " + d + "b.ulp -o " + d + "m.ulp");
  CHECK(merged.exit_code == 0);
  CHECK(merged.err == "ulp: note: " + d +
                          "b.ulp: has no exact sums, so 8 tensor rows that it shares with other ranks have none: norms "
                          "become estimates (see ulp record --no-sums)\n");
  REQUIRE(record("0", "--with-errors", "e.ulp") == 0);
  REQUIRE(record("1", "", "f.ulp") == 0);
  CHECK(run_ulp("merge " + d + "e.ulp " + d + "f.ulp -o " + d + "n.ulp").err.find("f.ulp: has no error ladder") !=
        std::string::npos);
}

TEST_CASE("each process of a launcher that cannot work says why") {
  for (const std::string variables :
       {"SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=8", "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=8"}) {
    const temporary_dir dir;
    // MPI does not give back what it took before it failed.
    const auto run =
        run_shell(variables + " ASAN_OPTIONS=detect_leaks=0 ulp record examples/digits.step00100.safetensors -o " +
                  (dir / "r.ulp").string());
    CAPTURE(variables);
    CHECK(run.exit_code == 2);
    // MPI may have things to say of the machine.
    CHECK(run.err.find("ulp: this is process 3 of 8, but ") == run.err.find("ulp: "));
    CHECK(run.err.find("ulp: ") == run.err.rfind("ulp: "));
  }
}
