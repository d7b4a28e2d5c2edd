# cmake -D ROOT=<project> -D VERSION=... -P versions.cmake: every file that says the project's version says this one.
cmake_minimum_required(VERSION 3.25)

# expect_version(FILE BEFORE AFTER): it is what stands between these two, once in the file.
function(expect_version file before after)
  file(READ ${ROOT}/${file} text)
  string(REGEX MATCHALL "${before}[0-9]+[.][0-9]+[.][0-9]+${after}" found "\n${text}")
  list(TRANSFORM found REPLACE ".*[^0-9.]([0-9]+[.][0-9]+[.][0-9]+)${after}$" "\\1")
  if(NOT found STREQUAL VERSION)
    message(SEND_ERROR "${file}: says the version '${found}', CMakeLists.txt ${VERSION}")
  endif()
endfunction()

expect_version(python/ulpscope/__init__.py "\n__version__ = \"" "\"")
expect_version(CITATION.cff "\nversion: " "")
expect_version(scripts/conda/meta.yaml "\n  version: \"" "\"")

# The newest changes are this version's.
file(STRINGS ${ROOT}/CHANGELOG.md headings REGEX "^## ")
list(GET headings 0 newest)
if(NOT newest MATCHES "^## ${VERSION}( |$)")
  message(SEND_ERROR "CHANGELOG.md: begins with '${newest}', CMakeLists.txt has ${VERSION}")
endif()
