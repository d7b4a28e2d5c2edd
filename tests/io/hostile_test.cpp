// Cut and damaged files of every kind, with a guard page behind each buffer: they are read or refused in one line, and
// never need much memory.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <ulp/io/error.hpp>

#include "builders.hpp"
#include "support/catch.hpp"
#include "support/guard_pages.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

struct good_file {
  std::string name;
  std::string bytes;
  bool ends_anywhere = false;  // a prefix may be a good file too
};

std::vector<good_file> good_files() {
  const std::string floats = raw(std::vector<float>{1.5F, -0.25F, 3.0F, 0.0F});
  const std::string array = npy(npy_dict("<f4", "(2, 2)"), floats);
  // {'a': a view of the floats}
  const std::string pickled = "\x80\x02}X" + little(1, 4) + "actorch._utils\n_rebuild_tensor_v2\n((X" + little(7, 4) +
                              "storagectorch\nFloatStorage\nX" + little(1, 4) + "0X" + little(3, 4) +
                              "cpuK\x04tQK\x01(K\x03t(K\x01t\x89" + "ccollections\nOrderedDict\n)RtRs.";
  return {
      {"a.npy", array},
      {"stored.npz", zip({{.name = "w.npy", .contents = array}, {.name = "b.npy", .contents = array, .zip64 = true}})},
      {"deflated.npz", zip({{.name = "w.npy", .contents = array, .deflated = true}}, {.zip64_end = true})},
      {"a.safetensors",
       safetensors(R"({"__metadata__":{"step":"3"},"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", floats)},
      {"megatron.log",
       "  initial_loss_scale ............ 4.0\n iteration        1/      9 | learning rate: 1.0E-04 | loss scale: 4.0 "
       "| "
       "number of skipped iterations:   1 | number of nan iterations:   0 |\n iteration        2/      9 | learning "
       "rate: "
       "1.0E-04 | loss scale: 2.0 | number of skipped iterations:   1 | number of nan iterations:   0 |\n",
       true},
      {"deepspeed.log",
       "[1] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 8, but hysteresis is 2. Reducing "
       "hysteresis to 1\n[1] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 8, reducing to 4\n[Rank "
       "0] "
       "step=3, skipped=2, lr=[1e-3], mom=[0.9]\n",
       true},
      {"apex.log",
       "step 1\nGradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0\nstep 2\n 1/9 "
       "[00:01<00:08, 1.0it/s]\n",
       true},
      {"fairseq.log",
       "| WARNING: overflow detected, setting loss scale to: 64.0\n| epoch 001: 1 / 9 num_updates=1, lr=1, gnorm=3.9, "
       "loss_scale=64\n| Loaded checkpoint c.pt (epoch 1 @ 1 updates)\n{\"num_updates\": \"2\", \"loss_scale\": "
       "\"64\"}\n",
       true},
      {"a.pt", zip({{.name = "a/data.pkl", .contents = pickled}, {.name = "a/data/0", .contents = floats}})},
  };
}

// Throws what is no input_error; "" where the file is read.
std::string outcome_of(const playground& place, const good_file& file, const std::string& bytes) {
  const std::string path = place.write(file.name, bytes);
  const guard_pages guarded;
  std::string error;
  try {
    const auto from = open_source({path});
    step now;
    while (from->next(now)) {
    }
  } catch (const input_error& e) {
    error = e.what();
  }
  CHECK(guarded.peak() < std::size_t{200} << 20);
  return error;
}

void check_one_line(const std::string& error, const playground& place, const good_file& file) {
  if (!error.starts_with(place.path(file.name) + ": ") || error.find('\n') != std::string::npos) FAIL_CHECK(error);
}

}  // namespace

TEST_CASE("guard pages stand where blocks end") {
  const guard_pages guarded;
  for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, std::size_t{4097}}) {
    const std::vector<char> block(size);
    CHECK(reinterpret_cast<std::uintptr_t>(block.data() + size) % 4096 == 0);
  }
}

TEST_CASE("a byte past the end of a block ends the program") {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    const guard_pages guarded;
    volatile std::size_t size = 3;  // not seen through by the compiler
    const std::vector<char> block(size);
    const volatile char* const past = block.data() + size;
    static_cast<void>(*past);
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
}

TEST_CASE("every prefix of a good file is refused, or is a good file") {
  const playground place;
  for (const good_file& file : good_files()) {
    INFO(file.name);
    CHECK(outcome_of(place, file, file.bytes).empty());
    for (std::size_t size = 0; size < file.bytes.size(); ++size) {
      const std::string error = outcome_of(place, file, file.bytes.substr(0, size));
      if (error.empty() && file.ends_anywhere) continue;
      INFO(size << " bytes");
      check_one_line(error, place, file);
    }
  }
}

TEST_CASE("a good file with any byte changed is refused or read") {
  const playground place;
  for (const good_file& file : good_files())
    for (std::size_t at = 0; at < file.bytes.size(); ++at)
      for (const char change : {'\x01', '\xFF'}) {
        std::string bytes = file.bytes;
        bytes[at] = static_cast<char>(bytes[at] ^ change);
        const std::string error = outcome_of(place, file, bytes);
        INFO(file.name << " byte " << at);
        if (!error.empty()) check_one_line(error, place, file);
      }
}
