# cmake -D ROOT=<project> -P locale.cmake: numbers are printed and read by nothing that depends on the locale: on a German
# desktop an export has points. One file asks for the desktop's language, for texts alone.
file(GLOB_RECURSE files ${ROOT}/formats/*.[ch]pp ${ROOT}/analysis/*.[ch]pp ${ROOT}/cli/*.[ch]pp ${ROOT}/gui/*.[ch]pp)
list(REMOVE_ITEM files ${ROOT}/gui/app/language.cpp)
set(read 0)
foreach(file IN LISTS files)
  file(READ ${file} text)
  math(EXPR read "${read} + 1")
  string(REGEX MATCH "[^a-z_:](std::)?(v?sn?printf|strto(d|f|ld)|sto(d|f|ld)|ato[fd]|sscanf|setlocale) *\\(|std::to_string\\([^()]*[0-9]\\.[0-9]|QLocale(::system|\\(\\))|%L[0-9]"
    found "${text}")
  if(found)
    message(SEND_ERROR "${file}: '${found}' depends on the locale")
  endif()
endforeach()
if(read LESS 100)
  message(SEND_ERROR "only ${read} files were found")
endif()
