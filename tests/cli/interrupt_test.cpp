// Pins how the program ends by a signal while its input is slow: recordings are closed and keep their steps, other files
// are whole or absent with nothing left beside them, and the shell sees the signal.
#include "support/catch.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <vector>

#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

struct ended {
  int exit_code = 0;
  std::string err;
  bool was_writing = false;       // when the signal came
  std::vector<std::string> left;  // files in the folder
};

// `ulp ARGUMENTS` in a folder with the file "old" and an input on stdin that stops in the middle and never ends; the signal
// comes when what MARK matches is there.
ended end_by(int signal, const std::string& arguments, const std::string& mark, const std::string& before = "") {
  const temporary_dir dir;
  std::string rows = "step,tensor,kind,n,zero,nan,inf,max_abs,e_min,counts,sum_abs,sum_sq\n";
  for (int step = 0; step < 20000; ++step)
    rows += std::to_string(step) + ",w,weight_grad,1,0,0,0,0.06,-5,1,0.06,0.0036\n";
  const temporary_dir outside;
  write_file(outside / "rows", rows);
  write_file(dir / "old", "old");
  const std::string in = (outside / "in").string();
  const auto run =
      run_shell("cd " + dir.path().string() + " && mkfifo " + in + "\n" + before + "\nulp " + arguments + " <" + in +
                " & child=$!\n"
                "{ cat " +
                (outside / "rows").string() + "; exec sleep 60; } >" + in +
                " 2>/dev/null & feeder=$!\n"
                "for i in $(seq 200); do ls " +
                mark +
                " >/dev/null 2>&1 && break; sleep 0.1; done\n"
                "ls " +
                mark + " 2>/dev/null\nsleep 0.3\nkill -" + std::to_string(signal) +
                " $child\n"
                "(sleep 30; kill -9 $child) 2>/dev/null & watcher=$!\n"
                "wait $child; code=$?\nkill $feeder $watcher 2>/dev/null\nexit $code");
  ended e{.exit_code = run.exit_code, .err = run.err, .was_writing = !run.out.empty()};
  for (const auto& file : std::filesystem::directory_iterator(dir.path()))
    e.left.push_back(file.path().filename().string());
  std::ranges::sort(e.left);
  CHECK(read_file(dir / "old") == "old");
  if (std::filesystem::exists(dir / "r.ulp")) {
    CHECK(run_ulp("check " + (dir / "r.ulp").string()).exit_code == 0);
    CHECK(run_ulp("info " + (dir / "r.ulp").string()).out.find("steps        none") == std::string::npos);
  }
  return e;
}

}  // namespace

TEST_CASE("SIGTERM, SIGHUP and the like leave no unfinished file") {
  for (const int signal : {SIGTERM, SIGHUP, SIGXCPU, SIGUSR1, SIGALRM, SIGSEGV}) {
    CAPTURE(signal);
    const ended e =
        end_by(signal, "export - --json-lines -o old", "*.part", "ulimit -c 0; export ASAN_OPTIONS=handle_segv=0");
    CHECK(e.was_writing);
    CHECK(e.exit_code == 128 + signal);
    CHECK(e.left == std::vector<std::string>{"old"});
  }
}

TEST_CASE("SIGTERM and SIGHUP end a recording as Ctrl-C does: closed, with what was written") {
  for (const int signal : {SIGTERM, SIGHUP}) {
    CAPTURE(signal);
    const ended e = end_by(signal, "record - -o r.ulp", "r.ulp-wal");
    CAPTURE(e.err);
    CHECK(e.exit_code == 128 + signal);
    CHECK(e.err.find("recorded before the interruption stay\n") != std::string::npos);
    CHECK(e.left == std::vector<std::string>{"old", "r.ulp"});
  }
}
