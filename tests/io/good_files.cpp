#include "good_files.hpp"

#include <sqlite3.h>

#include <stdexcept>

#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/cells/element_types.hpp>

#include "builders.hpp"
#include "tf_builders.hpp"

namespace ulp::test {
namespace {

const std::vector<float> values{1.5F, -0.25F, 3.0F, 0.0F};

// {'a': a view of the values, 'b': [a Parameter of halves]}
std::string pickled() {
  const auto text = [](const std::string& s) { return "X" + little(s.size(), 4) + s; };
  const auto tensor = [&](const std::string& storage, const std::string& key) {
    return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + storage + "\n" + text(key) +
           text("cpu") + "K\x04tQK\x01(K\x03t(K\x01t\x89" + "ccollections\nOrderedDict\n)RtR";
  };
  return "\x80\x02}q" + little(1, 1) + "(" + text("a") + tensor("FloatStorage", "0") + text("b") +
         "]ctorch._utils\n_rebuild_parameter\n(" + tensor("HalfStorage", "1") + "\x88" +
         "ccollections\nOrderedDict\n)RtRau.";
}

tensor_row row_of(std::uint32_t tensor, const std::vector<float>& from) {
  tensor_row row{.tensor = tensor, .type = dtype::float32, .table = count_cells(from)};
  row.factor = 2;
  return row;
}

tensor_row codes_of(std::uint32_t tensor) {
  tensor_row row{.tensor = tensor, .type = dtype::float16};
  row.codes = {{.code = 0, .count = 1}, {.code = 0x3C00, .count = 2}, {.code = 0x7C00, .count = 1}};
  cell_counter counter;
  counter.add(*format_of_codes(row.type), row.codes);
  row.table = counter.take();
  return row;
}

void in_small_pages(const std::string& path) {
  sqlite3* db = nullptr;
  const bool done = sqlite3_open(path.c_str(), &db) == SQLITE_OK &&
                    sqlite3_exec(db, "PRAGMA page_size=512; VACUUM", nullptr, nullptr, nullptr) == SQLITE_OK;
  sqlite3_close(db);
  if (!done) throw std::runtime_error("SQLite does not write " + path);
}

}  // namespace

std::vector<tensor_row> good_rows(int step) {
  return {row_of(0, {1.5F * static_cast<float>(step), -0.25F, 0.0F, 1e-30F}), codes_of(1)};
}

good_file good_recording() {
  const temporary_dir dir;
  const std::string path = (dir / "good.ulp").string();
  std::vector<tensor_info> tensors(2);
  tensors[0] = {.name = "fc.weight", .kind = tensor_kind::weight_grad, .shape = {2, 2}, .numel = 4};
  tensors[1] = {.name = "fc.bias", .kind = tensor_kind::weight_grad, .through = "float16", .shape = {4}, .numel = 4};
  {
    recording_writer writer(path, recording_writer::mode::create, {.run_id = "good"});
    for (int i = 1; i <= 3; ++i) {
      step now;
      now.key.step = i;
      now.scalars = {.loss = 0.5, .loss_scale = 2};
      now.tensors = good_rows(i);
      writer.write(now, tensors);
    }
    writer.close();
  }
  in_small_pages(path);
  return {"recording", "good.ulp", read_file(path)};
}

std::vector<good_file> good_files() {
  const std::string floats = raw(values);
  const std::string array = npy(npy_dict("<f4", "(2, 2)"), floats);
  const std::string histogram =
      "step,tensor,kind,n,zero,nan,inf,max_abs,e_min,counts,sum_abs,sum_sq\n"
      "1,fc.weight,weight_grad,4,1,0,0,3.0,-2,1 0 0 2,4.75,11.3125\n"
      "1,\"fc,bias\",agrad,3,1,1,1,0,0,,0,0\n"
      "2,fc.weight,wgrad,4,0,0,0,0.25,-3,3 1,1,1\n";
  const std::string scalars =
      "step,loss,grad_norm,lr,scale,found_inf,applied\n"
      "1,0.5,1.25,1e-3,65536,0,1\n2,nan,inf,,32768,True,0.0\n";
  return {
      {"npy", "v1.npy", array},
      {"npy", "v2.npy", npy(npy_dict(">f2", "(4,)"), floats.substr(0, 8), 2)},
      {"npy", "v3.npy", npy(npy_dict("<f8", "()"), floats.substr(0, 8), 3)},
      {"npz", "stored.npz",
       zip({{.name = "w.npy", .contents = array}, {.name = "b.npy", .contents = array, .zip64 = true}})},
      {"npz", "deflated.npz", zip({{.name = "w.npy", .contents = array, .deflated = true}}, {.zip64_end = true})},
      {"safetensors", "good.safetensors",
       safetensors(R"({"__metadata__":{"step":"3"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
                   R"("b":{"dtype":"BF16","shape":[4],"data_offsets":[8,16]}})",
                   floats)},
      {"pt", "good.pt",
       zip({{.name = "a/data.pkl", .contents = pickled()},
            {.name = "a/byteorder", .contents = "little"},
            {.name = "a/data/0", .contents = floats},
            {.name = "a/data/1", .contents = floats.substr(0, 8)}})},
      {"histogram_csv", "good.hist.csv", histogram, true},
      {"histogram_csv", "good.hist.csv.gz", gzip(histogram)},
      {"step_log", "found_inf.csv", "step,found_inf\n1,0\n2,1\n10,0\n", true},
      {"step_log", "layers.csv", "step,layer,maxabs,loss\n1,fc,0.5,2\n1,conv,nan,2\n2,fc,1e-3,\n", true},
      {"scale_log", "megatron.log",
       "  initial_loss_scale ............ 4.0\n iteration        1/      9 | learning rate: 1.0E-04 | loss scale: 4.0 "
       "| "
       "number of skipped iterations:   1 | number of nan iterations:   0 |\n iteration        2/      9 | learning "
       "rate: "
       "1.0E-04 | loss scale: 2.0 | number of skipped iterations:   1 | number of nan iterations:   0 |\n",
       true},
      {"scale_log", "deepspeed.log",
       "[1] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 8, but hysteresis is 2. Reducing "
       "hysteresis to 1\n[1] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 8, reducing to 4\n[Rank "
       "0] "
       "step=3, skipped=2, lr=[1e-3], mom=[0.9]\n",
       true},
      {"scale_log", "apex.log",
       "step 1\nGradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0\nstep 2\n 1/9 "
       "[00:01<00:08, 1.0it/s]\n",
       true},
      {"scale_log", "fairseq.log",
       "| WARNING: overflow detected, setting loss scale to: 64.0\n| epoch 001: 1 / 9 num_updates=1, lr=1, gnorm=3.9, "
       "loss_scale=64\n| Loaded checkpoint c.pt (epoch 1 @ 1 updates)\n{\"num_updates\": \"2\", \"loss_scale\": "
       "\"64\"}\n",
       true},
      {"tfevents", "good.tfevents",
       tf_begin() +
           tf_event(
               0,
               {tf_histogram(
                    "wgrad/w",
                    {.min = -1, .max = 2, .num = 6, .sum_squares = 7, .limits = {-1, 0, 1, 3}, .counts = {0, 1, 3, 2}}),
                tf_scalar("loss", 2)}) +
           tf_event(1, {tf_tensor_histogram("v2", {-1, 1, 2, 1, 3, 2}), tf_tensor_scalar("lr", 1)}) + tf_restart(1) +
           tf_event(1, {tf_tensor_histogram("v2", {-1, 1, 2, 1, 3, 2}, false, false)}),
       true},
      {"scalars", "scalars.csv", scalars, true},
      {"config", "deepspeed.json",
       R"({"fp16": {"enabled": true, "loss_scale": 0, "initial_scale_power": 16, "hysteresis": 2}, "gradient_clipping": 1.0})"},
      {"config", "lightning.yaml",
       "trainer:\n  precision: &p 16-mixed\n  gradient_clip_val: 0.5\n  gradient_clip_algorithm: norm\n  # seen: *p\n",
       true},
      {"config", "cerebras.yaml",
       "trainer:\n  init:\n    precision:\n      fp16_type: cbfloat16\n      loss_scaling_factor: dynamic\n"
       "      max_gradient_norm: 1.0\n    backend: {backend_type: CSX}\n",
       true},
      {"config", "nxd.json",
       R"({"mixed_precision_config": {"use_master_weights": true}, "optimizer_config": {"zero_one_enabled": true}})"},
      {"config", "megatron.sh",
       "torchrun pretrain.py --fp16 --initial-loss-scale 65536 \\\n  --hysteresis 2 --clip-grad=1.0\n", true},
      good_recording(),
  };
}

}  // namespace ulp::test
