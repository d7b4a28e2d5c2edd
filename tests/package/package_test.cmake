# cmake -D MODE=installed|folder -D ROOT=<project> -D BUILD=<build folder> -D DIR=<scratch> -D VERSION=... -D LIBDIR=...
#   -D BINDIR=... -D INCLUDEDIR=... -D DATADIR=... -D BUILD_TYPE=... -D VIEWER=<built?> -D MPI=<built?> -P package_test.cmake
# installed: installs to a scratch prefix, compares the list of files, and builds and runs the consumer against it.
# folder: builds and runs the consumer with the project as a folder of its tree.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE code OUTPUT_VARIABLE printed ERROR_VARIABLE printed)
  if(NOT code EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}: ${code}\n${printed}")
  endif()
endfunction()

file(REMOVE_RECURSE ${DIR})
if(MODE STREQUAL "installed")
  set(prefix ${DIR}/prefix)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})

  string(TOLOWER "${BUILD_TYPE}" config)
  if(NOT config)
    set(config noconfig)
  endif()
  set(expected
    ${BINDIR}/ulp
    ${LIBDIR}/cmake/ulpscope/Findre2.cmake
    ${LIBDIR}/cmake/ulpscope/ulpscope-config.cmake
    ${LIBDIR}/cmake/ulpscope/ulpscope-config-version.cmake
    ${LIBDIR}/cmake/ulpscope/ulpscope-targets.cmake
    ${LIBDIR}/cmake/ulpscope/ulpscope-targets-${config}.cmake)
  if(VIEWER)
    list(APPEND expected
      ${BINDIR}/ulpscope
      ${DATADIR}/applications/org.ulpscope.ulpscope.desktop
      ${DATADIR}/icons/hicolor/scalable/apps/org.ulpscope.ulpscope.svg
      ${DATADIR}/metainfo/org.ulpscope.ulpscope.metainfo.xml
      ${DATADIR}/mime/packages/org.ulpscope.ulpscope.xml)
  endif()
  if(MPI)
    list(APPEND expected ${BINDIR}/ulp-mpi)
  endif()
  foreach(room formats:formats analysis/model:model analysis/io:io analysis/report:report)
    string(REGEX MATCH "^(.*):(.*)$" room ${room})
    list(APPEND expected ${LIBDIR}/libulp_${CMAKE_MATCH_2}.a)
    set(include ${ROOT}/${CMAKE_MATCH_1}/include)
    file(GLOB_RECURSE headers RELATIVE ${include} ${include}/ulp/${CMAKE_MATCH_2}/*.hpp)
    list(TRANSFORM headers PREPEND ${INCLUDEDIR}/)
    list(APPEND expected ${headers})
  endforeach()
  file(GLOB_RECURSE installed RELATIVE ${prefix} ${prefix}/*)
  foreach(file IN LISTS expected)
    if(NOT file IN_LIST installed)
      message(SEND_ERROR "not installed: ${file}")
    endif()
  endforeach()
  list(REMOVE_ITEM installed ${expected})
  if(installed)
    message(SEND_ERROR "installed, but not expected: ${installed}")
  endif()
  set(where -D CMAKE_PREFIX_PATH=${prefix} -D ULPSCOPE_VERSION=${VERSION})
else()
  set(where -D ULPSCOPE_FOLDER=${ROOT})
endif()

# The consumer must be built by the same compiler with the same instrumentation.
load_cache(${BUILD} READ_WITH_PREFIX cached_
  CMAKE_GENERATOR CMAKE_CXX_COMPILER CMAKE_CXX_FLAGS CMAKE_CXX_COMPILER_LAUNCHER)
if(MODE STREQUAL "folder" AND NOT cached_CMAKE_CXX_COMPILER_LAUNCHER)
  set(BUILD_TYPE "")  # all is compiled again, unless ccache has it: that it is found matters here, not its speed
endif()
run(${CMAKE_COMMAND} -S ${ROOT}/tests/package/consumer -B ${DIR}/build -G ${cached_CMAKE_GENERATOR}
  -D CMAKE_BUILD_TYPE=${BUILD_TYPE} -D CMAKE_CXX_COMPILER=${cached_CMAKE_CXX_COMPILER}
  -D CMAKE_CXX_FLAGS=${cached_CMAKE_CXX_FLAGS} -D CMAKE_CXX_COMPILER_LAUNCHER=${cached_CMAKE_CXX_COMPILER_LAUNCHER}
  ${where})
run(${CMAKE_COMMAND} --build ${DIR}/build --parallel 2)
foreach(library formats model io report analysis)
  run(${DIR}/build/uses_${library})
endforeach()
