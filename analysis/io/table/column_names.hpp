// What the columns of a run's table mean, by the names that people's tools give them.
#ifndef ULP_IO_TABLE_COLUMN_NAMES_HPP
#define ULP_IO_TABLE_COLUMN_NAMES_HPP

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ulp::io {

enum class column_meaning : std::uint8_t {
  step,
  epoch,
  loss,
  grad_norm,
  learning_rate,
  loss_scale,
  found_inf,  // whether gradients were not finite, or the step was skipped
  skipped,    // how many steps were skipped, in all or since the row before
  applied,    // whether the optimizer stepped
  rank,       // which process wrote the row
  run,        // of which run the row is
  part,       // training or validation, as text
  key,        // where each row has one metric: its name
  value,      // and its value
};

// What a name says; of several columns with one meaning the least counts.
struct column_reading {
  column_meaning means = column_meaning::step;
  bool of_validation = false;
  bool of_epoch = false;    // a mean over an epoch
  bool is_part = false;     // a loss that others are added to: box_loss
  bool is_nested = false;   // beneath a name that says nothing: actor/grad_norm
  bool is_running = false;  // a mean, perhaps of all that came before
  bool is_log2 = false;     // the logarithm base 2 of what it means
  bool stands_in = false;   // a loss only where no other column is one: "nll", "mse"
  std::uint32_t place = 0;  // in the table of names: the usual ones first

  friend auto operator<=>(const column_reading& a, const column_reading& b) noexcept {
    const auto key = [](const column_reading& r) {
      return (r.of_validation ? 1U << 21 : 0) + (r.stands_in ? 1U << 20 : 0) + (r.is_part ? 1U << 19 : 0) +
             (r.of_epoch ? 1U << 18 : 0) + (r.is_nested ? 1U << 17 : 0) + r.place;
    };
    return key(a) <=> key(b);
  }
  friend bool operator==(const column_reading& a, const column_reading& b) noexcept { return (a <=> b) == 0; }
};

// Case, blanks, dashes, dots and capitals inside a word do not matter; parts of a path, "train", "val", "epoch", "avg" and
// the like are understood. nullopt where the name tells nothing of these.
[[nodiscard]] std::optional<column_reading> reading_of(std::string_view name);

// Whether a name of flags or numbers of skipped steps says that these are of steps or of gradients: "skipped_steps", "found_inf",
// not "overflow" or "skipped_batches".
[[nodiscard]] bool names_steps(std::string_view name);

// Whether one of a name's words, between slashes and underscores, is `wanted`, in small letters.
[[nodiscard]] bool has_word(std::string_view name, std::string_view wanted);
// Whether one of them says that it is of validation.
[[nodiscard]] bool names_validation(std::string_view name);
// Whether a name that was not taken has words that matter: a loss, a norm, a scale.
[[nodiscard]] bool looks_important(std::string_view name);

// "loss", "grad_norm": as --columns and notes call it.
[[nodiscard]] std::string_view to_string(column_meaning meaning) noexcept;
// Of those that --columns takes; "norm", "lr" and "scale" too.
[[nodiscard]] std::optional<column_meaning> column_meaning_named(std::string_view name) noexcept;

}  // namespace ulp::io

#endif
