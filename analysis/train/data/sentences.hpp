// The text that networks learn: sentences of a small grammar, made on the spot.
#ifndef ULP_TRAIN_SENTENCES_HPP
#define ULP_TRAIN_SENTENCES_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace ulp::train {

// A character is its place in this.
inline constexpr std::string_view alphabet = "abcdefghijklmnopqrstuvwxyz. ";

// So many characters; the same text each time.
[[nodiscard]] std::vector<std::uint8_t> sentences(std::size_t characters);

}  // namespace ulp::train

#endif
