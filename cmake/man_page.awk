# awk -v name=ulp-replay -v version="ulp 1.0.0" -v date=2026-11-28 -v see_also="ulp ulpscope" -f man_page.awk: what --help prints, as a
# manual page. Rows of options are indented by two blanks, what belongs to the row above by more; between a term and its text are two
# blanks. The rows of "Subcommands:" have pages of their own.

function escaped(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  gsub(/'/, "\\(aq", text)
  gsub(/\^/, "\\(ha", text)
  gsub(/~/, "\\(ti", text)
  gsub(/`/, "\\(ga", text)
  return text
}

# A line that keeps its length. One that begins with a dot would be a request.
function line(text) {
  text = escaped(text)
  return (text ~ /^\./ ? "\\&" : "") text "\n"
}

# Text as lines of at most 80 bytes in the page's source.
function filled(text,    words, count, i, now, all) {
  count = split(text, words, " ")
  now = words[1]
  for (i = 2; i <= count; ++i) {
    if (length(escaped(now " " words[i])) > 78) {
      all = all line(now)
      now = words[i]
    } else {
      now = now " " words[i]
    }
  }
  return all line(now)
}

# Options bold, what stands for a value in italics.
function term(text,    words, count, i, word, all) {
  count = split(text, words, " ")
  for (i = 1; i <= count; ++i) {
    word = words[i]
    if (word == "REQUIRED") word = "(required)"
    else if (word == "Excludes:") word = "excludes"
    else if (word ~ /^-/) { word = escaped(word); gsub(/,/, "\\fR, \\fB", word); word = "\\fB" word "\\fR" }
    else if (word ~ /^[<\[]?[A-Za-z]/) word = "\\fI" escaped(word) "\\fR"
    else word = escaped(word)
    all = all (i > 1 ? " " : "") word
  }
  return all
}

# The command bold, then what follows it.
function synopsis(text,    words, count, i, all) {
  count = split(text, words, " ")
  for (i = 1; i <= count && words[i] ~ /^[a-z]/; ++i) all = all (i > 1 ? " " : "") escaped(words[i])
  all = "\\fB" all "\\fR"
  for (; i <= count; ++i) all = all " " term(words[i])
  return all
}

function heading_of(text) {
  if (text == "Positionals" || text == "Arguments") return ".SH ARGUMENTS\n"
  if (text == "Options") return ".SH OPTIONS\n"
  if (text == "Subcommands") return ".SH COMMANDS\n"
  if (text == "Exit codes") return ".SH EXIT STATUS\n"
  return ".SS " escaped(text) "\n"
}

function add_row(text,    gap, head, rest) {
  sub(/^  /, "", text)
  gap = match(text, /  +/)
  head = gap ? substr(text, 1, gap - 1) : text
  rest = gap ? substr(text, gap + RLENGTH) : ""
  if (heading == "Subcommands") {
    pages = pages " " name "-" head
    body = body ".TP\n.BR " escaped(name "-" head) " (1)\n"
  } else {
    body = body ".TP\n" term(head) "\n"
  }
  if (rest != "") body = body filled(rest)
}

# What is indented in prose keeps its lines.
function verbatim(on) {
  if (on && !as_is) prose = prose ".PP\n.EX\n"
  if (!on && as_is) { prose = prose ".EE\n"; blank = 1 }
  as_is = on
}

{ sub(/ +$/, "") }
/^Usage: / { sub(/^Usage: ([^ ]*\/)?/, ""); usage = $0; next }
/^Example: / { examples = examples substr($0, 10) "\n"; next }
/^Examples?:$/ { verbatim(0); part = "examples"; next }
/^[A-Z].*:$/ && (blank || part == "prose" && /^Exit codes:$/) {
  verbatim(0)
  heading = substr($0, 1, length($0) - 1)
  body = body heading_of(heading)
  part = "rows"
  blank = 0
  next
}
/^$/ { blank = 1; next }
part == "rows" && /^  [^ ]/ { add_row($0); blank = 0; next }
part == "rows" && /^   / { sub(/^ +/, ""); body = body filled($0); next }
part == "examples" && /^  / { sub(/^ +/, ""); examples = examples $0 "\n"; next }
part == "rows" && heading == "Exit codes" { body = body ".PP\n" filled($0); next }
part == "rows" || part == "examples" { part = "prose" }
part == "prose" {
  if (/^ /) { verbatim(1); sub(/^  /, ""); prose = prose line($0); blank = 0; next }
  verbatim(0)
  prose = prose (blank ? ".PP\n" : "") filled($0)
  blank = 0
  next
}
{ what = what (what == "" ? "" : " ") $0 }

END {
  verbatim(0)
  if (what == "" || usage == "" || body == "") {
    print "man_page.awk: " name ": this is not what --help prints" > "/dev/stderr"
    exit 1
  }
  sub(/[.]$/, "", what)
  printf ".TH %s 1 %s \"%s\" \"User Commands\"\n", toupper(escaped(name)), date, version
  printf ".SH NAME\n%s", filled(name " - " what)
  printf ".SH SYNOPSIS\n%s\n", synopsis(usage)
  printf ".SH DESCRIPTION\n%s%s", filled(toupper(substr(what, 1, 1)) substr(what, 2) "."), prose
  printf "%s", body
  if (examples != "") {
    print ".SH EXAMPLES\n.EX"
    count = split(examples, lines, "\n")
    for (i = 1; i < count; ++i) printf "%s", line(lines[i])
    print ".EE"
  }
  print ".SH SEE ALSO"
  count = split(see_also pages, others, " ")
  for (i = 1; i <= count; ++i)
    if (others[i] != name) all = all (all == "" ? "" : ",\n") ".BR " escaped(others[i]) " (1)"
  print all
}
