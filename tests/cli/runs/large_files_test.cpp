// Pins that memory does not grow with a file: dumps of gigabytes that are holes on the disk, and small ones that ask for
// much; and that steps which a log leaves open cost no time.
#include <sys/resource.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "io/builders.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

namespace fs = std::filesystem;

// The most KiB that a child had.
long most_memory() {
  rusage all{};
  getrusage(RUSAGE_CHILDREN, &all);
  return all.ru_maxrss;
}

// Of all children, in seconds.
double processor_time() {
  rusage all{};
  getrusage(RUSAGE_CHILDREN, &all);
  return static_cast<double>(all.ru_utime.tv_sec) + 1e-6 * static_cast<double>(all.ru_utime.tv_usec);
}

void write_with_hole(const fs::path& path, const std::string& before, std::uint64_t hole,
                     const std::string& after = "") {
  write_file(path, before);
  fs::resize_file(path, before.size() + hole);
  std::ofstream(path, std::ios::binary | std::ios::app) << after;
}

// An archive whose last member's contents go on for `hole` zeros.
void write_zip(const fs::path& path, std::vector<zip_entry> entries, std::uint64_t hole) {
  zip_entry& last = entries.back();
  const auto* const start = reinterpret_cast<const Bytef*>(last.contents.data());
  const uLong found = crc32_z(0, start, last.contents.size());
  uLong crc = found;
  const std::vector<Bytef> zeros(std::size_t{1} << 20);
  for (std::uint64_t left = hole; left > 0; left -= std::min<std::uint64_t>(left, zeros.size()))
    crc = crc32_z(crc, zeros.data(), std::min<std::uint64_t>(left, zeros.size()));
  last.crc_error = static_cast<std::uint32_t>(found ^ crc);
  last.size = last.packed_size = static_cast<std::int64_t>(last.contents.size() + hole);
  std::string file = zip(entries);
  const std::size_t directory = file.find("PK\x01\x02");
  file.replace(file.size() - 6, 4, little(directory + hole, 4));
  write_with_hole(path, file.substr(0, directory), hole, file.substr(directory));
}

void check_recorded(const temporary_dir& dir, const std::string& name) {
  const std::string recording = (dir / (name + ".ulp")).string();
  const auto made = run_ulp("record " + (dir / name).string() + " -o " + recording);
  INFO(name << ": " << made.err);
  CHECK(made.exit_code == 0);
  CHECK(run_ulp("outcomes " + recording + " --format fp16").out.find("0,000,000") != std::string::npos);
  CHECK(most_memory() < 100 * 1024);
}

void check_converted(const temporary_dir& dir, const std::string& name) {
  const auto made =
      run_ulp("convert " + (dir / name).string() + " --to e4m3fn -o " + (dir / ("converted_" + name)).string());
  INFO(name << ": " << made.err);
  CHECK(made.exit_code == 0);
  CHECK(made.out.find("0,000,000") != std::string::npos);
  CHECK(most_memory() < 100 * 1024);
  fs::remove(dir / ("converted_" + name));
}

constexpr std::uint64_t values = 500'000'000;

}  // namespace

TEST_CASE("2 GB of safetensors, 1 GB of npy, 0.6 GB of npz and pt are recorded within 100 MB") {
  const temporary_dir dir;
  write_with_hole(dir / "a.safetensors",
                  safetensors(R"({"w":{"dtype":"F32","shape":[500000000],"data_offsets":[0,2000000000]}})", ""),
                  4 * values);
  check_recorded(dir, "a.safetensors");
  fs::remove(dir / "a.safetensors");
  write_with_hole(dir / "a.npy", npy(npy_dict("<f2", "(500000000,)"), ""), 2 * values);
  check_recorded(dir, "a.npy");
  write_zip(dir / "a.npz", {{.name = "w.npy", .contents = npy(npy_dict("<f4", "(150000000,)"), "")}}, 600'000'000);
  check_recorded(dir, "a.npz");
  // A transposed part of a storage, which is read in pieces.
  const auto text = [](const std::string& s) { return "X" + little(s.size(), 4) + s; };
  const std::string pickled = "\x80\x02}" + text("a") + "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") +
                              "ctorch\nFloatStorage\n" + text("0") + text("cpu") + "J" + little(150'000'000, 4) +
                              "tQK" + little(0, 1) + "(J" + little(10'000, 4) + "J" + little(10'000, 4) + "t(K\x01J" +
                              little(15'000, 4) + "t\x89" + "ccollections\nOrderedDict\n)RtRs.";
  write_zip(dir / "a.pt", {{.name = "a/data.pkl", .contents = pickled}, {.name = "a/data/0"}}, 600'000'000);
  check_recorded(dir, "a.pt");
}

TEST_CASE("2 GB of safetensors and 0.6 GB of npz are converted within 100 MB") {
  const temporary_dir dir;
  write_with_hole(dir / "a.safetensors",
                  safetensors(R"({"w":{"dtype":"F32","shape":[500000000],"data_offsets":[0,2000000000]}})", ""),
                  4 * values);
  check_converted(dir, "a.safetensors");
  fs::remove(dir / "a.safetensors");
  write_zip(dir / "a.npz", {{.name = "w.npy", .contents = npy(npy_dict("<f4", "(150000000,)"), "")}}, 600'000'000);
  check_converted(dir, "a.npz");
}

TEST_CASE("a header that asks for gigabytes is refused in little memory") {
  const temporary_dir dir;
  const std::string out = " -o " + (dir / "r.ulp").string();
  const auto refused = [&](const std::string& name) {
    const auto result = run_ulp("record " + (dir / name).string() + out);
    INFO(name << ": " << result.err);
    CHECK(result.exit_code == 2);
    CHECK(std::ranges::count(result.err, '\n') == 1);
    CHECK_FALSE(fs::exists(dir / "r.ulp"));
    CHECK(most_memory() < 200 * 1024);
  };
  write_with_hole(dir / "header.safetensors", little(99'999'999, 8) + "{", 99'999'998);
  refused("header.safetensors");
  write_file(dir / "a.npy", npy(npy_dict("<f4", "(4611686018427387904,)"), ""));
  refused("a.npy");
  write_zip(dir / "a.pt", {{.name = "a/data.pkl"}}, 33'000'000);
  refused("a.pt");
  write_zip(dir / "b.pt", {{.name = "b/data.pkl", .contents = "\x80\x02(" + std::string(2'000'000, ']') + "t."}}, 0);
  refused("b.pt");
  write_zip(dir / "c.pt", {{.name = "c/data.pkl", .contents = "\x80\x02N" + std::string(2'000'000, '\x85') + "."}}, 0);
  refused("c.pt");
}

TEST_CASE("advice on a log whose steps are open does not try scalers on it") {
  const temporary_dir dir;
  std::string log;
  for (int i = 100; i <= 20000; i += 100)
    log += " iteration " + std::to_string(i) + "/ 20000 | learning rate 6.300E-06 | lm loss " +
           (i < 19000 ? "2.500000E+00" : "NAN") + " | loss scale 64.0 |\n";
  write_file(dir / "train.log", log);
  const double before = processor_time();
  const auto run = run_ulp("advise " + (dir / "train.log").string());
  CHECK(run.exit_code == 0);
  CHECK(run.out.find("the forward pass overflows or computes NaN") != std::string::npos);
  CHECK(processor_time() - before < 1.5);
}
