#include "script.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <ulp/io/bytes/error.hpp>

namespace ulp::io {
namespace {

using origin = traced_text::origin;

constexpr std::size_t most_copied = 16 << 20;  // characters of all values of variables together
// Words before a command.
constexpr std::array<std::string_view, 9> leading{"if", "then", "else", "elif", "do", "while", "until", "time", "{"};
constexpr int deepest = 8;  // of scripts in scripts

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_name_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}
std::string_view base_name(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

template <std::size_t N>
bool is_among(std::string_view text, const std::array<std::string_view, N>& all) {
  return std::ranges::find(all, text) != all.end();
}

struct variable {
  std::vector<traced_text> words;
  bool is_array = false;
  std::set<std::string> parts;  // variables that were replaced in it
};

struct state {
  std::string file;
  shell_script script;
  std::map<std::string, variable, std::less<>> variables;
  std::size_t copied = 0;  // characters

  void count(std::size_t characters, std::size_t line) {
    copied += characters;
    if (copied > most_copied)
      throw input_error(file, "line " + std::to_string(line),
                        "holds variables that go far beyond what a command takes; give the arguments alone");
  }
};

class reader {
 public:
  reader(state& all, const traced_text& text, int depth) : all_(all), in_(text), depth_(depth) {}

  void read() {
    while (at_ < in_.text.size()) step();
    end_command();
  }

 private:
  [[nodiscard]] char here(std::size_t ahead = 0) const {
    return at_ + ahead < in_.text.size() ? in_.text[at_ + ahead] : '\0';
  }
  void take() {
    word_.add(here(), in_.origins[at_]);
    in_word_ = true;
    ++at_;
  }

  void step() {
    const char c = here();
    if (c == '\n') {
      end_command();
      ++at_;
      read_documents();
    } else if (is_blank(c)) {
      end_word();
      ++at_;
    } else if (c == '\\') {
      escaped();
    } else if (continues_on_windows()) {
      end_word();
      at_ += here(1) == '\r' ? 3 : 2;
    } else if (c == '#' && !in_word_) {
      while (at_ < in_.text.size() && here() != '\n') ++at_;
    } else if (c == '\'') {
      quoted_literally();
    } else if (c == '"') {
      quoted();
    } else if (c == '$') {
      expand(false);
    } else if (c == '`') {
      opaque_to('`');
    } else if (c == '>' || c == '<' || (c == '&' && here(1) == '>')) {
      redirect();
    } else if (c == '(' && in_word_ && word_.text.ends_with('=')) {
      array();
    } else if (c == ';' || c == '&' || c == '|' || c == '(' || c == ')') {
      end_command();
      ++at_;
    } else {
      take();
    }
  }

  // '^' of cmd and, behind a blank, '`' of PowerShell at the end of a line.
  [[nodiscard]] bool continues_on_windows() const {
    const bool ends_line = here(1) == '\n' || (here(1) == '\r' && here(2) == '\n');
    return ends_line && (here() == '^' || (here() == '`' && !in_word_));
  }

  void escaped() {
    ++at_;
    if (here() == '\r' && here(1) == '\n') ++at_;
    if (here() == '\n')
      ++at_;
    else if (at_ < in_.text.size())
      take();
  }

  void quoted_literally() {
    in_word_ = true;
    for (++at_; at_ < in_.text.size() && here() != '\'';) take();
    ++at_;
  }

  void quoted() {
    in_word_ = true;
    for (++at_; at_ < in_.text.size() && here() != '"';) {
      if (here() == '\\')
        escaped();
      else if (here() == '$')
        expand(true);
      else if (here() == '`')
        opaque_to('`');
      else
        take();
    }
    ++at_;
  }

  // What a run would put here, as it is written.
  void opaque_to(char end) {
    take();
    while (at_ < in_.text.size() && here() != end) take();
    if (at_ < in_.text.size()) take();
  }
  void opaque_brackets(char open, char close) {
    int depth = 0;
    while (at_ < in_.text.size()) {
      const char c = here();
      if (c == open) ++depth;
      if (c == close) --depth;
      take();
      if (depth == 0) return;
    }
  }

  // $NAME, ${NAME}, ${NAME[@]}, ${NAME:-otherwise}; all else stays.
  void expand(bool in_quotes) {
    if (here(1) == '(') {
      take();
      opaque_brackets('(', ')');
      return;
    }
    const bool braced = here(1) == '{';
    const std::size_t begin = at_ + (braced ? 2 : 1);
    std::size_t end = begin;
    while (end < in_.text.size() && is_name_character(in_.text[end])) ++end;
    const std::string name = in_.text.substr(begin, end - begin);
    const auto found = all_.variables.find(name);
    if (!braced) {
      if (name.empty() || found == all_.variables.end()) {
        take();
        return;
      }
      at_ = end;
      insert(found->first, found->second, in_quotes);
      return;
    }
    const std::size_t close = in_.text.find('}', end);
    const std::string_view rest =
        close == std::string::npos ? std::string_view{} : std::string_view(in_.text).substr(end, close - end);
    const bool whole = rest.empty() || rest == "[@]" || rest == "[*]";
    const std::size_t dash = rest.starts_with(":-") || rest.starts_with(":=") ? 2 : rest.starts_with('-') ? 1 : 0;
    if (close != std::string::npos && found != all_.variables.end() && (whole || dash > 0)) {
      at_ = close + 1;
      insert(found->first, found->second, in_quotes, in_quotes && rest == "[*]");
    } else if (close != std::string::npos && !name.empty() && dash > 0 && rest.find_first_of("${`") == rest.npos) {
      traced_text otherwise;
      for (std::size_t i = end + dash; i < close; ++i)
        if (in_.text[i] != '"' && in_.text[i] != '\'') otherwise.add(in_.text[i], in_.origins[i]);
      at_ = close + 1;
      insert_text(otherwise, in_quotes);
    } else {
      take();
      opaque_brackets('{', '}');
    }
  }

  // The elements of an array are words, but one word as "${NAME[*]}" and in what is assigned.
  void insert(const std::string& name, const variable& value, bool in_quotes, bool as_one = false) {
    command_.variables.insert(name);
    command_.variables.insert(value.parts.begin(), value.parts.end());
    const variable copy = value;  // what is read may be assigned to the same name
    as_one = as_one || is_assignment();
    for (std::size_t i = 0; i < copy.words.size(); ++i) {
      if (i > 0 && as_one)
        word_.add(' ', copy.words[i].origins.empty() ? traced_text::origin{} : copy.words[i].origins.front());
      else if (i > 0)
        end_word();
      insert_text(copy.words[i], in_quotes || copy.is_array);
    }
  }

  void insert_text(const traced_text& value, bool in_quotes) {
    all_.count(value.text.size(), in_.origins.empty() ? 0 : in_.origins[std::min(at_, in_.origins.size() - 1)].line);
    const bool splits = !in_quotes && !is_assignment();
    for (std::size_t i = 0; i < value.text.size(); ++i) {
      const char c = value.text[i];
      if (splits && (is_blank(c) || c == '\n')) {
        end_word();
      } else {
        word_.add(c, value.origins[i]);
        in_word_ = true;
      }
    }
    if (in_quotes) in_word_ = true;
  }

  // Where the name ends in a word that assigns; 0 in any other.
  [[nodiscard]] std::size_t assigned_name() const {
    const std::string& t = word_.text;
    const auto end = static_cast<std::size_t>(std::ranges::find_if_not(t, is_name_character) - t.begin());
    const bool assigns = end > 0 && (t.compare(end, 1, "=") == 0 || t.compare(end, 2, "+=") == 0);
    return assigns && !(t[0] >= '0' && t[0] <= '9') ? end : 0;
  }
  [[nodiscard]] bool is_assignment() const {
    const auto leaves_room = [](const traced_text& word) {
      constexpr std::array<std::string_view, 5> declaring{"export", "readonly", "declare", "local", "typeset"};
      return is_among(word.text, declaring) || is_among(word.text, leading) || word.text.starts_with('-');
    };
    return assigned_name() > 0 && std::ranges::all_of(command_.words, leaves_room);
  }

  void array() {
    const bool assigns = is_assignment();
    traced_text name = std::move(word_);
    word_ = {};
    in_word_ = false;
    std::vector<traced_text> before = std::move(command_.words);
    command_.words.clear();
    for (++at_; at_ < in_.text.size() && here() != ')';) {
      if (here() == '\n' || here() == '(') {
        end_word();
        ++at_;
      } else {
        in_array_ = true;
        step();
        in_array_ = false;
      }
    }
    ++at_;
    end_word();
    std::vector<traced_text> elements = std::move(command_.words);
    command_.words = std::move(before);
    if (!assigns) return;
    const bool appends = name.text.ends_with("+=");
    name.text.erase(name.text.size() - (appends ? 2 : 1));
    assign(name.text, name.line(), {std::move(elements), true, {}}, appends);
  }

  void assign(const std::string& name, std::size_t line, variable value, bool appends) {
    variable& now = all_.variables[name];
    const auto number = static_cast<std::uint32_t>(all_.script.assignments.size() + 1);
    for (traced_text& w : value.words)
      for (origin& o : w.origins)
        if (o.assignment == 0) o.assignment = number;
    if (appends && value.is_array) {
      now.words.insert(now.words.end(), value.words.begin(), value.words.end());
      now.is_array = true;
    } else if (appends && !now.words.empty()) {
      for (const traced_text& w : value.words) now.words.back().add(w);
    } else {
      now = std::move(value);
    }
    now.parts.insert(command_.variables.begin(), command_.variables.end());
    for (const traced_text& w : now.words) all_.count(w.text.size(), line);
    all_.script.of_variable[name].push_back(all_.script.assignments.size());
    all_.script.assignments.push_back({name, line, now.words, conditions_.empty() ? "" : conditions_.back()});
  }

  void end_word() {
    if (!in_word_) return;
    traced_text done = std::move(word_);
    word_ = {};
    in_word_ = false;
    if (redirects_) {
      redirects_ = false;
      target_ = done.text;
      return;
    }
    word_ = std::move(done);
    const bool assigns = !in_array_ && is_assignment();
    const std::size_t name_end = assigns ? assigned_name() : 0;
    done = std::move(word_);
    word_ = {};
    if (!assigns) {
      command_.words.push_back(std::move(done));
      return;
    }
    const bool appends = done.text[name_end] == '+';
    const std::size_t begin = name_end + (appends ? 2 : 1);
    traced_text value;
    for (std::size_t i = begin; i < done.text.size(); ++i) value.add(done.text[i], done.origins[i]);
    assign(done.text.substr(0, name_end), done.line(), {{std::move(value)}, false, {}}, appends);
  }

  void redirect() {
    const bool is_number =
        in_word_ && word_.text.find_first_not_of("0123456789") == std::string::npos && word_.text.size() < 3;
    if (is_number) {
      word_ = {};
      in_word_ = false;
    }
    end_word();
    if (here() == '<' && here(1) == '<' && here(2) != '<') {
      at_ += here(2) == '-' ? 3 : 2;
      while (is_blank(here())) ++at_;
      std::string mark;
      while (at_ < in_.text.size() && !is_blank(here()) && here() != '\n' && here() != '>') {
        if (here() != '\'' && here() != '"' && here() != '\\') mark += here();
        ++at_;
      }
      documents_.push_back(mark);
      return;
    }
    while (here() == '>' || here() == '<' || here() == '&' || here() == '|') ++at_;
    redirects_ = true;
  }

  // The lines of here-documents, which are no commands.
  void read_documents() {
    for (const std::string& mark : documents_) {
      traced_text body;
      while (at_ < in_.text.size()) {
        std::size_t end = std::min(in_.text.find('\n', at_), in_.text.size());
        std::string_view line = std::string_view(in_.text).substr(at_, end - at_);
        line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        const bool ends = line == mark;
        for (; at_ < end; ++at_)
          if (!ends) body.add(here(), in_.origins[at_]);
        if (at_ < in_.text.size()) {
          if (!ends) body.add('\n', in_.origins[at_]);
          ++at_;
        }
        if (ends) break;
      }
      if (!written_to_.empty()) all_.script.written[written_to_] = replaced_in(body);
      if (!read_into_.empty()) assign(read_into_, body.line(), {{on_one_line(body)}, false, {}}, false);
    }
    documents_.clear();
    written_to_.clear();
    read_into_.clear();
  }

  // Without the ends of lines that a document continues.
  static traced_text on_one_line(const traced_text& body) {
    traced_text whole;
    for (std::size_t i = 0; i < body.text.size(); ++i) {
      if (body.text.compare(i, 2, "\\\n") == 0)
        ++i;
      else
        whole.add(body.text[i], body.origins[i]);
    }
    return whole;
  }

  // A document's variables are replaced as within quotes; quotes in it are none.
  std::string replaced_in(const traced_text& body) {
    reader inner(all_, body, depth_);
    while (inner.at_ < body.text.size()) {
      if (inner.here() == '$')
        inner.expand(true);
      else
        inner.take();
    }
    return inner.word_.text;
  }

  void end_command() {
    end_word();
    redirects_ = false;
    if (!documents_.empty()) written_to_ = target_;
    target_.clear();
    shell_command done = std::move(command_);
    command_ = {};
    if (!documents_.empty() && !done.words.empty() && done.words.front().text == "read")
      read_into_ = done.words.back().text;
    follow_branches(done);
    while (!done.words.empty() && is_among(done.words.front().text, leading)) done.words.erase(done.words.begin());
    if (done.words.empty()) return;
    if (const auto inner = inner_script(done); inner && depth_ < deepest) {
      const std::size_t before = all_.script.commands.size();
      reader(all_, *inner, depth_ + 1).read();
      for (std::size_t i = before; i < all_.script.commands.size(); ++i)
        all_.script.commands[i].variables.insert(done.variables.begin(), done.variables.end());
      return;
    }
    all_.script.commands.push_back(std::move(done));
  }

  void follow_branches(const shell_command& command) {
    if (command.words.empty()) return;
    const std::string& first = command.words.front().text;
    if (first == "fi" || first == "esac") {
      if (!conditions_.empty()) conditions_.pop_back();
    } else if (first == "if" || first == "case") {
      conditions_.push_back(variable_asked(command));
    }
  }

  // Of `[ $NAME = ... ]`: what this script sets, else what its caller does.
  static std::string variable_asked(const shell_command& command) {
    if (!command.variables.empty()) return *command.variables.begin();
    for (const traced_text& word : command.words) {
      const std::size_t dollar = word.text.find('$');
      if (dollar == std::string::npos) continue;
      const std::size_t begin = word.text.compare(dollar, 2, "${") == 0 ? dollar + 2 : dollar + 1;
      std::size_t end = begin;
      while (end < word.text.size() && is_name_character(word.text[end])) ++end;
      if (end > begin) return word.text.substr(begin, end - begin);
    }
    return "";
  }

  // Of `bash -c "..."` and `eval ...`.
  static std::optional<traced_text> inner_script(const shell_command& command) {
    const auto& words = command.words;
    if (words.front().text == "eval") {
      traced_text all;
      for (std::size_t i = 1; i < words.size(); ++i) {
        all.add(words[i]);
        all.add(' ', {static_cast<std::uint32_t>(words[i].line()), 0});
      }
      return all;
    }
    constexpr std::array<std::string_view, 4> shells{"sh", "bash", "zsh", "dash"};
    for (std::size_t i = 0; i + 2 < words.size(); ++i) {
      if (!is_among(base_name(words[i].text), shells)) continue;
      const std::string& option = words[i + 1].text;
      if (option.starts_with('-') && !option.starts_with("--") && option.ends_with('c')) return words[i + 2];
    }
    return {};
  }

  state& all_;
  const traced_text& in_;
  int depth_;
  std::size_t at_ = 0;
  traced_text word_;
  bool in_word_ = false;
  bool in_array_ = false;
  bool redirects_ = false;
  std::string target_;
  std::string written_to_;
  std::string read_into_;                // the variable that takes a document
  std::vector<std::string> conditions_;  // of the branches that are open
  std::vector<std::string> documents_;
  shell_command command_;
};

std::string text_of(const shell_script::assignment& a) {
  std::string text;
  for (const traced_text& w : a.words) text += w.text + ' ';
  return text;
}

}  // namespace

std::vector<const shell_script::assignment*> shell_script::values_of(std::string_view name) const {
  constexpr std::size_t most = 16;
  std::vector<const assignment*> all;
  const auto found = of_variable.find(name);
  if (found == of_variable.end()) return all;
  for (const std::size_t index : found->second) {
    const assignment& a = assignments[index];
    // One that goes on from the one before takes its place.
    const std::string text = io::text_of(a);
    const auto is_part = [&](const assignment* before) {
      const std::string part = io::text_of(*before);
      return text.find(part.substr(0, part.size() - 1)) != std::string::npos;
    };
    std::erase_if(all, is_part);
    if (all.size() < most) all.push_back(&a);
  }
  return all;
}

shell_script read_script(const std::string& file, std::string_view text) {
  state all{.file = file};
  traced_text in;
  std::uint32_t line = 1;
  for (const char c : text) {
    in.add(c, {line, 0});
    if (c == '\n') ++line;
  }
  reader(all, in, 0).read();
  return std::move(all.script);
}

std::string json_of_script(std::string_view text) {
  std::string json;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && (i == 0 || text[i - 1] != '\\')) in_string = !in_string;
    if (in_string || (c != '$' && c != '`')) {
      json += c;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(",\n}", text.find_first_not_of("${", i)), text.size());
    json += '"';
    for (; i < end; ++i)
      if (text[i] != '"' && text[i] != '\\') json += text[i];
    json += '"';
    --i;
  }
  return json;
}

}  // namespace ulp::io
