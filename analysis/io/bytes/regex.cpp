#include <re2/re2.h>

#include <algorithm>
#include <stdexcept>
#include <ulp/io/bytes/regex.hpp>
#include <vector>

#include "text.hpp"

namespace ulp {
namespace {

using re2::RE2;
using re2::StringPiece;

RE2::Options options() {
  RE2::Options o;
  o.set_log_errors(false);
  o.set_max_mem(std::int64_t{8} << 20);
  return o;
}

// What RE2 refuses, in words that do not change with its version, and what to do about it.
std::string reason_of(const RE2& refused) {
  const std::string& part = refused.error_arg();
  const std::string quoted = io::in_quotes(part);
  switch (refused.error_code()) {
    case RE2::ErrorBadEscape:
      if (part.size() > 1 && part[1] >= '0' && part[1] <= '9')
        return "RE2 has no back-references such as " + quoted + ": write out what is repeated";
      return "RE2 has no escape " + quoted + R"(: a character by its number is \x{E9})";
    case RE2::ErrorBadCharClass:
    case RE2::ErrorBadCharRange: return quoted + " is not a range or class of characters";
    case RE2::ErrorMissingBracket: return R"(a [ is not closed by ]; the character itself is \[)";
    case RE2::ErrorMissingParen: return R"(a ( is not closed by ); the character itself is \()";
    case RE2::ErrorUnexpectedParen: return R"(a ) closes nothing; the character itself is \))";
    case RE2::ErrorTrailingBackslash: return R"(it ends in a single backslash; the character itself is \\)";
    case RE2::ErrorRepeatArgument: return "nothing stands before " + quoted + " to be repeated; any text is .*";
    case RE2::ErrorRepeatSize: return quoted + " is not a number of repetitions up to 1000";
    case RE2::ErrorRepeatOp: return quoted + " repeats something already repeated";
    case RE2::ErrorBadPerlOp:
      if (part.size() > 2 && std::string_view{"=!<"}.find(part[2]) != std::string_view::npos)
        return "RE2 has no look-around such as " + quoted + ": match the text itself, not its surroundings";
      return "RE2 has no " + quoted;
    case RE2::ErrorBadUTF8: return "it is not UTF-8; . stands for any other byte";
    case RE2::ErrorBadNamedCapture: return quoted + " is not a named group; write (?P<name>...)";
    case RE2::ErrorPatternTooLarge: return "it needs too much memory: repeat less, or fewer times";
    case RE2::NoError:
    case RE2::ErrorInternal: break;
  }
  return "RE2 cannot read it";
}

}  // namespace

regex::regex(std::string_view expression) {
  const auto refuse = [&](const std::string& reason) {
    throw std::invalid_argument(io::in_quotes(expression) + " is not a valid regular expression: " + reason);
  };
  if (expression.size() > longest)
    refuse("it has " + std::to_string(expression.size()) + " bytes, more than " + std::to_string(longest));
  compiled_ = std::make_shared<const RE2>(StringPiece{expression.data(), expression.size()}, options());
  if (!compiled_->ok()) refuse(reason_of(*compiled_));
  if (const int groups = compiled_->NumberOfCapturingGroups(); groups > most_groups)
    refuse("it has " + std::to_string(groups) + " groups, more than " + std::to_string(most_groups) +
           "; (?:...) groups without capturing");
}

bool regex::matches(std::string_view text) const { return RE2::PartialMatch(io::as_utf8(text), *compiled_); }

std::optional<std::string> regex::last_group(std::string_view text) const {
  const std::string subject = io::as_utf8(text);
  const int groups = compiled_->NumberOfCapturingGroups();
  std::vector<StringPiece> parts(static_cast<std::size_t>(groups) + 1);
  std::optional<std::string> found;
  for (std::size_t at = 0; at <= subject.size();) {
    if (!compiled_->Match(subject, at, subject.size(), RE2::UNANCHORED, parts.data(), groups + 1)) break;
    const auto part = std::find_if(parts.begin() + (groups > 0 ? 1 : 0), parts.end(),
                                   [](const StringPiece& p) { return p.data() != nullptr; });
    if (part != parts.end()) found = std::string{part->data(), part->size()};
    const std::size_t end = static_cast<std::size_t>(parts[0].data() - subject.data()) + parts[0].size();
    // The next one begins where this one ends, or one byte on where it is empty.
    at = parts[0].empty() ? end + 1 : end;
  }
  return found;
}

}  // namespace ulp
