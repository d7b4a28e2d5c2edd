#include "python_tokens.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <ulp/io/bytes/error.hpp>

#include "bytes/ascii.hpp"
#include "tree.hpp"

namespace ulp::io {
namespace {

constexpr std::string_view quotes = "'\"";

bool begins_name(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_of_name(char c) { return begins_name(c) || is_digit(c); }

class tokenizer {
 public:
  tokenizer(const std::string& file, std::string_view text) : file_(file), text_(text) {}

  std::vector<python_token> all() {
    while (at_ < text_.size())
      if (!skip_blanks()) take();
    put(python_token::kind::line_end, at_);
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] char here(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void put(python_token::kind what, std::size_t end) {
    tokens_.push_back({what, at_, end, line_});
    at_ = end;
  }

  bool skip_blanks() {
    const char c = here();
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '\\' && (here(1) == '\n' || (here(1) == '\r' && here(2) == '\n'))) {
      at_ += here(1) == '\r' ? 3 : 2;
      ++line_;
    } else if (c == '\n' && open_ > 0) {
      ++at_;
      ++line_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
      ++at_;
    } else {
      return false;
    }
    return true;
  }

  void take() {
    const char c = here();
    if (c == '\n') {
      put(python_token::kind::line_end, at_ + 1);
      ++line_;
    } else if (begins_name(c)) {
      std::size_t end = at_;
      while (end < text_.size() && is_of_name(text_[end])) ++end;
      const bool is_prefix = end - at_ <= 2 && end < text_.size() && quotes.find(text_[end]) != std::string_view::npos;
      if (is_prefix)
        take_text(end);
      else
        put(python_token::kind::name, end);
    } else if (quotes.find(c) != std::string_view::npos) {
      take_text(at_);
    } else if (is_digit(c) || (c == '.' && is_digit(here(1)))) {
      take_number();
    } else {
      if (c == '(' || c == '[' || c == '{') ++open_;
      if ((c == ')' || c == ']' || c == '}') && open_ > 0) --open_;
      put(python_token::kind::sign, at_ + length_of_sign());
    }
  }

  // From where its quotes begin.
  void take_text(std::size_t end) {
    const std::size_t line = line_;
    const char mark = text_[end];
    const bool thrice = text_.substr(end).starts_with(std::string(3, mark));
    end += thrice ? 3 : 1;
    for (;; ++end) {
      if (end >= text_.size() || (text_[end] == '\n' && !thrice))
        throw input_error(file_, at_line(line), "is not Python: a text does not end");
      if (text_[end] == '\\' && end + 1 < text_.size()) {
        if (text_[end + 1] == '\r' && end + 2 < text_.size()) ++end;
        ++end;
      } else if (text_[end] == mark && (!thrice || text_.substr(end).starts_with(std::string(3, mark)))) {
        break;
      }
      if (text_[end] == '\n') ++line_;
    }
    tokens_.push_back({python_token::kind::text, at_, end + (thrice ? 3 : 1), line});
    at_ = tokens_.back().end;
  }

  void take_number() {
    std::size_t end = at_;
    const bool is_hex = here() == '0' && (here(1) == 'x' || here(1) == 'X');
    for (; end < text_.size(); ++end) {
      const char c = text_[end];
      const bool is_sign_of_exponent =
          (c == '-' || c == '+') && !is_hex && end > at_ && (text_[end - 1] == 'e' || text_[end - 1] == 'E');
      if (!is_of_name(c) && c != '.' && !is_sign_of_exponent) break;
    }
    put(python_token::kind::number, end);
  }

  [[nodiscard]] std::size_t length_of_sign() const {
    constexpr std::array<std::string_view, 24> longer{"**=", "//=", ">>=", "<<=", "...", "**", "//", ">>",
                                                      "<<",  "<=",  ">=",  "==",  "!=",  "->", "+=", "-=",
                                                      "*=",  "/=",  "%=",  "&=",  "|=",  "^=", "@=", ":="};
    const auto is_here = [&](std::string_view sign) { return text_.substr(at_).starts_with(sign); };
    const auto* const found = std::ranges::find_if(longer, is_here);
    return found == longer.end() ? 1 : found->size();
  }

  std::string file_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t open_ = 0;  // brackets
  std::vector<python_token> tokens_;
};

std::string_view prefix_of(std::string_view token) { return token.substr(0, token.find_first_of(quotes)); }

}  // namespace

std::vector<python_token> python_tokens(const std::string& file, std::string_view text) {
  return tokenizer(file, text).all();
}

bool is_formatted(std::string_view token) {
  return prefix_of(token).find_first_of("fFtT") != std::string_view::npos && token.find('{') != std::string_view::npos;
}

std::string text_of_token(std::string_view token) {
  const std::string_view prefix = prefix_of(token);
  const bool is_raw = prefix.find_first_of("rR") != std::string_view::npos;
  token.remove_prefix(prefix.size());
  const std::size_t marks = token.size() >= 6 && token[1] == token[0] && token[2] == token[0] ? 3 : 1;
  token = token.substr(marks, token.size() - 2 * marks);
  std::string text;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (is_raw || token[i] != '\\' || i + 1 == token.size()) {
      text += token[i];
      continue;
    }
    const char escaped = token[++i];
    if (escaped == '\r' && i + 1 < token.size() && token[i + 1] == '\n') ++i;
    switch (escaped) {
      case 'n': text += '\n'; break;
      case 't': text += '\t'; break;
      case '\r':
      case '\n': break;
      case '\\':
      case '\'':
      case '"': text += escaped; break;
      default: text += {'\\', escaped};
    }
  }
  return text;
}

std::optional<double> number_of_token(std::string_view token) {
  std::string digits;
  std::ranges::copy_if(token, std::back_inserter(digits), [](char c) { return c != '_'; });
  const char* const end = digits.data() + digits.size();
  const std::string_view base = std::string_view{digits}.substr(0, 2);
  if (const int radix = base == "0x" || base == "0X"   ? 16
                        : base == "0o" || base == "0O" ? 8
                        : base == "0b" || base == "0B" ? 2
                                                       : 0) {
    std::uint64_t whole = 0;
    const auto [to, error] = std::from_chars(digits.data() + 2, end, whole, radix);
    if (error != std::errc{} || to != end) return {};
    return static_cast<double>(whole);
  }
  double value = 0;
  const auto [to, error] = std::from_chars(digits.data(), end, value);
  const bool is_whole = error == std::errc{} && (to == end || (*to == '.' && to + 1 == end));
  return is_whole ? std::optional{value} : std::nullopt;
}

}  // namespace ulp::io
