#include "scale_conventions.hpp"

#include <array>

namespace ulp::io {
namespace {

constexpr auto float8 = code_kind::float8;
constexpr auto pairs = code_kind::float4_pairs;

constexpr std::array rows{
    // deepseek-ai/DeepSeek-V3 inference/kernel.py weight_dequant: x.to(float32) * s, of blocks of 128x128; bytes:
    // vllm-project/compressed-tensors compressors/mx_utils.py decompress_mx_scale has E8M0 as such.
    scale_convention{"DeepSeek", float8, "", "", "_scale_inv", float_scales | e8m0_scales, scale_extent::any},
    scale_convention{"MXFP8", float8, "", "", "_scale_inv", byte_scales, scale_extent::of_32},
    // The same under the names of DeepSeek-V3 inference/convert.py.
    scale_convention{"DeepSeek", float8, ".weight", ".weight", ".scale", float_scales | e8m0_scales, scale_extent::any},
    // vllm-project/compressed-tensors quantization/lifecycle/forward.py _dequantize; NVIDIA/TensorRT-Model-Optimizer
    // torch/quantization/qtensor/fp8_tensor.py dequantize: of the tensor, of rows (N, 1) or (N,), of blocks.
    scale_convention{"compressed-tensors and ModelOpt", float8, "", "", "_scale", float_scales | e8m0_scales,
                     scale_extent::any},
    // vllm-project/compressed-tensors compressors/mxfp8/base.py.
    scale_convention{"MXFP8 of compressed-tensors", float8, "", "", "_scale", byte_scales, scale_extent::of_32},
    // comfyanonymous/ComfyUI comfy/ops.py fp8_linear; Mistral's own names: ggml-org/llama.cpp convert_hf_to_gguf.py
    // dequant_simple.
    scale_convention{"ComfyUI", float8, ".weight", ".weight", ".scale_weight", float_scales, scale_extent::any},
    scale_convention{"Mistral", float8, ".weight", ".weight", ".qscale_weight", float_scales, scale_extent::any},
    // NVIDIA/TensorRT-Model-Optimizer torch/quantization/qtensor/nvfp4_tensor.py dequantize: scale.to(float32) * double_scale.
    scale_convention{"NVFP4 of ModelOpt", pairs, "", "", "_scale", e4m3_scales, scale_extent::of_16,
                     second_level::multiplies, "_scale_2"},
    // Its mxfp4_tensor.py, and AMD's Quark.
    scale_convention{"MXFP4", pairs, "", "", "_scale", byte_scales | e8m0_scales, scale_extent::of_32},
    // vllm-project/compressed-tensors compressors/nvfp4/base.py decompress: scale / global_scale.
    scale_convention{"NVFP4 of compressed-tensors", pairs, "_packed", "", "_scale", e4m3_scales, scale_extent::of_16,
                     second_level::divides, "_global_scale"},
    // Its compressors/mxfp4/base.py.
    scale_convention{"MXFP4 of compressed-tensors", pairs, "_packed", "", "_scale", byte_scales | e8m0_scales,
                     scale_extent::of_32},
    // openai/gpt-oss gpt_oss/torch/weights.py _get_mxfp4_tensor; the first names are those on Hugging Face.
    scale_convention{"MXFP4 of gpt-oss", pairs, "_blocks", "", "_scales", byte_scales | e8m0_scales,
                     scale_extent::of_bytes},
    scale_convention{"MXFP4 of gpt-oss", pairs, ".blocks", "", ".scales", byte_scales | e8m0_scales,
                     scale_extent::of_bytes},
};

}  // namespace

std::span<const scale_convention> scale_conventions() noexcept { return rows; }

}  // namespace ulp::io
