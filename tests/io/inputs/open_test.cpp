// open_source: what a file is, which step it is, how options describe its tensors.
#include <cmath>
#include <span>
#include <utility>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/inputs/open.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

using names = std::vector<std::string>;

std::string one_value(float value) { return npy(npy_dict("<f4", "(1,)"), raw(std::vector<float>{value})); }

std::string one_tensor(const std::string& name, float value) {
  return zip({{.name = name + ".npy", .contents = one_value(value)}});
}

std::vector<std::int64_t> steps_of(const contents& read) {
  std::vector<std::int64_t> steps;
  for (const step& s : read.steps) steps.push_back(s.key.step);
  return steps;
}

}  // namespace

TEST_CASE("source: a file is what it holds, not what it is called") {
  const playground place;
  CHECK(place.open("a.txt", one_value(1)).description == "npy dump");
  CHECK(place.open("a.npy", one_tensor("t", 1)).description == "npz dump");
  const std::string tensors = safetensors(R"({"t":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", "1234");
  CHECK(place.open("a.csv", tensors).description == "safetensors dump");
  CHECK(place.open("a.bin", "step,found_inf\n0,0\n").description == "step log");
}

TEST_CASE("source: what is not read is named") {
  const playground place;
  const std::string pickle = " unpickling can run any code, so it is not read; save ";
  CHECK(place.error("a", "") == "a: is empty");
  CHECK(place.error("train.py", "print('step 3 loss nan scale 512')\n") ==
        "train.py: is a script, and no run: it is given by --config, beside a recording or a log");
  CHECK(place.error(names{"absent"}) == "absent: No such file or directory");
  place.write("folder/a.npy", one_value(1));
  const std::string no_event_files =
      "is a folder without TensorBoard event files, tensor_dumps of TransformerEngine, or wgrads, dgrads or activations "
      "of Megatron-LM; name the files that are meant";
  CHECK(place.error(names{"folder"}) == "folder: " + no_event_files + ", such as folder/*.npy");
  std::filesystem::create_directories(place.path("run/step100"));
  CHECK(place.error(names{"run"}) == "run: " + no_event_files);
  place.write("run/step100/b.safetensors", "");
  place.write("run/step100/more/a.npy", "");
  CHECK(place.error(names{"run"}) == "run: " + no_event_files + ", such as run/*/*.safetensors");
  CHECK(
      place.error("a", std::string("\x01\x00\x02", 3)) ==
      "a: is not a supported input: recording, npy, pt, npz, safetensors, TensorBoard event file, table or training log");
  CHECK(place.error("a.npy", std::string("\x01\x00\x02", 3)) ==
        "a.npy: npy header: 8 bytes are needed, but only 3 are left");
  CHECK(place.error("a.npz", std::string("\x01\x00\x02", 3)) ==
        "a.npz: end of file: no zip directory is here; the file was cut short or has bytes after its end");
  CHECK(place.error("a.safetensors", "step,found_inf\n").starts_with("a.safetensors: header: its length is given as"));
  const std::string version = "\x09" + std::string(8, '\0') + "\x1A\x0D" + "brain.Event:2";
  CHECK(place.error("events.out", little(version.size(), 8) + "crc1" + version + "crc2") ==
        "events.out: byte 0: the checksum of a record's length is wrong: the file is damaged from here on; copy it "
        "again");
  CHECK(place.error("a.pt", "\x80\x02\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19.") ==
        "a.pt: is a PyTorch file from before version 1.6, which is not supported: load it in PyTorch and save it again "
        "with torch.save or safetensors.torch.save_file");
  CHECK(place.error("a.pkl", std::string("\x80\x04\x95", 3)) == "a.pkl: is a Python pickle;" + pickle + "safetensors");
  CHECK(place.error("a.h5", std::string("\x89HDF\r\n\x1A\n\0\0", 10)) ==
        "a.h5: is an HDF5 file, which is not read; save safetensors, .npz or .npy");
  CHECK_THROWS_WITH(open_source({}), "input: none is given");
}

TEST_CASE("source: the step is the last number in the name, else in the path") {
  const playground place;
  for (const auto& [name, number] : std::vector<std::pair<std::string, std::int64_t>>{
           {"run.step00042.npz", 42},
           {"step_7.npz", 7},
           {"iter_0000100.npz", 100},
           {"epoch=1-step=500.npz", 500},
           {"step5/rank0/grads.npz", 5},
           {"step5/grads_step9.npz", 9},
           {"warmstep3_step4.npz", 4},
           {"grads.npz", 0},
       }) {
    INFO(name);
    CHECK(steps_of(place.open(name, one_tensor("t", 1))) == std::vector{number});
  }
}

