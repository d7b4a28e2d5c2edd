// Pins that what is said to lie in a folder is what commands read, under names that a shell takes as they stand.
#include <ulp/ask/reading/folder_content.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/files.hpp"

namespace {

using namespace ulp;
using ulp::test::temporary_dir;
using ulp::test::write_file;
namespace fs = std::filesystem;

void put(const fs::path& from, const fs::path& to) {
  fs::create_directories(to.parent_path());
  fs::copy_file(from, to);
}

std::vector<std::string> words(const folder_content& all, found_files::kinds kind) {
  std::vector<std::string> found;
  for (const found_files& f : all.found)
    if (f.kind == kind) found.push_back(f.words);
  return found;
}

using names = std::vector<std::string>;

}  // namespace

TEST_CASE("files are told by what they hold") {
  const temporary_dir dir;
  const fs::path data = ulp::test::source_dir() / "tests" / "data";
  const fs::path examples = ulp::test::source_dir() / "examples";
  put(examples / "digits.ulp", dir / "a run.ulp");
  put(examples / "digits.step00100.safetensors", dir / "step1.safetensors");
  put(examples / "digits.step00100.safetensors", dir / "step22.safetensors");
  put(examples / "weights.step00100.safetensors", dir / "weights of it.safetensors");
  put(data / "logs" / "apex_318.log", dir / "-x.log");
  put(data / "configs" / "deepspeed_megatron_zero2.json", dir / "ds.json");
  write_file(dir / "notes.txt", "nothing of a run\n");
  write_file(dir / "empty.log", "");
  write_file(dir / "unsafe.pkl", "\x80\x04");
  write_file(dir / ".hidden.log", "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0\n");

  const folder_content all = look_into(dir.path().string());
  CHECK(all.all_seen);
  CHECK(words(all, found_files::recording) == names{"'a run.ulp'"});
  CHECK(words(all, found_files::text) == names{"./-x.log"});
  REQUIRE(words(all, found_files::dumps) == names{"'weights of it.safetensors'", "step[0-9]*.safetensors"});
  CHECK(all.found[3].steps_from.empty());
  CHECK(all.found[3].record_as == "step.ulp");
  CHECK(words(all, found_files::configuration) == names{"ds.json"});
  CHECK(all.found.size() == 5);
}

TEST_CASE("dumps are a run where their last numbers are all that differs") {
  const temporary_dir dir;
  const fs::path dump = ulp::test::source_dir() / "examples" / "digits.step00100.safetensors";
  for (const char* name : {"grads_0.safetensors", "grads_11.safetensors", "grads_2.safetensors", "grads_x.safetensors",
                           "rank0_step1.safetensors", "rank0_step2.safetensors", "rank1_step1.safetensors"})
    put(dump, dir / name);
  write_file(dir / "grads.ulp", "there");
  write_file(dir / "broken_1.safetensors", "\x10\0\0\0\0\0\0\0{");
  const folder_content all = look_into(dir.path().string());
  CHECK(words(all, found_files::dumps) == names{"grads_[0-9]*.safetensors", "grads_x.safetensors",
                                                "rank0_step[0-9]*.safetensors", "rank1_step1.safetensors"});
  REQUIRE(all.found.size() == 4);
  CHECK(all.found[0].count == 3);
  CHECK(all.found[0].steps_from == "'grads_([0-9]+)'");
  CHECK(all.found[0].record_as == "grads-2.ulp");
  CHECK(all.found[2].steps_from.empty());
}

TEST_CASE("folders are told where TensorBoard's files lie in them") {
  const temporary_dir dir;
  std::string event(8, '\0');
  event[0] = 24;
  fs::create_directories(dir / "runs" / "one");
  fs::create_directories(dir / "src");
  write_file(dir / "runs" / "one" / "events.out.tfevents.1.host",
             event + "cccc" + "\x09" + "tttttttt" + "\x1a\x0d" + "brain.Event:2");
  write_file(dir / "src" / "tfevents.cpp", "int main() {}\n");
  const folder_content all = look_into(dir.path().string());
  REQUIRE(all.found.size() == 1);
  CHECK(all.found[0].kind == found_files::events);
  CHECK(all.found[0].words == "runs/one");
  CHECK(look_into((dir / "absent").string()).found.empty());
}
