# bash completion of ulp, which tells what may follow.
_ulp() {
  local line=${COMP_LINE:0:COMP_POINT} words told begun i
  read -a words <<<"$line" # without -r: "\ " is a blank in a word
  [[ $line == *[[:space:]] ]] && words+=("")
  mapfile -t told < <("${words[0]}" complete "${words[@]:1}" 2>/dev/null)
  # For readline a word begins behind the last of these.
  begun=${words[-1]%"${words[-1]##*[=:]}"}
  COMPREPLY=("${told[@]:1}")
  for i in "${!COMPREPLY[@]}"; do
    COMPREPLY[i]=${COMPREPLY[i]%%$'\t'*}
    COMPREPLY[i]=${COMPREPLY[i]#"$begun"}
    [[ ${COMPREPLY[i]} == *[![:alnum:]_=:,./-]* ]] && printf -v "COMPREPLY[i]" %q "${COMPREPLY[i]}"
  done
  [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
  [[ ${told[0]-} == files ]] && compopt -o default
  return 0
}
complete -F _ulp ulp
