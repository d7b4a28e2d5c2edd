#include <ulp/report/findings/cards.hpp>

#include <algorithm>
#include <array>

namespace ulp {
namespace {

constexpr std::array rows{
    card_row{"divergence", "window", card_curve::norm},
    card_row{"initial_scale", "scale", card_curve::run_scale},
    card_row{"bad_batch", "window", card_curve::norm},
    card_row{"forward_overflow", "scale", card_curve::run_scale},
    card_row{"loss_overflow", "window", card_curve::loss},
    card_row{"collapsed_scale", "scale", card_curve::run_scale},
    card_row{"open_overflow", "scale", card_curve::run_scale},
    card_row{"unhandled_overflow", "scale", card_curve::run_scale},
    card_row{"nan_source", "layers", card_curve::none},
    card_row{"zero_gradients", "layers", card_curve::norm},
    card_row{"underflow", "layers", card_curve::none},
    card_row{"vanished", "layers", card_curve::norm},
    card_row{"loss_peak", "window", card_curve::loss},
    card_row{"dying_units", "layers", card_curve::loss},
    card_row{"vanished_in_depth", "layers", card_curve::none},
    card_row{"scale_at_floor", "scale", card_curve::run_scale},
    card_row{"dead_layer", "layers", card_curve::none},
    card_row{"gradient_overflow", "scale", card_curve::run_scale},
    card_row{"first_overflow", "layers", card_curve::none},
    card_row{"recorded_wrongly", "window", card_curve::none},
    card_row{"recorded_clipped", "clipping", card_curve::norm},
    card_row{"recorded_values", "window", card_curve::none},
    card_row{"replay_underflow", "layers", card_curve::none},
    card_row{"format", "formats", card_curve::none},
    card_row{"static_scale", "formats", card_curve::none},
    card_row{"growth", "policies", card_curve::replay_scale},
    card_row{"worst_tensors", "layers", card_curve::none},
    card_row{"worst_groups", "layers", card_curve::none},
    card_row{"clipping", "clipping", card_curve::norm},
    card_row{"tensor_scales", "formats", card_curve::none},
    card_row{"fp8_format", "tensor-scales", card_curve::none},
    card_row{"fp8_history", "tensor-scales", card_curve::none},
    card_row{"fp8_tensors", "tensor-scales", card_curve::none},
    card_row{"fp8_saturation", "tensor-scales", card_curve::none},
    card_row{"fp8_stale", "tensor-scales", card_curve::none},
    card_row{"fp8_amax", "tensor-scales", card_curve::none},
    card_row{"fp8_underflow", "tensor-scales", card_curve::none},
    card_row{"fp8_live", "tensor-scales", card_curve::none},
    card_row{"group_scales", "formats", card_curve::none},
    card_row{"not_helped", "layers", card_curve::none},
    card_row{"lost_updates", "layers", card_curve::none},
    card_row{"log", "scale", card_curve::run_scale},
    card_row{"nothing", "", card_curve::none},
};

}  // namespace

std::span<const card_row> card_rows() noexcept { return rows; }

const card_row* find_card(std::string_view topic) noexcept {
  const auto found = std::ranges::find(rows, topic, &card_row::topic);
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace ulp