TEST_CASE("source: --steps-from") {
  const playground place;
  source_options options;
  options.steps_from = regex(R"(\d+)");
  place.write("g12.npz", one_tensor("t", 1));
  CHECK(steps_of(place.open(names{"g12.npz"}, options)) == std::vector<std::int64_t>{12});
  options.steps_from = regex("(z)|g(.*).npz");
  CHECK(steps_of(place.open(names{"g12.npz"}, options)) == std::vector<std::int64_t>{12});
  options.steps_from = regex("g(.*)");
  CHECK(place.error(names{"g12.npz"}, options) ==
        "g12.npz: --steps-from finds '12.npz' in its path, which is not a step number");
  place.write("step99999999999999999999.npz", one_tensor("t", 1));
  CHECK(place.error(names{"step99999999999999999999.npz"}) ==
        "step99999999999999999999.npz: --steps-from finds '99999999999999999999' in its path, which is not a step "
        "number");
}

TEST_CASE("source: dumps come in the order of their steps, else as given") {
  const playground place;
  place.write("step10.npz", one_tensor("t", 10));
  place.write("step9.npz", one_tensor("t", 9));
  place.write("b.npz", one_tensor("t", 1));
  place.write("a.npz", one_tensor("t", 2));
  const contents numbered = place.open(names{"step10.npz", "step9.npz"});
  CHECK(steps_of(numbered) == std::vector<std::int64_t>{9, 10});
  CHECK(numbered.steps[0].tensors[0].table.max_abs == 9);
  CHECK(numbered.tensors.size() == 1);
  const contents given = place.open(names{"b.npz", "a.npz"});
  CHECK(steps_of(given) == std::vector<std::int64_t>{0, 1});
  CHECK(given.steps[0].tensors[0].table.max_abs == 1);
  CHECK(place.error(names{"step10.npz", "b.npz"}) ==
        "b.npz: has no step number in its path, unlike other inputs; say where it stands with --steps-from REGEX, such "
        "as "
        "'(?:step|before)(\\d+)'");
  // The example reads the file that it is given for.
  place.write("0001.npz", one_tensor("t", 1));
  CHECK(place.error(names{"step10.npz", "0001.npz"}).ends_with("such as '(\\d+)'"));
  const auto from = open_source({place.path("step10.npz"), place.path("step9.npz")});
  CHECK(from->step_count() == 2);
}

TEST_CASE("source: files of one step are put together unless a tensor repeats") {
  const playground place;
  place.write("step1/fc.weight.npy", one_value(1));
  place.write("step1/fc.bias.npy", one_value(2));
  place.write("step2/fc.bias.npy", one_value(3));
  place.write("step2/more.npz", one_tensor("t", 4));
  const contents read =
      place.open(names{"step1/fc.weight.npy", "step2/fc.bias.npy", "step2/more.npz", "step1/fc.bias.npy"});
  CHECK(read.description == "mixed dump");
  CHECK(steps_of(read) == std::vector<std::int64_t>{1, 2});
  CHECK(read.steps[0].tensors.size() == 2);
  CHECK(read.steps[1].tensors.size() == 2);
  CHECK(read.tensors.size() == 3);

  place.write("step5/rank0/g.npz", one_tensor("t", 1));
  place.write("step5/rank1/g.npz", one_tensor("t", 1));
  CHECK(place.error(names{"step5/rank0/g.npz", "step5/rank1/g.npz"}) ==
        "step5/rank1/g.npz: tensor 't': is also in step5/rank0/g.npz of step 5; record the files of each rank "
        "separately (--rank, --world, --run-id, --layout) and combine them with ulp merge");
}

TEST_CASE("source: a tensor keeps its shape") {
  const playground place;
  place.write("step1.npz", one_tensor("t", 1));
  place.write("step2.npz", zip({{.name = "t.npy", .contents = npy(npy_dict("<f4", "(1, 1)"), "1234")}}));
  CHECK(place.error(names{"step1.npz", "step2.npz"}) ==
        "step2.npz: tensor 't': has the shape (1, 1), but (1) in step1.npz");
}

TEST_CASE("source: every header is checked before the first step is read") {
  const playground place;
  const std::string first = place.write("step1.npz", one_tensor("t", 1));
  const std::string second = place.write("step2.npz", "PK\x03\x04 nonsense");
  CHECK_THROWS_AS(open_source({first, second}), input_error);
}

TEST_CASE("source: a file that changes after it was opened is told") {
  const playground place;
  const std::string path = place.write("a.npz", one_tensor("t", 1));
  const auto from = open_source({path});
  place.write("a.npz", one_tensor("u", 1));
  step next;
  CHECK_THROWS_WITH(from->next(next), path + ": tensor 'u': was not there when the file was first opened");
}

TEST_CASE("source: only dumps can be several") {
  const playground place;
  place.write("a.npz", one_tensor("t", 1));
  place.write("log.csv", "step,found_inf\n0,0\n");
  place.write("run.ulp", std::string("SQLite format 3\0", 16) + std::string(84, '\0'));
  CHECK(place.error(names{"a.npz", "log.csv"}) ==
        "log.csv: is a table or training log; only dumps and event files can be given several at once; ulp merge "
        "combines recordings");
  CHECK(place.error(names{"run.ulp", "a.npz"}) ==
        "run.ulp: is a recording; only dumps and event files can be given several at once; ulp merge combines "
        "recordings");
}

