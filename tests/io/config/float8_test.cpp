// What configurations say of how 8-bit floats are scaled.
#include <ulp/io/config/config_import.hpp>

#include "io/config/importer.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

TEST_CASE("float8: Megatron-LM's arguments and defaults") {
  const importer read;
  const std::string rest = "--bf16 --num-layers 24 --lr 1e-4 ";
  const auto float8_of = [&](const std::string& arguments) {
    CHECK(read(rest + arguments, "c", {}, "Megatron-LM") == "none in bfloat16, norm 1");
    return read.last().float8;
  };
  CHECK_FALSE(float8_of(""));
  CHECK_FALSE(float8_of("--fp8-recipe delayed --fp8-margin 1"));
  CHECK(float8_of("--fp8-format hybrid") == said_float8{.recipe = "delayed",
                                                        .format = "hybrid",
                                                        .history = 1,
                                                        .algorithm = "most_recent",
                                                        .margin = 0,
                                                        .kept_out = {}});
  CHECK(float8_of("--fp8-format e4m3 --fp8-amax-history-len 1024 --fp8-amax-compute-algo max --fp8-margin 2") ==
        said_float8{
            .recipe = "delayed", .format = "e4m3", .history = 1024, .algorithm = "max", .margin = 2, .kept_out = {}});
  CHECK(float8_of("--fp8-format hybrid --fp8-recipe blockwise --fp8-amax-history-len 16") ==
        said_float8{
            .recipe = "blockwise", .format = "hybrid", .history = {}, .algorithm = "", .margin = {}, .kept_out = {}});
  CHECK(float8_of("--fp8-format hybrid --fp8-amax-history-len $LENGTH --fp8-amax-compute-algo $ALGO") ==
        said_float8{
            .recipe = "delayed", .format = "hybrid", .history = {}, .algorithm = "", .margin = 0, .kept_out = {}});
  CHECK(read(rest + "--fp8-format hybrid --fp8-amax-history-len 0", "c", {}, "Megatron-LM") ==
        "c: line 1: --fp8-amax-history-len must be an integer above 0");
  CHECK(float8_of("--fp8-hybrid --fp8-margin 1 --fp8-amax-history-len 64 --fp8-amax-compute-algo max") ==
        said_float8{
            .recipe = "delayed", .format = "hybrid", .history = 64, .algorithm = "max", .margin = 1, .kept_out = {}});
  CHECK(float8_of("--fp8-e4m3")->format == "e4m3");
  CHECK(read(rest + "--fp8-format e4m3 --fp8-hybrid", "c", {}, "Megatron-LM") ==
        "c: line 1: --fp8-hybrid and --fp8-format cannot both be given");
  CHECK(read(rest + "--fp8-format e3m4", "c", {}, "Megatron-LM") ==
        "c: line 1: --fp8-format must be e4m3 or hybrid, not 'e3m4'");
  CHECK(read(rest + "--fp8-format e4m3 --fp8-amax-compute-algo maximum", "c", {}, "Megatron-LM") ==
        "c: line 1: --fp8-amax-compute-algo must be most_recent or max, not 'maximum'");
}

TEST_CASE("float8: the layers that Megatron-LM leaves in 16 bits") {
  const importer read;
  const std::string rest = "--bf16 --num-layers 24 --fp8-format hybrid ";
  const auto notes_of = [&](const std::string& arguments) {
    CHECK(read(rest + arguments, "c", {}, "Megatron-LM") == "none in bfloat16, norm 1");
    return read.last().notes;
  };
  const std::string kept =
      " of the transformer layers stay in 16 bits (--first-last-layers-bf16): --tensor REGEX leaves "
      "them out";
  CHECK(notes_of("--fp8-recipe tensorwise --first-last-layers-bf16") ==
        std::vector<std::string>{"the first 1 and the last 1" + kept});
  CHECK(notes_of("--fp8-recipe tensorwise --first-last-layers-bf16 --num-layers-at-start-in-bf16 0 "
                 "--num-layers-at-end-in-bf16 4") == std::vector<std::string>{"the first 0 and the last 4" + kept});
  CHECK(notes_of("--fp8-recipe tensorwise --num-layers-at-start-in-bf16 2").empty());
  CHECK(
      read(rest + "--first-last-layers-bf16", "c", {}, "Megatron-LM") ==
      "c: line 1: --first-last-layers-bf16 is not for delayed scaling, Megatron-LM refuses it; leave one of the two out");
  CHECK(read("--bf16 --first-last-layers-bf16", "c", {}, "Megatron-LM") == "none in bfloat16, norm 1");
}

