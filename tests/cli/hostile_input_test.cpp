// Files of others on the command line: what is not read is refused, what is printed is tame, limits have overrides.
#include "support/catch.hpp"

#include <filesystem>

#include "io/builders.hpp"
#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

const std::string ids = npy(npy_dict("<i8", "(1,)"), std::string(8, '\1'));
const std::string values = npy(npy_dict("<f4", "(1,)"), std::string(4, '\0'));

// For the shell.
std::string quoted(const std::filesystem::path& path) { return "'" + path.string() + "'"; }

bool is_tame(const std::string& text) {
  for (const std::string_view bad : {"\x1B", "\xC2\x9B", "\xE2\x80\xAE", "\xE2\x80\xA8", "\xE2\x80\x8D", "\xFF"})
    if (text.find(bad) != std::string::npos) return false;
  return true;
}

}  // namespace

TEST_CASE("inputs without any tensor are refused by every command, unless they are allowed") {
  const temporary_dir dir;
  write_file(dir / "a.npy", ids);
  const std::string file = quoted(dir / "a.npy");
  const std::string out = quoted(dir / "r.ulp");
  for (const std::string& command :
       {"record " + file + " -o " + out, "info " + file, "outcomes " + file + " --format fp16", "export " + file,
        "replay " + file + " --scaler pytorch --format fp16"}) {
    CAPTURE(command);
    const auto refused = run_ulp(command);
    CHECK(refused.exit_code == 2);
    CHECK(refused.err ==
          "ulp: " + (dir / "a.npy").string() +
              ": holds no readable tensor; not read: 'a' (<i8); --allow-empty accepts it as an empty step\n");
    CHECK_FALSE(std::filesystem::exists(dir / "r.ulp"));
    const auto allowed = run_ulp(command + " --allow-empty");
    CHECK(allowed.err.find("holds no readable tensor; its step is empty") != std::string::npos);
    std::filesystem::remove(dir / "r.ulp");
  }
  CHECK(run_ulp("info " + file + " --allow-empty").exit_code == 0);
  CHECK(run_ulp("replay " + file + " --scaler pytorch --format fp16 --allow-empty")
            .err.find("the steps have neither gradients nor overflow") != std::string::npos);
  // A step among others.
  write_file(dir / "step1.npy", ids);
  write_file(dir / "step2.npy", values);
  const auto one = run_ulp("info " + quoted(dir / "step1.npy") + " " + quoted(dir / "step2.npy"));
  CHECK(one.exit_code == 0);
  CHECK(one.err.find("step1.npy: holds no readable tensor; its step is empty") != std::string::npos);
}

TEST_CASE("paths, names and layers are tame wherever they are printed") {
  const temporary_dir dir;
  const std::string bad = "x\x1B[31m\xC2\x9B\xE2\x80\xAE\xE2\x80\xA8\xFF";
  const std::string named = "step1" + bad + ".npz";
  const std::string joined = "\xE0\xA4\x95\xE2\x80\x8D";
  write_file(dir / named, zip({{.name = joined + ".npy", .contents = values}, {.name = bad, .contents = ""}}));
  const std::string file = quoted(dir / named);
  const std::string run = quoted(dir / (bad + ".ulp"));
  const std::string page = quoted(dir / (bad + ".html"));
  for (const std::string& command : {"info " + file,
                                     "info " + file + " --json",
                                     "record " + file + " -o " + run,
                                     "info " + run,
                                     "check " + run,
                                     "info " + run + " " + file,
                                     "merge " + run + " -o " + quoted(dir / (bad + "2.ulp")),
                                     "outcomes " + run + " --format fp16 --by tensor",
                                     "outcomes " + run + " --format '" + bad + "'",
                                     "outcomes " + run + " --format fp16 --json",
                                     "advise " + run + " --format fp16",
                                     "replay " + run + " --scaler pytorch --format fp16",
                                     "replay " + run + " --config " + file,
                                     "sweep " + run + " --scaler '" + bad + "' --format fp16",
                                     "export " + run + " --json-lines",
                                     "report " + run + " --scaler pytorch --format fp16 -o " + page,
                                     "info '" + bad + "'",
                                     "'" + bad + "'",
                                     "info " + file + " --steps '" + bad + "'",
                                     "info " + file + " --limit '" + bad + "=1'"}) {
    CAPTURE(command);
    const auto result = run_ulp(command);
    CHECK(is_tame(result.out));
    CHECK(is_tame(result.err));
  }
  CHECK(is_tame(read_file(dir / (bad + ".html"))));  // so that all of them were made
  // Machines get the exact name.
  CHECK(run_ulp("export " + run).out.find(joined) != std::string::npos);
  CHECK(run_ulp("info " + run + " --json").out.find("\xE0\xA4\x95\\u200D") != std::string::npos);
  write_file(dir / "layers.csv", "step,layer,found_inf\n1," + bad + ",0\n1," + bad + ",0\n");
  CHECK(is_tame(run_ulp("info " + quoted(dir / "layers.csv")).err));
}

TEST_CASE("limits are named by the error and lifted by --limit") {
  const temporary_dir dir;
  write_file(dir / "a.npz", zip({{.name = "a.npy", .contents = values}, {.name = "b.npy", .contents = values}}));
  const std::string info = "info " + quoted(dir / "a.npz");
  const auto refused = run_ulp(info + " --limit tensors=1");
  CHECK(refused.exit_code == 2);
  CHECK(refused.err == "ulp: " + (dir / "a.npz").string() +
                           ": central directory: holds 2 members or more; the limit is 1 tensors; --limit tensors=N "
                           "raises it, --limit tensors=none lifts it, for files that you trust\n");
  CHECK(run_ulp(info + " --limit tensors=2 --limit header=none").exit_code == 0);
  CHECK(run_ulp(info + " --limit tensor=2").err ==
        "ulp: --limit: unknown limit 'tensor': one of tensors, header, header-share, inflate-ratio, text, rows\n");
  CHECK(run_ulp(info + " --limit tensors=-1").err == "ulp: --limit: '-1' is neither a whole number nor none\n");
  CHECK(run_ulp(info + " --limit tensors").exit_code == 2);
}
