#include "data/sentences.hpp"

#include <array>
#include <span>
#include <string>

#include <ulp/formats/random_bits.hpp>

namespace ulp::train {
namespace {

constexpr std::array<std::string_view, 12> nouns{"engine",  "fox",    "garden", "kettle", "lamp",  "mirror",
                                                 "quartet", "rabbit", "ship",   "tower",  "valve", "zebra"};
constexpr std::array<std::string_view, 8> adjectives{"amber", "blue",  "eager", "heavy",
                                                     "jolly", "quiet", "tiny",  "wet"};
constexpr std::array<std::string_view, 8> verbs{"builds", "chases", "finds",  "hides",
                                                "keeps",  "moves",  "paints", "sees"};

class writer {
 public:
  void write_sentence() {
    write_thing();
    text_ += pick(verbs);
    text_ += ' ';
    write_thing();
    text_.back() = '.';
    text_ += ' ';
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  // The top bits of a random word as a fraction of the list.
  std::string_view pick(std::span<const std::string_view> list) {
    return list[std::uint64_t{random_bits(0, stream_of("sentences", 0), drawn_++, 32)} * list.size() >> 32];
  }
  void write_thing() {
    constexpr std::array<std::string_view, 3> articles{"the", "every", "no"};
    text_ += pick(articles);
    text_ += ' ';
    // Two of three things have an adjective.
    if (pick(articles) != "no") {
      text_ += pick(adjectives);
      text_ += ' ';
    }
    text_ += pick(nouns);
    text_ += ' ';
  }

  std::string text_;
  std::uint64_t drawn_ = 0;
};

}  // namespace

std::vector<std::uint8_t> sentences(std::size_t characters) {
  writer w;
  while (w.text().size() < characters) w.write_sentence();
  std::vector<std::uint8_t> text(characters);
  for (std::size_t i = 0; i < characters; ++i) text[i] = static_cast<std::uint8_t>(alphabet.find(w.text()[i]));
  return text;
}

}  // namespace ulp::train