TEST_CASE("float8: torchtitan's sections") {
  const importer read;
  const std::string job =
      "[job]\nx = 1\n[training]\nmax_norm = 1\n[model]\nconverters = [\"quantize.linear.float8\"]\n";
  read(job + "[quantize.linear.float8]\nrecipe_name = \"rowwise\"\nfilter_fqns = [\"output\", \"router.gate\"]\n");
  CHECK(read.last().float8 == said_float8{.recipe = "rowwise",
                                          .format = "",
                                          .history = {},
                                          .algorithm = "",
                                          .margin = {},
                                          .kept_out = {"output", "router.gate"},
                                          .library = "torchao"});
  read(job);
  REQUIRE(read.last().float8);
  CHECK(read.last().float8->recipe == "tensorwise");
  read("[job]\nx = 1\n[training]\nmax_norm = 1\n[quantize.linear.float8]\nrecipe_name = \"rowwise\"\n");
  CHECK_FALSE(read.last().float8);
}

TEST_CASE("float8: TransformerEngine's recipes as text") {
  const auto is = [](const std::string& text, const std::optional<said_float8>& expected) {
    INFO(text);
    CHECK(parse_recipe(text) == expected);
  };
  const said_float8 delayed{
      .recipe = "delayed", .format = "hybrid", .history = 1024, .algorithm = "", .margin = 0, .kept_out = {}};
  is("recipe_type=DelayedScaling, margin=0, format=HYBRID, amax_history_len=1024, reduce_amax=True, fp8_dpa=False, "
     "fp8_mha=False, backward_override=None",
     delayed);
  is("margin=0, format=HYBRID, amax_history_len=1024, wgrad_override=False, fp8_dpa=False", delayed);
  is("DelayedScaling(margin=1, fp8_format=Format.E4M3, amax_history_len=16, amax_compute_algo=\"max\")",
     said_float8{
         .recipe = "delayed", .format = "e4m3", .history = 16, .algorithm = "max", .margin = 1, .kept_out = {}});
  is("recipe_type=Float8CurrentScaling, format=HYBRID, fp8_quant_fwd_inp=power_2_scale=False",
     said_float8{.recipe = "tensorwise", .format = "hybrid"});
  is("recipe_type=Float8CurrentScaling, format=E4M3, fp8_quant_fwd_inp=Qparams(\npower_2_scale=True,\namax_epsilon=0.0\n)",
     said_float8{.recipe = "tensorwise", .format = "e4m3", .powers_of_two = true});
  is("recipe_type=MXFP8BlockScaling, margin=0, format=E4M3",
     said_float8{.recipe = "mxfp8", .format = "e4m3", .history = {}, .algorithm = "", .margin = 0, .kept_out = {}});
  is("recipe_type=NVFP4BlockScaling, fp4_format=E2M1, fp8_format=E4M3",
     said_float8{.recipe = "nvfp4", .format = "e4m3", .history = {}, .algorithm = "", .margin = {}, .kept_out = {}});
  is("margin=0, format=HYBRID", std::nullopt);
  is("", std::nullopt);
}

