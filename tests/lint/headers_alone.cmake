# cmake -D ROOT=<project> -D BUILD=<build folder> -P headers_alone.cmake
# Compiles each public header alone, and makes sure that none was left out.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} --target all_verify_interface_header_sets
  RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "a public header does not compile alone")
endif()

set(compiled 0)
foreach(folder formats analysis/model analysis/io analysis/ask analysis/report analysis/train)
  file(GLOB_RECURSE headers RELATIVE ${ROOT}/${folder}/include ${ROOT}/${folder}/include/*.hpp ${ROOT}/${folder}/include/*.h)
  foreach(header IN LISTS headers)
    file(GLOB_RECURSE object ${BUILD}/${folder}/CMakeFiles/*_verify_interface_header_sets.dir/*.o)
    list(FILTER object INCLUDE REGEX "/${header}\\.cxx\\.o$")
    if(NOT object OR ${ROOT}/${folder}/include/${header} IS_NEWER_THAN "${object}")
      message(FATAL_ERROR "${folder}/include/${header} was not compiled alone")
    endif()
    math(EXPR compiled "${compiled} + 1")
  endforeach()
endforeach()
if(compiled EQUAL 0)
  message(FATAL_ERROR "${ROOT}: no public header found")
endif()
message(STATUS "${compiled} public headers compile alone")