TEST_CASE("source: kinds and roles by name, the first rule that matches") {
  const playground place;
  place.write("a.npz", zip({{.name = "wgrad/ln.weight.npy", .contents = one_value(1)},
                            {.name = "wgrad/fc.weight.npy", .contents = one_value(1)},
                            {.name = "w/fc.weight.npy", .contents = one_value(1)}}));
  source_options options;
  options.kinds = {{regex("^w/"), tensor_kind::weight}};
  options.roles = {{regex("ln"), tensor_role::float32}, {regex("weight$"), tensor_role::low}};
  const contents read = place.open(names{"a.npz"}, options);
  CHECK(read.tensor("wgrad/ln.weight").kind == tensor_kind::weight_grad);
  CHECK(read.tensor("wgrad/ln.weight").role == tensor_role::float32);
  CHECK(read.tensor("wgrad/fc.weight").role == tensor_role::low);
  CHECK(read.tensor("w/fc.weight").kind == tensor_kind::weight);
  CHECK(read.description == "npz dump");
}

TEST_CASE("source: the longest name is searched as the shortest") {
  const playground place;
  source_options options;
  options.kinds = {{regex("^(a|b)*$"), tensor_kind::update}};
  place.write("a.npz", one_tensor(std::string(1024, 'a'), 1));
  CHECK(place.open(names{"a.npz"}, options).tensors[0].kind == tensor_kind::update);
}

TEST_CASE("source: the factor is the user's, or the step's loss scale") {
  const playground place;
  place.write("step1.npz", one_tensor("t", 1));
  place.write("step2.npz", one_tensor("t", 1));
  place.write("s.csv", "step,scale\n1,1024\n2,2048\n");
  place.write("short.csv", "step,scale\n1,1024\n");
  const names inputs{"step1.npz", "step2.npz"};
  source_options options;
  CHECK(std::isnan(place.open(inputs, options).steps[0].tensors[0].factor));
  options.factor = 8;
  CHECK(place.open(inputs, options).steps[1].tensors[0].factor == 8);
  options.factor = not_known;
  options.factor_is_loss_scale = true;
  options.scalars = "s.csv";
  const contents read = place.open(inputs, options);
  CHECK(read.steps[0].tensors[0].factor == 1024);
  CHECK(read.steps[1].tensors[0].factor == 2048);
  options.scalars = "short.csv";
  CHECK(place.error(inputs, options) == "short.csv: step 2: has no loss scale, which --factor scale needs");
}

TEST_CASE("source: whether recorded gradients were unscaled is the user's to say") {
  const playground place;
  const auto recorded = [&](const std::string& name, double factor) {
    recording_writer to(place.path(name), recording_writer::mode::create);
    const std::vector<tensor_info> tensors{{.name = "w", .kind = tensor_kind::weight_grad},
                                           {.name = "a", .kind = tensor_kind::activation}};
    step now;
    now.scalars.loss_scale = 1024;
    const std::vector<float> values{1};
    for (const double f : {factor, 1.0})
      now.tensors.push_back({.tensor = static_cast<std::uint32_t>(now.tensors.size()),
                             .type = dtype::float32,
                             .factor = f,
                             .table = count_cells(std::span<const float>{values})});
    to.write(now, tensors);
    to.close();
  };
  recorded("scaled.ulp", 1024);
  recorded("unscaled.ulp", 1);
  const auto factors = [&](const std::string& name, const source_options& options) {
    const contents read = place.open(names{name}, options);
    return std::pair{read.steps[0].tensors[0].factor, read.steps[0].tensors[1].factor};
  };
  source_options options;
  options.factor = 1;
  CHECK(factors("scaled.ulp", options) == std::pair{1.0, 1.0});
  options.factor = not_known;
  options.factor_is_loss_scale = true;
  CHECK(factors("unscaled.ulp", options) == std::pair{1024.0, 1.0});
  // Any other factor contradicts the recording.
  options.factor_is_loss_scale = false;
  options.factor = 8;
  CHECK(place.error(names{"scaled.ulp"}, options).find("is already known and is different") != std::string::npos);
}

TEST_CASE("source: sums are left out on request") {
  const playground place;
  place.write("a.npz", one_tensor("t", 3));
  source_options options;
  options.with_sums = false;
  const contents read = place.open(names{"a.npz"}, options);
  CHECK_FALSE(read.table("t").has_sums);
  CHECK(read.table("t").max_abs == 3);
  CHECK(place.open(names{"a.npz"}).table("t").has_sums);
}

TEST_CASE("open: a text in UTF-16 is named as such") {
  const playground place;
  const std::string text = "step 1 loss 2.5\nstep 2 loss 2.5\n";
  for (const bool big : {false, true}) {
    std::string wide = big ? "\xFE\xFF" : "\xFF\xFE";
    for (const char c : text) wide += big ? std::string{'\0', c} : std::string{c, '\0'};
    place.write("a.log", wide);
    CHECK_THROWS_WITH(open_source({place.path("a.log")}), Contains("is UTF-16: convert it to UTF-8"));
  }
}