TEST_CASE("float8: a recipe of TransformerEngine as the whole file, printed or called") {
  const importer read;
  const auto is = [&](const std::string& text, const said_float8& expected, const std::string& name = "c") {
    INFO(text);
    CHECK(read(text, name) == "none in ?");
    CHECK(read.last().framework == "TransformerEngine");
    CHECK(read.last().float8 == expected);
  };
  const said_float8 delayed{.recipe = "delayed", .format = "hybrid", .history = 16, .algorithm = "max", .margin = 0};
  const std::string print =
      "margin=0, format=HYBRID, amax_history_len=16, reduce_amax=True, fp8_dpa=False, fp8_mha=False, "
      "backward_override=None";
  is("recipe_type=DelayedScaling, " + print + "\n", delayed);
  CHECK(read.last().notes.size() == 1);  // of the algorithm, which is not printed
  is("DelayedScaling(recipe_type=DelayedScaling, " + print + ")", delayed);
  is("INFO:root: FP8 recipe: recipe_type=DelayedScaling, " + print, delayed);
  is(print, delayed);
  const std::string parameters =
      "Qparams(\npower_2_scale=True,\namax_epsilon=0.0,\nrandom_hadamard_transform=False,\n"
      "stochastic_rounding=False,\nfp4_2d_quantization=False\n)";
  is("recipe_type=Float8CurrentScaling, format=HYBRID, fp8_quant_fwd_inp=" + parameters + ", fp8_quant_fwd_weight=" +
         parameters + ", fp8_gemm_fprop=MMParams(use_split_accumulator=False), fp8_dpa=False\n",
     said_float8{.recipe = "tensorwise", .format = "hybrid", .powers_of_two = true});
  is("DelayedScaling(margin=2, fp8_format=Format.E4M3)\n",
     said_float8{.recipe = "delayed", .format = "e4m3", .history = 1024, .algorithm = "max", .margin = 2});
  const std::string script = "import transformer_engine.pytorch as te\nfrom transformer_engine.common import recipe\n";
  is(script +
         "N = 32\nr = recipe.DelayedScaling(fp8_format=recipe.Format.HYBRID, amax_history_len=N, "
         "amax_compute_algo='most_recent')\nwith te.fp8_autocast(fp8_recipe=r):\n  y = model(x)\n",
     said_float8{.recipe = "delayed", .format = "hybrid", .history = 32, .algorithm = "most_recent", .margin = 0},
     "train.py");
  is(script + "r = recipe.DelayedScaling(amax_history_len=args.n)\n",
     said_float8{.recipe = "delayed", .format = "hybrid", .history = {}, .algorithm = "max", .margin = 0}, "train.py");
  is(script + "r = recipe.MXFP8BlockScaling()\n", said_float8{.recipe = "mxfp8"}, "train.py");
  CHECK(read(script + "r = recipe.DelayedScaling(1)\n", "train.py")
            .starts_with("train.py: line 3: gives the recipe a value"));
  // What trains counts, whatever recipe stands beside it.
  CHECK(read(script + "r = recipe.DelayedScaling()\nt = TrainingArguments(output_dir='o', bf16=True)\n", "train.py") ==
        "none in bfloat16, norm 1");
}

