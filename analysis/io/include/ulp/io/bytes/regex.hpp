// Regular expressions of users and of files: searching takes time linear in the text and bounded memory, whatever the
// expression. The syntax is RE2's, https://github.com/google/re2/wiki/Syntax: neither look-around nor back-references.
#ifndef ULP_IO_BYTES_REGEX_HPP
#define ULP_IO_BYTES_REGEX_HPP

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace ulp {

// Upper and lower case differ. In a text, each byte that is not UTF-8 is U+FFFD, which '.' matches: paths need not be
// UTF-8. Copies are cheap; all members may be called from several threads at once.
class regex {
 public:
  static constexpr std::size_t longest = 16384;  // bytes
  static constexpr int most_groups = 100;        // as memory for groups grows with the size times their number

  // Throws std::invalid_argument where it is none, or too large. Its text is one line that quotes the expression.
  explicit regex(std::string_view expression);

  // Whether it is found anywhere in the text.
  [[nodiscard]] bool matches(std::string_view text) const;
  // `matches`, so that an expression is a name_predicate.
  [[nodiscard]] bool operator()(std::string_view text) const { return matches(text); }

  // Of the last match in the text, the first group that took part, or all of it where there are no groups. Matches do not
  // overlap; those in which no group took part are passed over.
  [[nodiscard]] std::optional<std::string> last_group(std::string_view text) const;

 private:
  std::shared_ptr<const re2::RE2> compiled_;
};

}  // namespace ulp

#endif
