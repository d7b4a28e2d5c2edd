// transformer_engine/pytorch/module/base.py (get_extra_state), csrc/common.h (FP8FwdTensors, FP8BwdTensors), and
// transformer_engine/common/recipe/delayed_scaling.cu (in which order a history is) of NVIDIA/TransformerEngine @d0067d0d.
#include <ulp/io/amax/amax_rows.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/model/cells/byte_order.hpp>

#include "bytes/cursor.hpp"
#include "bytes/lines.hpp"
#include "bytes/text.hpp"
#include "bytes/within.hpp"
#include "bytes/zip.hpp"
#include "dumps/pickle.hpp"
#include "dumps/pt.hpp"

namespace ulp {
namespace {

constexpr std::string_view extra_state = "_extra_state";

struct pass_history {
  std::string_view history;
  std::array<std::string_view, 3> tensors;  // of one matrix product
  std::size_t count;
  bool number_last;
};
constexpr std::array pass_histories{
    pass_history{"amax_history_fwd", {"INPUT", "WEIGHT", "OUTPUT"}, 3, false},
    pass_history{"amax_history_bwd", {"GRAD_OUTPUT", "GRAD_INPUT"}, 2, true},
};

// "GEMM2_INPUT", "GRAD_OUTPUT2".
std::string column_name(const pass_history& of, std::size_t column) {
  const std::string number = std::to_string(column / of.count + 1);
  const std::string tensor(of.tensors[column % of.count]);
  return of.number_last ? tensor + number : "GEMM" + number + "_" + tensor;
}

struct slot_table {
  std::size_t slots = 0;
  std::size_t columns = 0;
  std::vector<float> values;  // slot by slot
};

class history_reader {
 public:
  history_reader(const std::string& path, const read_limits& limits) : path_(path), limits_(limits) {}

  amax_rows read() {
    const auto states = io::bytes_in_pt(path_, extra_state, limits_);
    if (states.empty())
      throw input_error(
          path_, "",
          "has no _extra_state with something in it, as a state_dict of TransformerEngine's modules has under "
          "delayed scaling; other recipes keep no amax");
    for (const auto& [name, bytes] : states) read(name, bytes);
    if (all_.rows.empty())
      throw input_error(path_, "",
                        "has no amax in its " + std::to_string(states.size()) + " _extra_state: nothing was run");
    std::ranges::stable_sort(all_.rows, {}, &amax_row::step);
    all_.notes.push_back(printable(path_) +
                         ": histories of amax have no steps: their slots are numbered from the oldest, 0");
    return std::move(all_);
  }

 private:
  void read(const std::string& name, const std::vector<std::uint8_t>& bytes) {
    const std::string place = "tensor " + io::in_quotes(name);
    const auto see = [&](const io::pickled_tensor& t, io::byte_span storage) {
      for (const pass_history& of : pass_histories)
        if (t.name == of.history)
          add(name.substr(0, name.size() - extra_state.size()), of, table_of(t, storage, place));
    };
    // Versions before 1.0 save a file of torch.save within it, later ones a pickle.
    const std::string_view start(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 4));
    if (io::starts_zip(start)) {
      for (const io::held_tensor& held : io::tensors_in_pt(bytes, path_, place, limits_))
        see(held.tensor, held.storage);
      return;
    }
    for (const io::pickled_tensor& t : io::read_plain_pickle(bytes, path_, place, limits_)) see(t, bytes);
  }

  [[nodiscard]] slot_table table_of(const io::pickled_tensor& t, io::byte_span bytes, const std::string& place) const {
    const auto count = io::checked_product(t.shape);
    const bool fits = t.type->name == "float32" && t.shape.size() == 2 && t.strides[0] == t.shape[1] &&
                      t.strides[1] == 1 && count && t.offset <= t.storage_bytes / sizeof(float) &&
                      *count <= t.storage_bytes / sizeof(float) - t.offset;
    if (!fits) throw input_error(path_, place, t.name + " is no matrix of float32 with a row for each slot");
    slot_table made{t.shape[0], t.shape[1], std::vector<float>(*count)};
    load_little(bytes.data() + t.inside + t.offset * sizeof(float), std::span{made.values});
    return made;
  }

  // Slot 0 gathers what is not over yet, 1 is the oldest. Slots that were never filled are 0.
  void add(const std::string& module, const pass_history& of, const slot_table& history) {
    for (std::size_t column = 0; column < history.columns; ++column) {
      io::check_count(++tensors_, limits_, path_, "", "tensors with a history");
      const std::string name = module + column_name(of, column);
      io::check_name(path_, "", name);
      const auto at = [&](std::size_t slot) { return history.values[slot * history.columns + column]; };
      bool in_use = false;
      for (std::size_t slot = 1; slot <= history.slots; ++slot) {
        const bool is_open = slot == history.slots;
        const float amax = at(is_open ? 0 : slot);
        if (is_open && amax == 0) break;
        in_use = in_use || amax != 0;
        if (in_use) all_.rows.push_back({static_cast<std::int64_t>(slot) - 1, name, amax});
      }
    }
  }

  const std::string& path_;
  const read_limits& limits_;
  amax_rows all_;
  std::uint64_t tensors_ = 0;
};

}  // namespace

bool holds_amax_histories(const std::string& path, const read_limits& limits) {
  try {
    io::line_reader start(path, limits);
    if (!io::starts_zip(start.peek())) return false;
    return !io::bytes_in_pt(path, extra_state, limits).empty();
  } catch (const input_error&) {
    return false;  // what it is then, its own reader says
  }
}

amax_rows read_amax_histories(const std::string& path, const read_limits& limits) {
  return history_reader(path, limits).read();
}

}  // namespace ulp