TEST_CASE("float8: torchao's Float8LinearConfig") {
  const importer read;
  const auto is = [&](const std::string& text, said_float8 expected, const std::string& name = "c") {
    INFO(text);
    CHECK(read(text, name) == "none in ?");
    CHECK(read.last().framework == "torchao");
    expected.library = "torchao";
    CHECK(read.last().float8 == expected);
  };
  const said_float8 tensorwise{.recipe = "tensorwise", .format = "hybrid", .powers_of_two = false};
  const said_float8 rowwise{.recipe = "rowwise", .format = "e4m3", .powers_of_two = true};
  const std::string script = "from torchao.float8 import convert_to_float8_training, Float8LinearConfig\n";
  is(script + "config = Float8LinearConfig(pad_inner_dim=True)\nconvert_to_float8_training(m, config=config)\n",
     tensorwise, "train.py");
  is(script + "convert_to_float8_training(model)\n",
     said_float8{.recipe = "tensorwise", .format = "hybrid", .powers_of_two = false}, "train.py");
  is(script + "config = Float8LinearConfig.from_recipe_name('tensorwise')\n", tensorwise, "train.py");
  is(script + "config = Float8LinearConfig.from_recipe_name(Float8LinearRecipeName.ROWWISE_WITH_GW_HP)\n",
     said_float8{.recipe = "rowwise", .powers_of_two = true}, "train.py");
  is(script +
         "config = Float8LinearConfig(cast_config_grad_output=CastConfig(target_dtype=torch.float8_e4m3fn), "
         "round_scales_to_power_of_2=True)\nconvert_to_float8_training(m, config=config, module_filter_fn=f)\n",
     said_float8{.recipe = "tensorwise", .format = "e4m3", .powers_of_two = true}, "train.py");
  CHECK(read.last().notes.size() == 1);  // of the filter
  // As Python prints it: pytorch/ao @36027d82.
  const auto cast = [](const std::string& granularity, const std::string& type) {
    return "CastConfig(scaling_type=<ScalingType.DYNAMIC: 'dynamic'>, scaling_granularity=<ScalingGranularity." +
           granularity + ": 'x'>, target_dtype=torch." + type + ")";
  };
  const auto print = [&](const std::string& granularity, const std::string& gradient, const std::string& power) {
    const std::string e4m3 = cast(granularity, "float8_e4m3fn");
    return "Float8LinearConfig(cast_config_input=" + e4m3 + ", cast_config_input_for_grad_weight=" + e4m3 +
           ", cast_config_weight=" + e4m3 + ", cast_config_weight_for_grad_input=" + e4m3 +
           ", cast_config_grad_output=" + cast(granularity, gradient) +
           ", cast_config_grad_output_for_grad_weight=" + cast(granularity, gradient) +
           ", gemm_config_output=Float8GemmConfig(use_fast_accum=True), gemm_config_grad_input="
           "Float8GemmConfig(use_fast_accum=False), gemm_config_grad_weight=Float8GemmConfig(use_fast_accum=False), "
           "enable_fsdp_float8_all_gather=False, pad_inner_dim=False, emulate=False, "
           "force_recompute_fp8_weight_in_bwd=False, round_scales_to_power_of_2=" +
           power + ")\n";
  };
  is(print("TENSORWISE", "float8_e5m2", "False"), tensorwise);
  is(print("AXISWISE", "float8_e4m3fn", "True"), rowwise);
  is("cast_config_input:\n  scaling_granularity: tensorwise\nround_scales_to_power_of_2: false\n", tensorwise,
     "c.yaml");
  is("recipe_name: rowwise\nenable_fsdp_float8_all_gather: false\n",
     said_float8{.recipe = "rowwise", .powers_of_two = true}, "c.yaml");
  for (const auto& [text, why] :
       {std::pair{"cast_config_input=CastConfig(scaling_type=ScalingType.DISABLED)", "keeps its tensors out of float8"},
        {"cast_config_input=CastConfig(scaling_type=ScalingType.DELAYED)", "which torchao has no more"},
        {"cast_config_weight=CastConfig(target_dtype=torch.float8_e4m3fnuz)", "of which no recipe is replayed"},
        {"cast_config_weight=CastConfig(target_dtype=torch.float8_e5m2)",
         "has another format than cast_config_weight"}})
    CHECK_THAT(read(script + "c = Float8LinearConfig(" + text + ")\n", "train.py"), Contains(why));
}

TEST_CASE("float8: Accelerate's sections and handlers") {
  const importer read;
  const auto float8_of = [&](const std::string& text, const std::string& name = "c.yaml") {
    INFO(text);
    CHECK(read(text, name) == "none in bfloat16");
    return read.last().float8;
  };
  const std::string top = "distributed_type: 'NO'\nmixed_precision: fp8\n";
  CHECK(float8_of(top + "fp8_config:\n  backend: TE\n  amax_history_len: 16\n  fp8_format: E4M3\n  margin: 1\n"
                        "  amax_compute_algo: max\n  override_linear_precision: [false, false, false]\n") ==
        said_float8{.recipe = "delayed", .format = "e4m3", .history = 16, .algorithm = "max", .margin = 1});
  // What `accelerate config` asks for under names that nothing reads.
  CHECK(float8_of(top + "fp8_config:\n  backend: TE\n  amax_history_length: 16\n  amax_compute_algorithm: max\n") ==
        said_float8{.recipe = "delayed", .format = "hybrid", .history = 1024, .algorithm = "most_recent", .margin = 0});
  CHECK(read.last().notes.size() == 3);
  CHECK(float8_of(top + "fp8_config:\n  backend: TE\n  use_mxfp8_block_scaling: true\n") ==
        said_float8{.recipe = "mxfp8"});
  CHECK(float8_of(top + "fp8_config:\n  backend: AO\n  pad_inner_dim: true\n") ==
        said_float8{.recipe = "tensorwise", .format = "hybrid", .library = "torchao", .powers_of_two = false});
  CHECK(float8_of(top + "fp8_config:\n  backend: MSAMP\n  opt_level: O2\n") ==
        said_float8{.recipe = "delayed", .library = "MS-AMP"});
  CHECK_FALSE(float8_of(top));
  CHECK_FALSE(float8_of("distributed_type: 'NO'\nmixed_precision: bf16\nfp8_config:\n  backend: TE\n"));
  const auto script = [](const std::string& handler) {
    return "from accelerate import Accelerator\na = Accelerator(mixed_precision='fp8', kwargs_handlers=[" + handler +
           "])\n";
  };
  CHECK(
      float8_of(script("TERecipeKwargs(fp8_format='HYBRID', amax_history_len=32, amax_compute_algo='max')"), "t.py") ==
      said_float8{.recipe = "delayed", .format = "hybrid", .history = 32, .algorithm = "max", .margin = 0});
  CHECK(float8_of(script("AORecipeKwargs(config=Float8LinearConfig.from_recipe_name('rowwise'))"), "t.py") ==
        said_float8{.recipe = "rowwise", .library = "torchao", .powers_of_two = true});
  CHECK_THAT(read(top + "fp8_config:\n  backend: TE\n  override_linear_precision: [false, false, true]\n", "c.yaml"),
             Contains("fp8_config.override_linear_precision keeps products in 16 bits"));
  CHECK_THAT(read(top + "fp8_config:\n  backend: TEX\n", "c.yaml"), Contains("must be TE, AO or MSAMP"));
}

