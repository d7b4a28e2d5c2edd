// Where a line has a word or a value: looked for once, however many records of the line ask for it, since a line of a hostile log
// may begin a hundred thousand of them.
#ifndef ULP_IO_TRAINING_LOG_DIALECTS_LINE_PLACES_HPP
#define ULP_IO_TRAINING_LOG_DIALECTS_LINE_PLACES_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ulp::io {

// What is looked for: a word, by the address of its literal, alone or with a number behind it.
struct place_key {
  enum class with : std::uint8_t { nothing, step, value, value_in_any_case };
  std::string_view word;
  with what = with::nothing;

  friend bool operator==(const place_key& a, const place_key& b) noexcept {
    return a.word.data() == b.word.data() && a.what == b.what;
  }
};
struct place_key_hash {
  std::size_t operator()(const place_key& key) const noexcept {
    return std::hash<const void*>()(key.word.data()) ^ static_cast<std::size_t>(key.what);
  }
};

class line_places {
 public:
  // The first place at or behind `from` in the line from `begin` to `end`, npos where there is none. `next` finds the first
  // one at or behind an offset; it may find one behind the line.
  template <typename Next>
  [[nodiscard]] std::size_t first(const place_key& key, std::size_t begin, std::size_t end, std::size_t from,
                                  const Next& next) {
    found& of = all_[key];
    if (of.text != text_ || of.line != begin) {
      of.text = text_;
      of.line = begin;
      of.at.clear();
      for (std::size_t at = next(begin); at < end; at = next(at + 1)) of.at.push_back(at);
    }
    const auto place = std::ranges::lower_bound(of.at, from);
    return place == of.at.end() ? std::string_view::npos : *place;
  }

  // The text is another one.
  void forget() noexcept { ++text_; }

 private:
  struct found {
    std::uint64_t text = 0;
    std::size_t line = 0;
    std::vector<std::size_t> at{};  // ascending
  };
  std::unordered_map<place_key, found, place_key_hash> all_;
  std::uint64_t text_ = 1;
};

}  // namespace ulp::io

#endif
