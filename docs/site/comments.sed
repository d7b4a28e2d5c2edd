# The headers' comments are plain ones; what they hold is text.
s|^( *)//( .*)?$|\1///\2|
s|([;,{]) +// |\1  ///< |
\|^ *///|{
  s|\\|\\\\|g
  s|<|\\<|g
  s|@|\\@|g
}
# Specialisations of what no header here declares.
s/^(class|struct) (std|fmt)::(\w+)</\1 \2_\3</