TEST_CASE("float8: NeMo's keys") {
  const importer read;
  const std::string top = "trainer:\n  precision: bf16-mixed\nmodel:\n  tensor_model_parallel_size: 1\n";
  const auto float8_of = [&](const std::string& keys) {
    INFO(keys);
    CHECK(read(top + keys, "c.yaml", {}, "NeMo") == "none in bfloat16");
    return read.last().float8;
  };
  const std::string history =
      "  fp8_margin: 1\n  fp8_interval: 1\n  fp8_amax_history_len: 64\n  fp8_amax_compute_algo: max\n";
  CHECK(float8_of("  transformer_engine: true\n  fp8: True\n  fp8_e4m3: False\n  fp8_hybrid: True\n" + history) ==
        said_float8{.recipe = "delayed", .format = "hybrid", .history = 64, .algorithm = "max", .margin = 1});
  CHECK(float8_of("  transformer_engine: true\n  fp8: true\n  fp8_e4m3: true\n  fp8_hybrid: false\n") ==
        said_float8{.recipe = "delayed", .format = "e4m3", .margin = 0});
  CHECK(float8_of("  transformer_engine: true\n  fp8: true\n  fp8_hybrid: true\n  fp8_recipe: tensorwise\n")->recipe ==
        "tensorwise");
  CHECK_FALSE(float8_of("  transformer_engine: false\n  fp8: true\n  fp8_hybrid: true\n" + history));
  CHECK_FALSE(float8_of("  transformer_engine: true\n  fp8: false\n  fp8_hybrid: true\n" + history));
  CHECK_THAT(read(top + "  transformer_engine: true\n  fp8: true\n  fp8_hybrid: true\n  fp8_amax_history_len: 0\n",
                  "c.yaml", {}, "NeMo"),
             Contains("fp8_amax_history_len must be an integer above 0"));

  const auto of_two = [&](const std::string& text) {
    INFO(text);
    CHECK(read(text, "t.py", {}, "NeMo 2") == "none in bfloat16, norm 1");
    return read.last().float8;
  };
  CHECK(of_two(
            "plugin = MegatronMixedPrecision(precision='bf16-mixed', fp8='hybrid', fp8_recipe='delayed', fp8_margin=0, "
            "fp8_amax_history_len=1024, fp8_amax_compute_algo='max')\n") ==
        said_float8{.recipe = "delayed", .format = "hybrid", .history = 1024, .algorithm = "max", .margin = 0});
  CHECK_FALSE(of_two("plugin = MegatronMixedPrecision(precision='bf16-mixed', fp8=None)\n"));
  CHECK(of_two("r.trainer.plugins = bf16_with_fp8_mixed()\n") ==
        said_float8{.recipe = "delayed", .format = "hybrid", .history = 1024, .algorithm = "max", .margin = 0});
  CHECK(of_two("r.trainer.plugins = bf16_with_mxfp8_mixed()\n")->recipe == "mxfp8");
}
